/** Problems and news about the run, with what to do about them. */

import type { JSX } from "preact";
import { Button } from "../elements/controls";
import type { Head } from "../protocol";
import { isOffered } from "../state/actions";
import type { ConnectionState } from "../state/connection";
import type { Store } from "../state/store";
import { useHead, useStore } from "../state/useStore";
import type { ViewState } from "../state/viewState";

export function Notices({ store, view }: { store: Store; view: ViewState }): JSX.Element {
  const connectionState = useStore(store, (s) => s.connectionState);
  const head = useHead(store);
  const notice = useStore(view, (v) => v.notice);
  const loadProblem = useStore(store, (s) => s.loadProblem);
  const isBusy = useStore(store, (s) => s.isKernelBusy);
  const problem =
    connectionState === "lost" ? lostKernel(head) : (isBusy ? BUSY : CONNECTION_PROBLEMS)[connectionState];
  return (
    <div class="ak-notices">
      {problem && (
        <p class="ak-notice ak-error" role="alert">
          {problem}
        </p>
      )}
      {loadProblem && !problem && (
        <p class="ak-notice ak-error" role="alert">
          Some entries could not be loaded: {loadProblem}. Try again; if that does not help, run the cell again.
          <Button class="ak-action" onClick={() => store.retryLoading()}>
            Try again
          </Button>
        </p>
      )}
      {head.bypassed && (
        <p class="ak-notice ak-error ak-bypassed">
          <span>
            Permissions are bypassed: calls are made without asking you. <code>%agent permissions mode ask</code> ends
            this.
          </span>
        </p>
      )}
      {head.held ? (
        <p class="ak-notice" role="status">
          {heldElsewhere(head.held, isOffered(store, "change"))}
        </p>
      ) : (
        head.read_only && <p class="ak-notice ak-warning">This run is read-only: {head.read_only}.</p>
      )}
      {head.hold && head.status !== "running" && !head.error && <p class="ak-notice ak-warning">Paused: {head.hold}</p>}
      {head.forecast && <p class="ak-notice">{head.forecast}</p>}
      {notice && (
        <p class="ak-notice" role="alert">
          {notice}
          <Button class="ak-action" aria-label="Dismiss" onClick={() => view.set({ notice: "" })}>
            ×
          </Button>
        </p>
      )}
    </div>
  );
}

/** What is told if the kernel is known to be busy, and so neither gone nor restarted. */
const BUSY: { [state in ConnectionState]?: string } = {
  unanswered: "The kernel is busy with a cell. The run appears when the kernel answers.",
  unresponsive: "The kernel is busy with a cell. Your command is carried out after it, at the latest.",
};

const CONNECTION_PROBLEMS: { [state in ConnectionState]?: string } = {
  unanswered:
    "The kernel has not answered yet. If it is busy, wait for its cell to finish. If it was restarted, run the cell again.",
  unresponsive:
    "The kernel is not responding. It may be busy with a cell, and run your command after it, or it may have died.",
};

/** Who holds a run that is only looked at, and what that process was asked to do, or can be. */
function heldElsewhere({ by, status, asked }: NonNullable<Head["held"]>, canAsk: boolean): string {
  const rests = status === "running" ? "" : " Only that process can continue it.";
  const ask = status === "running" ? "Pause, Stop and Inject ask" : "Inject asks";
  const said = asked
    ? `It was asked to ${asked}, and has not done so yet.`
    : canAsk
      ? `${ask} that process, and the run records who asked.`
      : "";
  return `This run is held by another process (${by}), and shown here as it goes on.${rests} ${said}`;
}

function lostKernel({ run }: Head): string {
  const advice = run ? ` What was recorded is safe: agent.resume("${run}") in a new kernel continues from there.` : "";
  return `The kernel is gone, so this view can no longer control the run.${advice}`;
}
