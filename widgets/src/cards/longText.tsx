/** A text of a card: the view has the beginning of a long one, and loads it in full when it is unfolded. */

import type { JSX } from "preact";
import { FoldedText } from "../elements/foldedText";
import type { Card } from "../protocol";
import type { Store } from "../state/store";

interface LongTextProps {
  store: Store;
  card: Card;
  field: string;
  text: string;
  markdown?: boolean;
  class?: string;
}

export function LongText({ store, card, field, text, markdown = false, class: name }: LongTextProps): JSX.Element {
  return (
    <FoldedText
      text={text}
      length={card.long?.[field]}
      loaded={store.fullTexts.get(`${card.id} ${field}`)}
      load={() => store.fullText(card.id, field)}
      markdown={markdown}
      class={name}
    />
  );
}
