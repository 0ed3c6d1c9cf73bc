/**
 * Luck or skill: what a model replies when it is asked the same a number of times, or how the run then ends, as bars;
 * each opens a run.
 */

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { Button, Select, TextField, ToolButton } from "../elements/controls";
import { Form } from "../elements/form";
import { count, formatNumber } from "../elements/format";
import { ErrorMessage, Meter, Note } from "../elements/text";
import type { ThinkEntry } from "../protocol";
import { isEnabled, isOffered } from "../state/actions";
import type { Store } from "../state/store";
import { useCommand, useHead, useQuery, useStore } from "../state/useStore";
import type { ViewState } from "../state/viewState";
import { Temperature } from "./temperature";

interface LuckProps {
  store: Store;
  view: ViewState;
  card: ThinkEntry;
}

/** Whether only the reply counts, or how the run ends after it. */
type Until = "thought" | "end";

/** What a person has chosen; `times` is null before a number is typed, and 0 if the text is no number. */
interface Choices {
  until: Until;
  setUntil: (until: Until) => void;
  typed: string | undefined;
  setTyped: (text: string) => void;
  times: number | null;
  close: () => void;
}

export function Luck(props: LuckProps): JSX.Element | null {
  const isOpen = useStore(props.view, ({ luck }) => luck === props.card.id);
  return isOpen ? <Opened {...props} /> : null;
}

function Opened(props: LuckProps): JSX.Element {
  const { view, card } = props;
  const [until, setUntil] = useState<Until>("thought");
  const [typed, setTyped] = useState<string>();
  const times = typed === undefined ? null : timesOf(typed);
  const close = (): void => view.set({ luck: 0, focusDue: card.id });
  const reply = useReply(props, times, until === "thought");
  const trials = useTrials(props, times, until === "end");
  const asked = until === "end" ? trials : reply;
  return <Panel {...props} {...{ until, setUntil, typed, setTyped, times, close }} {...asked} />;
}

/** What is asked, what came out so far, and what can be done. */
interface Asked {
  value: { price: string; times: number; own_temperature?: number | null } | undefined;
  /** How many replies or trials there are, and how many are left. */
  done: number;
  left: number;
  isAsking: boolean;
  error: string | undefined;
  /** What is said to those who do not see the bars. */
  said: string | undefined;
  /** What Enter does; nothing if a person has to choose. */
  ask: (() => void) | undefined;
  stop: () => void;
  buttons: { label: string; disabled: boolean; press: () => void }[];
  shown: ComponentChildren;
}

function useReply({ store, view, card }: LuckProps, times: number | null, isChosen: boolean): Asked {
  const { spent, temperature, dialect, asking } = useHead(store);
  const canAsk = useStore(store, (s) => isEnabled(s, "luck"));
  const [isSent, setSent] = useState(false);
  const [execute, refusal] = useCommand(store);
  // a reply that was asked for elsewhere, as in Python, counts too
  const key = [isChosen, times, spent.model_calls, temperature, dialect, JSON.stringify(asking)].join(" ");
  const query = times === 0 || !isChosen ? null : ({ cmd: "samples", entry: card.id, times } as const);
  const { value, error } = useQuery(store, key, query);
  const left = value && asking[value.question];
  const isAsking = isSent || left !== undefined;
  const isReady = canAsk && !isAsking && times !== 0 && !!value?.calls;
  const ask = async (): Promise<void> => {
    if (!isReady) return;
    setSent(true);
    await execute({ cmd: "resample", entry: card.id, times: times ?? value.times });
    setSent(false);
  };
  return {
    value,
    done: value?.recorded ?? 0,
    left: left ?? value?.calls ?? 0,
    isAsking,
    error: refusal || error,
    said: value && `${count(value.replies, "reply", "replies")} so far.`,
    ask,
    stop: () => void execute({ cmd: "stop_resample", entry: card.id }),
    buttons: [{ label: value?.calls ? `Make ${count(value.calls, "call")}` : "Ask", disabled: !isReady, press: ask }],
    shown: value && value.replies > 0 && (
      <Histogram
        title={`${count(value.replies, "reply", "replies")}; each bar opens a run`}
        tip="Start a second run that continues with this reply"
        bars={value.outcomes.map((each) => ({
          ...each,
          id: each.entry,
          open: () => canAsk && void view.fork(each.entry),
        }))}
        all={value.replies}
        more={value.more}
        rest={value.happened && [value.happened, "not among these replies"]}
      />
    ),
  };
}

