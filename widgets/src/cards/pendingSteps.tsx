/** The next steps: each can be edited before it runs, is being performed, or waits for a person. */

import type { JSX } from "preact";
import { Button, withShortcut } from "../elements/controls";
import { MarkdownText } from "../elements/foldedText";
import { formatNumber } from "../elements/format";
import { Blocks, useBlocks } from "../elements/markdownView";
import { Muted } from "../elements/text";
import type { PendingStep, Status } from "../protocol";
import { breakpointOn, isEditable, isEnabled, isOffered, toggleBreakpoint } from "../state/actions";
import { shortcutLabel } from "../state/shortcuts";
import { isRunning } from "../state/status";
import type { Store } from "../state/store";
import { useStore } from "../state/useStore";
import { type Edit, isSameStep, type ViewState } from "../state/viewState";
import { Arguments } from "./arguments";
import { Answer, Approval } from "./decisions";
import { EditForm } from "./editForm";
import { GuessForm } from "./guess";
import { Temperature } from "./temperature";

interface StepProps {
  store: Store;
  view: ViewState;
  step: PendingStep;
}

export function PendingSteps({ store, view }: { store: Store; view: ViewState }): JSX.Element | null {
  const pending = useStore(store, (s) => s.head.pending);
  const status = useStore(store, (s) => s.head.status);
  const edit = useStore(view, (v) => v.edit);
  if (!store.ready || !pending.length || status === "done") return null;
  return (
    <section class="ak-card ak-next-steps" aria-label="Next steps">
      {pending.map((step, index) => {
        const stepEdit = edit?.step && isSameStep(edit.step, step) ? edit : null;
        return (
          <div
            key={`${step.path} ${step.index}`}
            class={`ak-entry ak-pending ${step.why ? "ak-waiting" : ""} ${step.busy ? "ak-busy" : ""}`}
            data-pending={index}
          >
            <span class="ak-gutter" aria-hidden="true">
              {step.why ? "?" : step.busy || index ? "" : "next"}
            </span>
            <div class="ak-entry-body">
              <div class="ak-entry-head">
                <span class="ak-title">{stepTitle(step)}</span>
                {step.effect && <Effect effect={step.effect} />}
                {step.lane && (
                  <span class="ak-tag" title={`Lane ${step.lane}`}>
                    {step.lane_text}
                  </span>
                )}
                <Muted>{stepState(step, status)}</Muted>
                {!stepEdit && <Actions store={store} view={view} step={step} />}
              </div>
              <PlayedBy store={store} view={view} step={step} />
              {!stepEdit && !step.why && <Temperature store={store} view={view} own={step.own_temperature} />}
              {!index && !stepEdit && <GuessForm store={store} view={view} />}
              {stepEdit ? (
                <EditForm store={store} view={view} edit={stepEdit} />
              ) : (
                <StepContent store={store} step={step} />
              )}
            </div>
          </div>
        );
      })}
    </section>
  );
}

function StepContent({ store, step }: { store: Store; step: PendingStep }): JSX.Element | null {
  const { kind, which: asked, call, question, why } = step;
  const mayDecide = useStore(store, (s) => isOffered(s, "change"));
  const which = mayDecide ? asked : undefined;
  if (!mayDecide && asked !== undefined)
    return (
      <>
        <p class="ak-text">{question ?? why}</p>
        {call && <Arguments call={call} />}
      </>
    );
  if (which !== undefined && kind === "ask") return <Answer store={store} step={step} which={which} />;
  if (which !== undefined) return <Approval key={which} store={store} step={step} which={which} />;
  if (call) return <Arguments call={call} />;
  if (kind === "ask") return <MarkdownText text={question ?? ""} />;
  if (kind === "think") return <StreamedReply store={store} step={step} />;
  return null;
}

/** The most characters of a streamed reply, and of its reasoning, that are drawn. */
const MAX_REPLY = 20_000;
const MAX_REASONING = 1_200;

function StreamedReply({ store, step }: { store: Store; step: PendingStep }): JSX.Element | null {
  const reply = useStore(store, (s) => s.partialReply(step.path, step.index));
  if (!reply) return null;
  const { text, reasoning } = reply;
  return (
    <div class="ak-stream">
      {reasoning && (
        <p class="ak-text ak-thinking">
          {text ? `Reasoning (${formatNumber(reasoning.length)} characters)` : end(reasoning, MAX_REASONING)}
        </p>
      )}
      {text && <StreamedText text={text} />}
      <span class="ak-caret" aria-hidden="true" />
    </div>
  );
}

