/** The keys, over the view while they are read. */

import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "./controls";
import { KEYS } from "./keys";
import { Note } from "./panels/parts";
import type { Ui } from "./ui";
import { useOf } from "./use";

export function Help({ ui }: { ui: Ui }): JSX.Element | null {
  return useOf(ui, (u) => u.helping) ? <Overlay ui={ui} /> : null;
}

function Overlay({ ui }: { ui: Ui }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const root = box.current?.getRootNode() as Document | ShadowRoot;
    const before = root.activeElement as HTMLElement | null;
    box.current?.querySelector("button")?.focus();
    return () => before?.focus();
  }, []);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape" || event.key === "?") ui.set({ helping: false });
    // there is one thing to press in here, and the focus stays on it
    if (["Escape", "?", "Tab"].includes(event.key)) event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="ak-help" role="dialog" aria-modal="true" aria-label="Keys" ref={box} onKeyDown={onKeyDown}>
      <div class="ak-help-head">
        <h3>Keys</h3>
        <Button class="ak-tool-button" onClick={() => ui.set({ helping: false })}>
          Close
        </Button>
      </div>
      <Note>They act while the view has the focus and nothing is being typed. In a form, Ctrl+Enter sends and Escape leaves.</Note>
      <dl>
        {KEYS.map(({ verb, shown, help }) => (
          <div key={verb}>
            <dt>
              <kbd>{shown}</kbd>
            </dt>
            <dd>{help}</dd>
          </div>
        ))}
      </dl>
      <Note>
        A stripe marks what follows a human edit. On a card: <b>edit</b> keeps the original, <b>retry</b> and <b>rewind</b> keep
        what followed as a branch, <b>fork</b> begins a second run.
      </Note>
    </div>
  );
}
