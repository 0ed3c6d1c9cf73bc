/** What comes next: a step that can be edited before it runs, one that is being performed, or one that waits for a person. */

import type { JSX } from "preact";
import { Button, Tool } from "../controls";
import { hint } from "../keys";
import { Dim, thousands } from "../panels/parts";
import type { Pending, Status } from "../protocol";
import { able, driving } from "../status";
import type { Store } from "../store";
import { pointOf, samePlace, type Ui } from "../ui";
import { useOf } from "../use";
import { Arguments } from "./args";
import { Approval, Reply } from "./decide";
import { EditForm } from "./edit";

export function PendingSteps({ store, ui }: { store: Store; ui: Ui }): JSX.Element | null {
  const pending = useOf(store, (s) => s.head.pending);
  const status = useOf(store, (s) => s.head.status);
  const editing = useOf(ui, (u) => u.editing);
  const edited = (step: Pending): boolean => !!editing?.step && samePlace(editing.step, step);
  if (!store.ready || !pending.length || status === "done") return null;
  return (
    <section class="ak-card ak-next-steps" aria-label="What comes next">
      {pending.map((step, index) => (
        <div
          key={`${step.path} ${step.index}`}
          class={`ak-entry ak-pending ${step.why ? "ak-waiting" : ""} ${step.busy ? "ak-busy" : ""}`}
          data-pending={index}
        >
          <span class="ak-gutter" aria-hidden="true">
            {step.why ? "?" : step.busy ? "" : index ? "" : "next"}
          </span>
          <div class="ak-entry-body">
            <div class="ak-entry-head">
              <span class="ak-title">{titleOf(step)}</span>
              {step.effect && <Effect effect={step.effect} />}
              {step.lane && <span class="ak-tag">lane {step.lane}</span>}
              <Dim>{stateOf(step, status)}</Dim>
              {!edited(step) && <Verbs store={store} ui={ui} step={step} />}
            </div>
            {editing && edited(step) ? (
              <EditForm store={store} ui={ui} editing={editing} />
            ) : (
              <Inside store={store} ui={ui} step={step} />
            )}
          </div>
        </div>
      ))}
    </section>
  );
}

function Inside({ store, ui, step }: { store: Store; ui: Ui; step: Pending }): JSX.Element | null {
  if (step.which !== undefined && step.kind === "ask") return <Reply store={store} step={step} which={step.which} />;
  if (step.which !== undefined) return <Approval store={store} ui={ui} step={step} which={step.which} />;
  if (step.call) return <Arguments call={step.call} />;
  if (step.kind === "ask") return <p class="ak-text">{step.question}</p>;
  if (step.kind === "think") return <Stream store={store} step={step} />;
  return null;
}

/** What the model says just now, as it says it. */
function Stream({ store, step }: { store: Store; step: Pending }): JSX.Element | null {
  const said = useOf(store, (s) => s.streaming(step.path, step.index));
  if (!said) return null;
  return (
    <div class="ak-stream">
      {said.reasoning && (
        <p class={said.text ? "ak-text ak-thinking ak-thought-over" : "ak-text ak-thinking"}>
          {said.text ? `reasoning: ${thousands(said.reasoning.length)} characters` : tail(said.reasoning, 1_200)}
        </p>
      )}
      {said.text && <div class="ak-text">{tail(said.text, 20_000)}</div>}
      <span class="ak-caret" aria-hidden="true" />
    </div>
  );
}

function tail(text: string, most: number): string {
  return text.length > most ? `…${text.slice(-most)}` : text;
}

function Verbs({ store, ui, step }: { store: Store; ui: Ui; step: Pending }): JSX.Element | null {
  const rests = useOf(store, (s) => !driving(s) && able(s, "edit"));
  const { kind, value } = pointOf(step as Pending & { id: number });
  const broken = useOf(store, (s) => s.head.breakpoints.find((point) => point.kind === kind && point.value === value));
  if (!rests || step.why) return null;
  return (
    <span class="ak-actions" role="group" aria-label={`The next step${step.lane && ` of lane ${step.lane}`}`}>
      {step.kind === "act" && !step.own && (
        <Button
          class="ak-action"
          title={`Change its arguments before it runs  (${hint("edit")})`}
          onClick={() => void ui.edit(null, step, "arguments")}
        >
          edit
        </Button>
      )}
      {step.kind !== "conclude" && step.kind !== "all" && (
        <Button
          class="ak-action"
          title="Nothing is performed: what you write is taken as its result"
          onClick={() => void ui.edit(null, step)}
        >
          answer in its place
        </Button>
      )}
      {value && (
        <Button
          class="ak-action"
          aria-pressed={!!broken}
          title="Pause before each step of this tool or role"
          onClick={() => void ui.tell(broken ? { cmd: "unbreak", id: broken.id } : { cmd: "break", kind, value })}
        >
          break
        </Button>
      )}
    </span>
  );
}

export function Effect({ effect }: { effect: string }): JSX.Element {
  return (
    <span class={`ak-tag ak-effect-${/^[a-z]+$/.test(effect) ? effect : "other"}`} title="What the tool says of its effect">
      {effect}
    </span>
  );
}

function titleOf(step: Pending): JSX.Element | string {
  if (step.call) return <code class="ak-tool-name">{step.call.name}</code>;
  if (step.kind === "think") return step.role && step.role !== "thought" ? step.role : "Thought";
  return { ask: "Question", conclude: "Conclusion", all: "Several steps side by side", act: "Action" }[step.kind] ?? step.kind;
}

function stateOf(step: Pending, status: Status): string {
  if (step.why) return step.why === step.question ? "" : step.why; // the question stands below
  if (step.busy)
    return status === "pausing" ? "is still out; then it pauses" : step.kind === "think" ? "the model is at work" : "runs";
  return "";
}

/** What went wrong, and a way to go on. */
export function Failure({ store, ui }: { store: Store; ui: Ui }): JSX.Element | null {
  const head = useOf(store, (s) => s.head);
  const off = useOf(store, (s) => !able(s, "play"));
  if (!head.error || head.status !== "failed") return null;
  return (
    <section class="ak-card ak-failure" role="group" aria-label="Error">
      <p>
        <strong>{head.error.type}</strong> <span class="ak-text">{head.error.text}</span>
      </p>
      {head.pending.length ? (
        <div class="ak-buttons">
          <Tool label="Try again" class="ak-primary" title="Perform it once more" off={off} onPress={() => ui.perform("play")} />
          <Tool label="Try one step" off={off} onPress={() => ui.perform("step")} />
          <Dim>or answer in its place, or edit an entry before it.</Dim>
        </div>
      ) : (
        <Dim>Mend the engine and resume the run, or edit an entry.</Dim>
      )}
    </section>
  );
}
