/** What stands in the way, said plainly with what to do about it. */

import type { JSX } from "preact";
import { Button } from "./controls";
import type { Link } from "./exchange";
import type { Head } from "./protocol";
import type { Store } from "./store";
import type { Ui } from "./ui";
import { useOf } from "./use";

const LINKS: { [link in Link]?: string } = {
  silent:
    "The kernel has not answered. If a cell is running, it answers when that cell ends. If it was restarted, this view has nothing to show: run the cell again.",
  late: "The kernel does not answer. It may be busy with a cell: then it does what you asked when that cell ends. Or it is gone.",
};

export function Notices({ store, ui }: { store: Store; ui: Ui }): JSX.Element {
  const link = useOf(store, (s) => s.link);
  const head = useOf(store, (s) => s.head);
  const settling = useOf(store, (s) => s.settling);
  const notice = useOf(ui, (u) => u.notice);
  const said = link === "gone" ? gone(head) : LINKS[link];
  return (
    <div class="ak-notices">
      {said && (
        <p class="ak-notice ak-error" role="alert">
          {said}
        </p>
      )}
      {head.missing.length > 0 && (
        <p class="ak-notice ak-warning">This run can only be read. Missing here: {head.missing.join(", ")}.</p>
      )}
      {head.hold && head.status !== "running" && !head.error && <p class="ak-notice ak-warning">Held: {head.hold}</p>}
      {head.forecast && <p class="ak-notice">{head.forecast}</p>}
      {settling && (
        <p class="ak-notice">
          The run is over. This view becomes a static picture when you leave it, at the latest when the notebook is saved.
        </p>
      )}
      {notice && (
        <p class="ak-notice" role="alert">
          {notice}
          <Button class="ak-action" aria-label="Dismiss" onClick={() => ui.set({ notice: "" })}>
            ×
          </Button>
        </p>
      )}
    </div>
  );
}

function gone({ run }: Head): string {
  const again = run ? ` What was recorded is kept: agent.resume("${run}") in a new kernel goes on from there.` : "";
  return `The kernel is gone, and this view is only a picture now.${again}`;
}
