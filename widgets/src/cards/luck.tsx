/** Luck or skill: what a model replies when it is asked the same a number of times, as bars; each opens a run. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button, TextField, ToolButton } from "../elements/controls";
import { Form } from "../elements/form";
import { count, formatNumber } from "../elements/format";
import { ErrorMessage, Meter, Note } from "../elements/text";
import type { Samples, ThinkEntry } from "../protocol";
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

export function Luck(props: LuckProps): JSX.Element | null {
  const isOpen = useStore(props.view, ({ luck }) => luck === props.card.id);
  return isOpen ? <Opened {...props} /> : null;
}

function Opened({ store, view, card }: LuckProps): JSX.Element {
  const { spent, temperature, dialect, asking } = useHead(store);
  const canAsk = useStore(store, (s) => isEnabled(s, "luck"));
  const mayAsk = useStore(store, (s) => isOffered(s, "change"));
  const [typed, setTyped] = useState<string>();
  const [isSent, setSent] = useState(false);
  const [execute, refusal] = useCommand(store);
  const times = typed === undefined ? null : timesOf(typed);
  // a reply that was asked for elsewhere, as in Python, counts too
  const key = [times, spent.model_calls, temperature, dialect, JSON.stringify(asking)].join(" ");
  const query = times === 0 ? null : ({ cmd: "samples", entry: card.id, times } as const);
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
  const close = (): void => view.set({ luck: 0, focusDue: card.id });
  return (
    <section class="ak-luck" aria-label="Luck or skill" aria-busy={isAsking}>
      <Form label="Ask again" focusKey={card.id} onSubmit={ask} onCancel={close}>
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
            times
          </span>
          {mayAsk && (
            <ToolButton
              label={value?.calls ? `Make ${count(value.calls, "call")}` : "Ask"}
              class="ak-primary"
              disabled={!isReady}
              onClick={ask}
            />
          )}
          {mayAsk && isAsking && (
            <ToolButton
              label="Stop"
              title="Stop asking; the replies so far are kept"
              onClick={() => void execute({ cmd: "stop_resample", entry: card.id })}
            />
          )}
          <ToolButton label="Close" onClick={close} />
        </div>
      </Form>
      <Note>{times === 0 ? "Enter a number from 1 to 9999." : value?.price}</Note>
      <Temperature store={store} view={view} own={value?.own_temperature} />
      {value && isAsking && <Progress {...value} left={left ?? value.calls} />}
      <ErrorMessage text={refusal || error} />
      {value && value.replies > 0 && <Histogram samples={value} open={(entry) => canAsk && void view.fork(entry)} />}
      <p class="ak-sr-only" role="status">
        {isAsking ? "Asking…" : value && `${count(value.replies, "reply", "replies")} so far.`}
      </p>
    </section>
  );
}

/** Return a number of times, or 0 if the text is not one. */
function timesOf(text: string): number {
  return /^[1-9]\d{0,3}$/.test(text.trim()) ? Number(text) : 0;
}

function Progress({ recorded, left }: { recorded: number; left: number }): JSX.Element {
  const all = recorded + left;
  return (
    <p class="ak-luck-progress">
      <progress max={all} value={recorded} aria-label="Replies" /> {formatNumber(recorded)} of {formatNumber(all)}
    </p>
  );
}

function Histogram({ samples, open }: { samples: Samples; open: (entry: number) => void }): JSX.Element {
  const { outcomes, replies, more, happened } = samples;
  return (
    <figure class="ak-histogram">
      <figcaption>{count(replies, "reply", "replies")}; each bar opens a run</figcaption>
      <ol>
        {outcomes.map((outcome) => (
          <li key={outcome.entry}>
            <Button title="Start a second run that continues with this reply" onClick={() => open(outcome.entry)}>
              <span>
                <code>{outcome.text}</code> {outcome.happened && <span class="ak-tag">as in the run</span>}
              </span>
              <Meter value={outcome.count / replies} />
              <span>
                {formatNumber(outcome.count)} of {formatNumber(replies)}
              </span>
            </Button>
          </li>
        ))}
      </ol>
      {more > 0 && <Note>… and {count(more, "other outcome")}, which are rarer or as rare.</Note>}
      {happened && (
        <Note>
          In the run: <code>{happened}</code> (not among these replies)
        </Note>
      )}
    </figure>
  );
}
