/** A text of a model or a tool: as text, folded where it is long, fetched where it was cut. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../controls";
import { said, thousands } from "../panels/parts";
import type { Card } from "../protocol";
import type { Store } from "../store";

/** Characters and lines that are shown of a text before it is folded, and how much a folded one shows. */
const CHARACTERS = 1_600;
const LINES = 16;
const FOLDED_LINES = 10;
const FOLDED_CHARACTERS = 900;
/** Characters drawn at most: past this a browser is no place to read a text, and copying gives it all. */
const DRAWN = 400_000;

interface LongTextProps {
  store: Store;
  entry: Card;
  field: string;
  text: string;
  class?: string;
}

export function LongText({ store, entry, field, text, ...rest }: LongTextProps): JSX.Element {
  const [open, setOpen] = useState(false);
  const [whole, setWhole] = useState(store.wholes.get(`${entry.id} ${field}`));
  const [refused, setRefused] = useState("");
  const length = entry.long?.[field] ?? text.length;
  const long = length > CHARACTERS || lines(text) > LINES;
  const show = async (): Promise<void> => {
    setOpen(!open);
    if (open || length <= text.length || whole !== undefined) return;
    try {
      setWhole(await store.whole(entry.id, field));
    } catch (error) {
      setRefused(`The rest could not be fetched: ${said(error)}`);
    }
  };
  const full = (whole ?? text).slice(0, DRAWN);
  return (
    <div class={`ak-text ${rest.class ?? ""}`}>
      {long && !open ? `${folded(text)} …` : full}
      {long && (
        <Button class="ak-more" aria-expanded={open} onClick={show}>
          {open ? "show less" : `show all ${thousands(length)} characters`}
        </Button>
      )}
      {refused && <span role="alert">{refused}</span>}
    </div>
  );
}

function lines(text: string): number {
  return text.split("\n", LINES + 2).length;
}

function folded(text: string): string {
  return text.split("\n", FOLDED_LINES).join("\n").slice(0, FOLDED_CHARACTERS).trimEnd();
}
