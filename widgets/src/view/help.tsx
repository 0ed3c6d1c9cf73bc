/** The keyboard shortcuts, shown over the view. */

import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "../elements/controls";
import { Note } from "../elements/text";
import { SHORTCUTS } from "../state/shortcuts";
import { useStore } from "../state/useStore";
import type { ViewState } from "../state/viewState";

export function Help({ view }: { view: ViewState }): JSX.Element | null {
  return useStore(view, (v) => v.isHelpOpen) ? <HelpDialog view={view} /> : null;
}

function HelpDialog({ view }: { view: ViewState }): JSX.Element {
  const dialog = useRef<HTMLDivElement>(null);
  const close = (): void => view.set({ isHelpOpen: false });
  useLayoutEffect(() => {
    const root = dialog.current?.getRootNode() as Document | ShadowRoot;
    const focusedBefore = root.activeElement as HTMLElement | null;
    dialog.current?.querySelector("button")?.focus();
    return () => focusedBefore?.focus();
  }, []);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape" || event.key === "?") close();
    // Tab too: the only button keeps the focus
    if (["Escape", "?", "Tab"].includes(event.key)) event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="ak-help"
      role="dialog"
      aria-modal="true"
      aria-label="Keyboard shortcuts"
      ref={dialog}
      onKeyDown={onKeyDown}
    >
      <div class="ak-help-head">
        <h3>Keyboard shortcuts</h3>
        <Button class="ak-tool-button" onClick={close}>
          Close
        </Button>
      </div>
      <Note>
        They work while the view has the focus and you are not typing. In a form, Ctrl+Enter submits and Escape cancels.
      </Note>
      <dl>
        {SHORTCUTS.map(({ action, label, help }) => (
          <div key={action}>
            <dt>
              <kbd>{label}</kbd>
            </dt>
            <dd>{help}</dd>
          </div>
        ))}
      </dl>
      <Note>
        A striped edge marks entries that follow a human edit. <b>Edit</b> keeps the original, <b>Go back</b> and{" "}
        <b>Try again</b> keep the later entries as a branch, and <b>Try another way</b> starts a second run.
      </Note>
    </div>
  );
}
