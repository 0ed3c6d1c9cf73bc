/** The verbs that go back, on an entry: each tells what it would keep, perform again and not undo, before the click. */

import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { Button } from "../elements/controls";
import type { Card } from "../protocol";
import { appliesTo, isEnabled, VERBS, type VerbAction } from "../state/actions";
import { shortcutLabel } from "../state/shortcuts";
import type { Store } from "../state/store";
import { useQuery, useStore } from "../state/useStore";
import type { ViewState } from "../state/viewState";

export function Verbs({ store, view, card }: { store: Store; view: ViewState; card: Card }): JSX.Element {
  const canChange = useStore(store, (s) => isEnabled(s, "rewind"));
  const [asked, setAsked] = useState<VerbAction | null>(null);
  const id = useId();
  const version = useStore(store, (s) => (asked ? s.version : 0));
  const { value } = useQuery(store, `${asked && card.id} ${version}`, asked && { cmd: "forecast", entry: card.id });
  return (
    <>
      {VERBS.filter(([action]) => appliesTo(action, card)).map(([action, label]) => (
        <Button
          key={action}
          tabIndex={-1}
          class="ak-action"
          aria-describedby={asked === action ? id : undefined}
          aria-keyshortcuts={shortcutLabel(action)}
          aria-disabled={!canChange}
          onPointerEnter={() => setAsked(action)}
          onPointerLeave={() => setAsked(null)}
          onFocus={() => setAsked(action)}
          onBlur={() => setAsked(null)}
          onClick={() => {
            view.set({ selected: card.id });
            view.perform(action, card);
          }}
        >
          {label}
        </Button>
      ))}
      {asked && (
        <span class="ak-forecast" role="tooltip" id={id}>
          {value?.[asked] || VERBS.find(([action]) => action === asked)?.[2]} ({shortcutLabel(asked)})
        </span>
      )}
    </>
  );
}
