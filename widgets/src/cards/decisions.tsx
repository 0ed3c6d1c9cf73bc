/** A person's decisions: whether a call may be made, and the answer to a question. */

import type { JSX } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button, TextArea, ToolButton } from "../elements/controls";
import { Form } from "../elements/form";
import { errorText } from "../elements/format";
import { ErrorMessage, Muted, Note } from "../elements/text";
import type { Command, Json, PendingStep } from "../protocol";
import { isOffered as isOfferedHere } from "../state/actions";
import type { Store } from "../state/store";
import { useStore } from "../state/useStore";
import { type Draft, readDraft } from "./argumentFields";
import { Arguments } from "./arguments";
import { ArgumentsForm } from "./argumentsForm";
import { Preview } from "./preview";

/** Selects the button that uses an earlier result: the decision about a repeated call that changes nothing. */
export const DEFAULT_DECISION = ".ak-earlier-result ~ .ak-buttons .ak-primary";

interface DecisionProps {
  store: Store;
  step: PendingStep;
  which: string;
}

interface Decision {
  /** The run was playing when it came to the step, so that a decision lets it play on. */
  wasPlaying: boolean;
  /** Send a decision, unless one is on its way; with `andRun`, let the run continue afterwards. */
  decide: (command: Command, andRun: boolean) => void;
  isSending: boolean;
  error: string;
}

function useDecision(store: Store): Decision {
  const [isSending, setSending] = useState(false);
  const [error, setError] = useState("");
  const decide = async (command: Command, andRun: boolean): Promise<void> => {
    if (isSending) return;
    setSending(true);
    setError("");
    try {
      await store.execute(command);
      if (andRun) await store.execute({ cmd: "play" });
    } catch (error) {
      setError(errorText(error));
    }
    setSending(false);
  };
  const wasPlaying = useStore(store, (s) => s.head.was_playing);
  return { wasPlaying, decide, isSending, error };
}

/** In the mode "choose", nothing is sent yet: there is no default for a call that may have run. */
type Mode = "choose" | "reuse" | "approve" | "edit" | "reject" | "respond";

const VERBS: { [mode in Mode]: string } = {
  choose: "",
  reuse: "Use the earlier result",
  approve: "Approve",
  edit: "Approve",
  reject: "Reject",
  respond: "Respond",
};
const OTHER_MODES: [mode: Mode, label: string, title: string][] = [
  ["approve", "Call again…", "Call the tool again, after one more click; what it did before is not undone"],
  ["edit", "Edit…", "Edit the arguments, then approve"],
  ["reject", "Reject…", "Reject the call, with a comment for the model"],
  ["respond", "Respond…", "Enter the result yourself; the tool is not called"],
];

type Remember = Extract<Command, { cmd: "approve" }>["remember"];

const SPANS: [remember: Remember, label: string, title: string][] = [
  [false, "Once", "The decision is about this call only"],
  [true, "This run", "TOOL is not asked about again in this run"],
  ["always", "Always", "Also in later runs: a rule about TOOL is added to your settings file"],
];

export function Approval({ store, step, which }: DecisionProps): JSX.Element {
  const { past } = step;
  const earlier = past?.result ?? null;
  const first: Mode = earlier !== null ? "reuse" : past ? "choose" : "approve";
  const [mode, setMode] = useState<Mode>(first);
  const [remember, setRemember] = useState<Remember>(false);
  const [draft, setDraft] = useState<Draft>({});
  const [text, setText] = useState("");
  const { wasPlaying, decide, isSending, error } = useDecision(store);
  const id = useId();
  const { call, schema, own } = step;
  const values = call?.arguments ?? {};
  const { value, problems } = readDraft(schema, values, draft);
  const isInvalid = mode === "edit" && Object.keys(problems).length > 0;
  const explanation = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (first === "reuse") takeFocus(explanation.current as HTMLElement);
  }, []);
  const send = (andRun: boolean): void => {
    if (isInvalid || mode === "choose") return;
    if (mode === "reuse") decide({ cmd: "reuse", which }, andRun);
    else if (mode === "reject") decide({ cmd: "reject", which, comment: text, remember }, andRun);
    else if (mode === "respond") decide({ cmd: "respond", which, value: text }, andRun);
    else decide({ cmd: "approve", which, arguments: mode === "edit" ? value : null, remember }, andRun);
  };
  const isOffered = (mode: Mode): boolean =>
    mode === "approve" ? first !== "approve" : mode === "reject" || (!!call && !(mode === "edit" && own));
  return (
    <Form
      label="Approval"
      describedBy={`${id}-why`}
      focusKey={mode === first ? "" : mode}
      onSubmit={() => send(wasPlaying)}
      onCancel={mode === first ? undefined : () => setMode(first)}
    >
      <div id={`${id}-why`} class="ak-why" ref={explanation}>
        <p>{step.why}</p>
        {past && <Note>{adviceOn(step)}</Note>}
      </div>
      {mode === "edit" ? (
        <ArgumentsForm id={id} schema={schema} values={values} draft={draft} onDraft={setDraft} />
      ) : (
        call && <Arguments call={call} />
      )}
      {step.has_preview && mode !== "edit" && mode !== "respond" && <Preview store={store} which={which} />}
      {mode === "reuse" && (
        <figure class="ak-earlier-result">
          <figcaption>
            <Muted>The earlier result</Muted>
          </figcaption>
          <pre class="ak-text">{earlier}</pre>
        </figure>
      )}
      {mode === "reject" && (
        <TextArea label="Comment" placeholder="Why? The model will read this." value={text} onInput={setText} />
      )}
      {mode === "respond" && (
        <TextArea label="Observation" placeholder="What the tool would return" value={text} onInput={setText} />
      )}
      {error && <ErrorMessage text={error} />}
      <div class="ak-buttons">
        {mode !== "choose" && (
          <DecisionButtons
            verb={mode === "approve" && past ? "Call again" : VERBS[mode]}
            suffix={mode === "edit" ? " with changes" : ""}
            wasPlaying={wasPlaying}
            disabled={isSending || isInvalid}
            onClick={send}
          />
        )}
        {OTHER_MODES.map(
          ([other, label, title]) =>
            isOffered(other) && (
              <ToolButton
                key={other}
                label={label}
                title={title}
                pressed={mode === other}
                onClick={() => {
                  setMode(mode === other ? first : other);
                  setRemember(false);
                }}
              />
            ),
        )}
      </div>
      {call && (mode === "approve" || mode === "edit" || mode === "reject") && (
        <div class="ak-choice" role="group" aria-label="How long this holds">
          <Muted>{mode === "reject" ? "Reject" : "Allow"} this tool</Muted>
          {SPANS.filter(([span]) => span !== "always" || isOfferedHere(store, "settings")).map(([span, label]) => (
            <Button
              key={label}
              aria-pressed={remember === span}
              title={spanTitle(span, call.name)}
              onClick={() => setRemember(span)}
            >
              {label}
            </Button>
          ))}
          {remember && <Muted>{spanTitle(remember, call.name)}</Muted>}
        </div>
      )}
    </Form>
  );
}