function useTrials({ store, view, card }: LuckProps, times: number | null, isChosen: boolean): Asked {
  const { temperature, dialect, asking } = useHead(store);
  const canAsk = useStore(store, (s) => isEnabled(s, "luck"));
  const [isSent, setSent] = useState(false);
  const [execute, refusal] = useCommand(store);
  const key = [isChosen, times, temperature, dialect, isSent, JSON.stringify(asking)].join(" ");
  const query = times === 0 || !isChosen ? null : ({ cmd: "trials", entry: card.id, times } as const);
  const { value, error } = useQuery(store, key, query);
  const left = value && asking[value.question];
  const isAsking = isSent || left !== undefined;
  const isReady = canAsk && !isAsking && times !== 0 && !!value?.left;
  const make = async (approved: boolean | null): Promise<void> => {
    if (!isReady) return;
    setSent(true);
    await execute({ cmd: "make_trials", entry: card.id, times: times ?? value.times, approved });
    setSent(false);
  };
  const without = () => make(value?.asks ? false : null);
  const label = value?.left ? `Make ${count(value.left, "trial")}` : "Try";
  const buttons = value?.asks
    ? [
        { label: `${label} without these calls`, disabled: !isReady, press: without },
        { label: `${label}, allow these calls`, disabled: !isReady, press: () => make(true) },
      ]
    : [{ label, disabled: !isReady, press: without }];
  return {
    value,
    done: value?.ended ?? 0,
    left: left ?? value?.left ?? 0,
    isAsking,
    error: refusal || error,
    said: value && `${count(value.ended, "trial")} so far.`,
    ask: value?.asks ? undefined : without,
    stop: () => void execute({ cmd: "stop_trials", entry: card.id }),
    buttons,
    shown: value && (
      <>
        {value.asks && !isAsking && <Note>{value.asks}</Note>}
        {value.ended > 0 && (
          <Histogram
            title={`${count(value.ended, "trial")} to the end; each bar opens a run`}
            tip="Open a run that ended so"
            bars={value.outcomes.map((each) => ({
              ...each,
              id: each.trial,
              open: () => canAsk && void view.openTrial(card.id, each.trial),
            }))}
            all={value.ended}
            more={value.more}
            rest={value.happened && [value.happened, "no trial ended so"]}
          />
        )}
        {value.score && <Note>{value.score}</Note>}
      </>
    ),
  };
}

function Panel(props: LuckProps & Choices & Asked): JSX.Element {
  const { store, view, card, until, setUntil, typed, setTyped, times, close, value, left, isAsking, buttons } = props;
  const mayAsk = useStore(store, (s) => isOffered(s, "change"));
  return (
    <section class="ak-luck" aria-label="Luck or skill" aria-busy={isAsking}>
      <Form label="Ask again" focusKey={card.id} onSubmit={() => props.ask?.()} onCancel={close}>
        <div class="ak-buttons">
          <span>
            Ask the same
            <TextField
              type="number"
              aria-label="How many times to ask the same"
              min={1}
              max={9999}
              value={typed ?? String(value?.times ?? "")}
              aria-invalid={times === 0}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
            times,
            <Select
              aria-label="How far to go on"
              value={until}
              onChange={(event) => setUntil(event.currentTarget.value as Until)}
            >
              <option value="thought">this reply only</option>
              <option value="end">to the end</option>
            </Select>
          </span>
          {mayAsk &&
            buttons.map(({ label, disabled, press }, n) => (
              <ToolButton
                key={label}
                label={label}
                class={n === 0 ? "ak-primary" : ""}
                disabled={disabled}
                onClick={press}
              />
            ))}
          {mayAsk && isAsking && (
            <ToolButton label="Stop" title="Stop asking; what is there so far is kept" onClick={props.stop} />
          )}
          <ToolButton label="Close" onClick={close} />
        </div>
      </Form>
      <Note>{times === 0 ? "Enter a number from 1 to 9999." : value?.price}</Note>
      <Temperature store={store} view={view} own={value?.own_temperature} />
      {value && isAsking && <Progress done={props.done} left={left} />}
      <ErrorMessage text={props.error} />
      {props.shown}
      <p class="ak-sr-only" role="status">
        {isAsking ? "Asking…" : props.said}
      </p>
    </section>
  );
}

/** Return a number of times, or 0 if the text is not one. */
function timesOf(text: string): number {
  return /^[1-9]\d{0,3}$/.test(text.trim()) ? Number(text) : 0;
}

function Progress({ done, left }: { done: number; left: number }): JSX.Element {
  const all = done + left;
  return (
    <p class="ak-luck-progress">
      <progress max={all} value={done} aria-label="Progress" /> {formatNumber(done)} of {formatNumber(all)}
    </p>
  );
}

interface HistogramProps {
  title: string;
  /** What a click on a bar does. */
  tip: string;
  /** `low` and `high` are the bounds of a share. */
  bars: { id: number; text: string; count: number; low?: number; high?: number; happened: boolean; open: () => void }[];
  all: number;
  more: number;
  /** What happened in the run if no bar says it, and where it is missing. */
  rest: "" | [happened: string, missing: string];
}

function Histogram({ title, tip, bars, all, more, rest }: HistogramProps): JSX.Element {
  return (
    <figure class="ak-histogram">
      <figcaption>{title}</figcaption>
      <ol>
        {bars.map((bar) => (
          <li key={bar.id}>
            <Button title={tip} onClick={bar.open}>
              <span>
                <code>{bar.text}</code> {bar.happened && <span class="ak-tag">as in the run</span>}
              </span>
              <Meter value={bar.count / all} />
              <span>
                {formatNumber(bar.count)} of {formatNumber(all)}
                {bar.low !== undefined && bar.high !== undefined && (
                  <span class="ak-muted" title="The share of such endings, with 95 % confidence">
                    {percent(bar.low)}–{percent(bar.high)} %
                  </span>
                )}
              </span>
            </Button>
          </li>
        ))}
      </ol>
      {more > 0 && <Note>… and {count(more, "other outcome")}, which are rarer or as rare.</Note>}
      {rest && (
        <Note>
          In the run: <code>{rest[0]}</code> ({rest[1]})
        </Note>
      )}
    </figure>
  );
}

function percent(share: number): string {
  return String(Math.round(100 * share));
}
