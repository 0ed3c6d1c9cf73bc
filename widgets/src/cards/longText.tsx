/** A text of a model or a tool: folded if it is long, and loaded in full when it is unfolded. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../elements/controls";
import { errorText, formatNumber } from "../elements/format";
import { type Block, blocksOf, isPlain } from "../elements/markdown";
import { Blocks, useBlocks } from "../elements/markdownView";
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
  /** Draw it as Markdown, with the text as it was written one click away. */
  markdown?: boolean;
  class?: string;
}

export function LongText({ store, card, field, text, markdown = false, ...props }: LongTextProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const [isRaw, setRaw] = useState(!markdown);
  const [fullText, setFullText] = useState(store.fullTexts.get(`${card.id} ${field}`));
  const [error, setError] = useState("");
  const length = card.long?.[field] ?? text.length;
  const isLong = length > MAX_CHARACTERS || text.split("\n", MAX_LINES + 2).length > MAX_LINES;
  const whole = isOpen ? (fullText ?? text) : text;
  const blocks = useBlocks(markdown ? whole : "");
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
      {!isRaw ? (
        <Blocks blocks={isLong && !isOpen ? foldBlocks(blocks) : blocks} />
      ) : isLong && !isOpen ? (
        `${fold(text)} …`
      ) : (
        whole.slice(0, DRAWN_CHARACTERS)
      )}
      {markdown && !isPlain(blocks) && <RawButton isRaw={isRaw} onClick={() => setRaw(!isRaw)} />}
      {isLong && (
        <Button class="ak-more" aria-expanded={isOpen} onClick={toggle}>
          {isOpen ? "Show less" : `Show all ${formatNumber(length)} characters`}
        </Button>
      )}
      {error && <span role="alert">{error}</span>}
    </div>
  );
}

/** A short text of a model or a person, drawn as Markdown. */
export function MarkdownText({ text }: { text: string }): JSX.Element {
  const [isRaw, setRaw] = useState(false);
  const blocks = useBlocks(text);
  return (
    <div class="ak-text">
      {isRaw ? text : <Blocks blocks={blocks} />}
      {!isPlain(blocks) && <RawButton isRaw={isRaw} onClick={() => setRaw(!isRaw)} />}
    </div>
  );
}

function RawButton({ isRaw, onClick }: { isRaw: boolean; onClick: () => void }): JSX.Element {
  return (
    <Button class="ak-more ak-raw" aria-pressed={isRaw} title="Show the text as it was written" onClick={onClick}>
      Raw text
    </Button>
  );
}

function fold(text: string): string {
  return text.split("\n", FOLDED_LINES).join("\n").slice(0, FOLDED_CHARACTERS).trimEnd();
}

/** Return the first blocks: a table, a list and code are shown whole or not at all; only a long paragraph is cut. */
function foldBlocks(blocks: Block[]): Block[] {
  const [first] = blocks;
  if (!first) return [];
  let count = 1;
  const end = (index: number): string => blocks.slice(0, index + 1).reduce((text, { source }) => text + source, "");
  while (count < blocks.length && fold(end(count)).length >= end(count).trimEnd().length) count++;
  const isParagraph = first.nodes.every((node) => typeof node !== "string" && node.kind === "p");
  if (count === 1 && isParagraph && fold(first.source).length < first.source.trimEnd().length)
    return blocksOf(`${fold(first.source)} …`);
  return blocks.slice(0, count);
}
