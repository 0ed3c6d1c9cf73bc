/** An edit in progress whose entry or step no longer exists: another view, or Python, was faster. */

import type { JSX } from "preact";
import { Button } from "../elements/controls";
import type { Store } from "../state/store";
import { useStore } from "../state/useStore";
import { isSameStep, type ViewState } from "../state/viewState";

export function LostEdit({ store, view }: { store: Store; view: ViewState }): JSX.Element | null {
  const edit = useStore(view, (v) => v.edit);
  const { card, step } = edit ?? {};
  const isLost = useStore(
    store,
    ({ trace, head }) =>
      (!!card && !trace.find(card.id)) || (!!step && !head.pending.some((pending) => isSameStep(pending, step))),
  );
  if (!edit || !isLost) return null;
  return (
    <section class="ak-lost-edit" role="alert">
      <p>
        {card
          ? "The entry that you were editing was changed elsewhere."
          : "The step that you were editing has run or changed."}{" "}
        Your unsaved text:
      </p>
      {Object.entries(edit.draft).map(
        ([field, text]) =>
          text && (
            <pre class="ak-code" key={field}>
              {text}
            </pre>
          ),
      )}
      <Button class="ak-tool-button" onClick={() => view.set({ edit: null })}>
        Discard
      </Button>
    </section>
  );
}