/** What has arrived of a reply, drawn as its card will be; only the end of a very long one, as it was written. */
function StreamedText({ text }: { text: string }): JSX.Element {
  const isLong = text.length > MAX_REPLY;
  const blocks = useBlocks(isLong ? "" : text);
  return <div class="ak-text">{isLong ? end(text, MAX_REPLY) : <Blocks blocks={blocks} />}</div>;
}

function end(text: string, length: number): string {
  return text.length > length ? `…${text.slice(-length)}` : text;
}

function Actions({ store, view, step }: StepProps): JSX.Element | null {
  const canChange = useStore(store, (s) => !isRunning(s) && isEnabled(s, "edit"));
  const hasBreakpoint = useStore(store, (s) => breakpointOn(s, step) !== undefined);
  if (!canChange || step.why) return null;
  return (
    <span class="ak-actions" role="group" aria-label={`Next step${step.lane && `, ${step.lane_text}`}`}>
      {step.kind === "act" && !step.own && (
        <Button
          class="ak-action"
          title={withShortcut("Edit the arguments before the tool is called", shortcutLabel("edit"))}
          onClick={() => view.editStep(step, "arguments")}
        >
          Edit
        </Button>
      )}
      {(step.call || step.role) && (
        <Button
          class="ak-action"
          aria-pressed={hasBreakpoint}
          title="Toggle a breakpoint: pause before every step with this tool or role"
          onClick={() => void view.execute(toggleBreakpoint(store, step))}
        >
          Break
        </Button>
      )}
    </span>
  );
}

const SEATS = { think: "Model", act: "Tool", ask: "", conclude: "", all: "" };

/** Who plays a step: the model or the tool, as usual; the person, who writes its result; or the recording. */
function PlayedBy({ store, view, step }: StepProps): JSX.Element | null {
  const canChange = useStore(store, (s) => !isRunning(s) && isEnabled(s, "edit"));
  const target = useStore(view, ({ edit }) => (edit?.step && isSameStep(edit.step, step) ? edit.target : "arguments"));
  if (!canChange || step.why || !isEditable(step)) return null;
  const seat = (label: string, own: Edit["target"], title: string): JSX.Element => (
    <Button aria-pressed={target === own} title={title} onClick={() => view.editStep(step, own)}>
      {label}
    </Button>
  );
  const usual = SEATS[step.kind];
  return (
    <div class="ak-choice" role="group" aria-label="Played by">
      <Muted>Played by </Muted>
      {usual && (
        <Button
          aria-pressed={target === "arguments"}
          title={`The ${usual.toLowerCase()} plays this step, as usual`}
          onClick={() => view.leaveStep(step)}
        >
          {usual}
        </Button>
      )}
      {seat("You", "result", "Skip this step, and write its result yourself")}
      {step.recordings && seat("Recording", "recording", "Use a result that was recorded here before")}
    </div>
  );
}

const EFFECTS: { [effect: string]: string } = {
  pure: "changes nothing",
  idempotent: "safe to repeat",
  undeclared: "effect unknown",
};

function Effect({ effect }: { effect: string }): JSX.Element {
  const suffix = /^[a-z]+$/.test(effect) ? effect : "other";
  const title =
    effect === "undeclared" ? "The tool does not declare its effect" : `The tool declares its effect as "${effect}"`;
  return (
    <span class={`ak-tag ak-effect-${suffix}`} title={title}>
      {EFFECTS[effect] ?? effect}
    </span>
  );
}

const TITLES = { think: "Thought", act: "Tool call", ask: "Question", conclude: "Conclusion", all: "Parallel steps" };

function stepTitle({ call, kind, title }: PendingStep): JSX.Element | string {
  if (call) return <code class="ak-tool-name">{call.name}</code>;
  if (kind === "think" && title) return title;
  return TITLES[kind] ?? kind;
}

function stepState({ why, busy, kind }: PendingStep, status: Status): string {
  if (why || !busy) return ""; // why it waits is shown below
  if (status === "pausing") return "finishing, then the run pauses";
  return kind === "think" ? "generating…" : "running…";
}
