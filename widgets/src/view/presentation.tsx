/** The view for a projector: in large type, only the current card, the engine's source and the local variables. */

import type { JSX } from "preact";
import { EntryView } from "../cards/entries";
import { Failure } from "../cards/failure";
import { PendingSteps } from "../cards/pendingSteps";
import { ToolButton } from "../elements/controls";
import type { Card } from "../protocol";
import { isEnabled, isOffered } from "../state/actions";
import { PAGE } from "../state/page";
import { shortcutLabel } from "../state/shortcuts";
import { statusOf } from "../state/status";
import type { Store } from "../state/store";
import { firstEdit } from "../state/trace";
import { useHead, useStore } from "../state/useStore";
import type { ViewState } from "../state/viewState";
import { MessageBox } from "./messageBox";
import { SelectedSource } from "./sidePanel";

export function Presentation({ store, view }: { store: Store; view: ViewState }): JSX.Element {
  const { task, forked } = useHead(store);
  useStore(store, (s) => s.version);
  const card = useStore(store, () => presented(store, view));
  useStore(view, (v) => `${v.selected} ${v.edit?.step?.index} ${v.edit?.step?.path}`);
  const isWriting = useStore(view, (v) => v.messageBox > 0);
  const shown = presented(store, view) ?? card;
  const last = Math.max(0, store.total - 1);
  return (
    <>
      <Bar store={store} view={view} position={shown ? `Step ${shown.n} of ${last}` : `Next: step ${last + 1}`} />
      <p class="ak-presented-task">{forked ? `Fork: ${task}` : task}</p>
      <div class="ak-presentation">
        <div class="ak-presented" role="region" aria-label="Current step">
          {shown ? (
            <section class="ak-card">
              <EntryView
                key={shown.id}
                store={store}
                view={view}
                card={shown}
                followsEdit={shown.n > firstEdit(store.trace) && firstEdit(store.trace) >= 0}
              />
            </section>
          ) : (
            <PendingSteps store={store} view={view} />
          )}
          <Failure store={store} view={view} />
          {isWriting && <MessageBox store={store} view={view} />}
        </div>
        {store.ready && isOffered(store, "inside") && <SelectedSource store={store} view={view} />}
      </div>
    </>
  );
}

/**
 * Return the entry to present: the selected one, or else the last one; undefined if the next step is to be seen, since
 * the run works on it, or waits for a person, or its edit has begun.
 */
export function presented(store: Store, view: ViewState): Card | undefined {
  if (view.edit?.step) return undefined;
  const selected = store.trace.find(view.selected);
  if (selected) return selected;
  const { pending, status } = store.head;
  const isNext = status !== "done" && pending.some((step) => step.why || step.busy);
  return isNext ? undefined : store.cards[store.total - 1];
}

function Bar({ store, view, position }: { store: Store; view: ViewState; position: string }): JSX.Element {
  useStore(store, (s) => `${isEnabled(s, "step")} ${isEnabled(s, "pause")} ${s.head.status} ${s.connectionState}`);
  const { label, tone, description } = statusOf(store);
  const canPause = isEnabled(store, "pause");
  return (
    <div class="ak-toolbar" role="toolbar" aria-label="Presentation">
      <span class={`ak-status ak-tone-${tone}`} role="status" title={description}>
        <i aria-hidden="true" />
        {label}
      </span>
      <span class="ak-position">{position}</span>
      <span class="ak-tool-group">
        {isOffered(store, "change") && (
          <>
            <ToolButton
              label="Step"
              class="ak-primary"
              shortcut={shortcutLabel("step")}
              disabled={!isEnabled(store, "step")}
              onClick={() => view.perform("step")}
            />
            <ToolButton
              label={canPause ? "Pause" : "Run"}
              shortcut={shortcutLabel(canPause ? "pause" : "play")}
              disabled={!canPause && !isEnabled(store, "play")}
              onClick={() => view.perform(canPause ? "pause" : "play")}
            />
          </>
        )}
        <ToolButton label="End presentation" shortcut={shortcutLabel("present")} onClick={() => PAGE.present(false)} />
      </span>
    </div>
  );
}
