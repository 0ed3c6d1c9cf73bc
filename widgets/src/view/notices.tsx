/** Problems and news about the run, with what to do about them. */

import type { JSX } from "preact";
import { Button } from "../elements/controls";
import type { Head } from "../protocol";
import type { ConnectionState } from "../state/connection";
import type { Store } from "../state/store";
import { useHead, useStore } from "../state/useStore";
import type { ViewState } from "../state/viewState";

export function Notices({ store, view }: { store: Store; view: ViewState }): JSX.Element {
  const connectionState = useStore(store, (s) => s.connectionState);
  const head = useHead(store);
  const isFreezing = useStore(store, (s) => s.isFreezing);
  const notice = useStore(view, (v) => v.notice);
  const problem = connectionProblem(connectionState, head);
  return (
    <div class="ak-notices">
      {problem && (
        <p class="ak-notice ak-error" role="alert">
          {problem}
        </p>
      )}
      {head.missing.length > 0 && (
        <p class="ak-notice ak-warning">This run is read-only. Missing here: {head.missing.join(", ")}.</p>
      )}
      {head.hold && head.status !== "running" && !head.error && (
        <p class="ak-notice ak-warning">Paused by {head.hold}</p>
      )}
      {head.forecast && <p class="ak-notice">{head.forecast}</p>}
      {isFreezing && (
        <p class="ak-notice">
          The run has finished. When you leave this view or save the notebook, it turns into a static snapshot.
        </p>
      )}
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

function connectionProblem(state: ConnectionState, { run }: Head): string {
  if (state === "unanswered")
    return "The kernel has not responded. If a cell is running, the kernel responds when that cell has finished. If the kernel was restarted, this view has nothing to show: run the cell again.";
  if (state === "unresponsive")
    return "The kernel is not responding. If it is busy with a cell, your command runs when that cell has finished; otherwise the kernel may have died.";
  if (state === "lost") {
    const advice = run ? ` To continue it from its journal in a new kernel, call agent.resume("${run}").` : "";
    return `The kernel is gone, so this view can no longer control the run.${advice}`;
  }
  return "";
}
