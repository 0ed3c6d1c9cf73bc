/** Going back, trying again and trying another way: each with a line on what it keeps and performs again. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Menu, type MenuItem } from "../elements/menu";
import { Note } from "../elements/text";
import type { Card, Forecast } from "../protocol";
import { appliesTo, isEnabled, VERBS, type VerbAction } from "../state/actions";
import { shortcutLabel } from "../state/shortcuts";
import type { Store } from "../state/store";
import { useStore } from "../state/useStore";
import type { ViewState } from "../state/viewState";

export function GoBackMenu({ store, view }: { store: Store; view: ViewState }): JSX.Element {
  const openRequests = useStore(view, (v) => v.goBackRequests);
  const [forecast, setForecast] = useState<Forecast | null>(null);
  const [card, setCard] = useState<Card | undefined>();
  const isPossible = (action: VerbAction, card: Card): boolean =>
    appliesTo(action, card) && isEnabled(store, action) && !(action === "rewind" && card.n === store.total - 1);
  const onOpen = (): void => {
    const target = store.trace.find(view.selected) ?? store.cards[store.total - 1];
    setCard(target);
    setForecast(null);
    store.execute({ cmd: "forecast", entry: target?.id ?? 0 }).then(setForecast, () => undefined);
  };
  const item = (action: VerbAction, label: string, title: string): MenuItem => ({
    label: action === "rewind" ? `${label} to entry ${card?.n}` : `${label}, from entry ${card?.n}`,
    note: forecast?.[action] || title,
    shortcut: shortcutLabel(action),
    perform: card && isPossible(action, card) ? () => view.perform(action, card) : null,
  });
  const items: MenuItem[] = [
    {
      label: "Go back: undo the last change",
      note: forecast?.undo,
      shortcut: shortcutLabel("undo"),
      perform: isEnabled(store, "undo") ? () => view.perform("undo") : null,
    },
    ...VERBS.map(([action, label, title]) => item(action, label, title)),
  ];
  return (
    <Menu
      label="Go back"
      icon="goBack"
      title="Go back, try again or try another way: see first what each keeps and performs again  (g)"
      items={items}
      openRequests={openRequests}
      onOpen={onOpen}
    >
      {card && (
        <Note>
          Entry {card.n} is {view.selected === card.id ? "selected" : "the last one"}.
        </Note>
      )}
    </Menu>
  );
}