function spanTitle(remember: Remember, tool: string): string {
  const [, , title] = SPANS.find(([span]) => span === remember) as (typeof SPANS)[number];
  return title.replace("TOOL", () => tool);
}

/** Return what a person should know before deciding about a repeated call. */
function adviceOn({ past, call, effect }: PendingStep): string {
  const undeclared =
    effect === "undeclared"
      ? ` If you call ${call?.name} again, this run asks no more about it. If it is always safe to repeat, declare that: @tool(effect="idempotent").`
      : "";
  if (past?.may_have_run) return `Check whether it had an effect before you call it again.${undeclared}`;
  const advice =
    past?.result == null
      ? "Call it again only if both should happen."
      : "Unless it should happen a second time, use the earlier result.";
  return `What it did is not undone. ${advice}${undeclared}`;
}

/** Move the focus to the first button of a form that has appeared in the view which has the focus, unless one types. */
function takeFocus(part: HTMLElement): void {
  const { activeElement } = part.getRootNode() as Document | ShadowRoot;
  if (!activeElement?.closest(".ak-root")?.contains(part) || activeElement.closest("form")) return;
  const button = part.closest("form")?.querySelector<HTMLElement>(DEFAULT_DECISION);
  button?.focus({ preventScroll: true });
  button?.scrollIntoView({ block: "nearest" });
}

/** A question of the engine, with its choices or a field for the answer. */
export function Answer({ store, step, which }: DecisionProps): JSX.Element {
  const [text, setText] = useState("");
  const { wasPlaying, decide, isSending, error } = useDecision(store);
  const answer = (value: Json, andRun: boolean): void => decide({ cmd: "respond", which, value }, andRun);
  const { choices = [] } = step;
  return (
    <Form label="Answer" onSubmit={() => text.trim() && answer(text, wasPlaying)}>
      <p class="ak-text">{step.question}</p>
      {choices.length > 0 && (
        <div class="ak-buttons" role="group" aria-label="Choices">
          {choices.map((choice, index) => (
            <Button
              key={index}
              class="ak-tool-button"
              aria-disabled={isSending}
              onClick={() => answer(choice, wasPlaying)}
            >
              {choice}
            </Button>
          ))}
        </div>
      )}
      <TextArea
        label="Answer"
        placeholder={choices.length ? "Or type your own answer" : "Your answer"}
        value={text}
        onInput={setText}
      />
      {error && <ErrorMessage text={error} />}
      <div class="ak-buttons">
        <DecisionButtons
          verb="Answer"
          wasPlaying={wasPlaying}
          disabled={isSending || !text.trim()}
          onClick={(andRun) => answer(text, andRun)}
        />
      </div>
    </Form>
  );
}

interface DecisionButtonsProps {
  verb: string;
  suffix?: string;
  wasPlaying: boolean;
  disabled: boolean;
  onClick: (andRun: boolean) => void;
}

/** The button for a decision, after which a run that was playing plays on, and one for the other way round. */
function DecisionButtons({ verb, suffix = "", wasPlaying, disabled, onClick }: DecisionButtonsProps): JSX.Element {
  return (
    <>
      <ToolButton
        label={verb + suffix}
        class="ak-primary"
        shortcut="Ctrl+Enter"
        disabled={disabled}
        title={`${verb}${suffix}${wasPlaying ? "; the run continues" : "; the run stays paused"}`}
        onClick={() => onClick(wasPlaying)}
      />
      <ToolButton
        label={`${verb} and ${wasPlaying ? "stay paused" : "run"}`}
        title={`${verb}${suffix}${wasPlaying ? "; the run stays paused" : ", then continue in the background"}`}
        disabled={disabled}
        onClick={() => onClick(!wasPlaying)}
      />
    </>
  );
}
