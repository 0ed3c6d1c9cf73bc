/** The changes that an edit made to an entry, word by word; loaded when they are opened. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Disclosure } from "../elements/controls";
import { ErrorMessage, Note } from "../elements/text";
import { WordDiff } from "../elements/wordDiff";
import type { Card } from "../protocol";
import { entryText } from "../state/entryText";
import type { Store } from "../state/store";
import { useQuery } from "../state/useStore";

export function Original({ store, card }: { store: Store; card: Card }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <Disclosure
      class="ak-original"
      summary={`Changes from the original${card.reason && ` (reason: ${card.reason})`}`}
      onOpen={() => setOpen(true)}
    >
      {isOpen && <Changes store={store} card={card} />}
    </Disclosure>
  );
}

function Changes({ store, card }: { store: Store; card: Card }): JSX.Element {
  const { value, error } = useQuery(store, String(card.id), { cmd: "original", entry: card.id });
  if (error) return <ErrorMessage text={error} />;
  if (!value) return <Note>Loading…</Note>;
  return (
    <div class="ak-text ak-difference">
      <WordDiff from={entryText(value)} to={entryText(card)} />
    </div>
  );
}
