/** A text of a model or a tool: folded if it is long, and loaded in full when it is unfolded. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../elements/controls";
import { errorText, formatNumber } from "../elements/format";
import type { Card } from "../protocol";
import type { Store } from "../state/store";

/** A text with more characters or lines than this is folded. */
const MAX_CHARACTERS = 1_600;
const MAX_LINES = 16;
/** How much of a folded text is shown. */
const FOLDED_CHARACTERS = 900;
const FOLDED_LINES = 10;
/** The most characters drawn; to read more than that, copy the text. */
const DRAWN_CHARACTERS = 400_000;

interface LongTextProps {
  store: Store;
  card: Card;
  field: string;
  text: string;
  class?: string;
}

export function LongText({ store, card, field, text, ...props }: LongTextProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const [fullText, setFullText] = useState(store.fullTexts.get(`${card.id} ${field}`));
  const [error, setError] = useState("");
  const length = card.long?.[field] ?? text.length;
  const isLong = length > MAX_CHARACTERS || text.split("\n", MAX_LINES + 2).length > MAX_LINES;
  const toggle = async (): Promise<void> => {
    setOpen(!isOpen);
    if (isOpen || length <= text.length || fullText !== undefined) return;
    try {
      setFullText(await store.fullText(card.id, field));
    } catch (error) {
      setError(`The full text could not be loaded: ${errorText(error)}`);
    }
  };
  return (
    <div class={`ak-text ${props.class ?? ""}`}>
      {isLong && !isOpen ? `${fold(text)} …` : (fullText ?? text).slice(0, DRAWN_CHARACTERS)}
      {isLong && (
        <Button class="ak-more" aria-expanded={isOpen} onClick={toggle}>
          {isOpen ? "Show less" : `Show all ${formatNumber(length)} characters`}
        </Button>
      )}
      {error && <span role="alert">{error}</span>}
    </div>
  );
}

function fold(text: string): string {
  return text.split("\n", FOLDED_LINES).join("\n").slice(0, FOLDED_CHARACTERS).trimEnd();
}
