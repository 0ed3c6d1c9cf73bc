/** A text of a model, a tool or a person: drawn as Markdown or as it was written, and folded if it is long. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button, ScrollArea } from "./controls";
import { errorText, formatNumber, truncate } from "./format";
import { type Block, blocksOf, isPlain } from "./markdown";
import { Blocks, useBlocks } from "./markdownView";
import { WordDiff } from "./wordDiff";

/** A text with more characters or lines than this is folded. */
const MAX_CHARACTERS = 1_600;
const MAX_LINES = 16;
/** How much of a folded text is shown. */
const FOLDED_CHARACTERS = 900;
const FOLDED_LINES = 10;
/** The most characters drawn; to read more than that, copy the text. */
const DRAWN_CHARACTERS = 400_000;

interface FoldedTextProps {
  text: string;
  /** The length of the whole text, of which `text` may be the beginning. */
  length?: number | undefined;
  /** Return the whole text. */
  load?: () => Promise<string>;
  /** The whole text, if it has been loaded before. */
  loaded?: string | undefined;
  /** Draw it as Markdown, with the text as it was written one click away. */
  markdown?: boolean;
  class?: string | undefined;
}

export function FoldedText({ text, load, loaded, markdown = false, ...props }: FoldedTextProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const [isRaw, setRaw] = useState(!markdown);
  const [fullText, setFullText] = useState(loaded);
  const [error, setError] = useState("");
  const length = props.length ?? text.length;
  const isLong = length > MAX_CHARACTERS || text.split("\n", MAX_LINES + 2).length > MAX_LINES;
  const whole = isOpen ? (fullText ?? text) : text;
  const blocks = useBlocks(markdown ? whole : "");
  const toggle = async (): Promise<void> => {
    setOpen(!isOpen);
    if (isOpen || !load || length <= text.length || fullText !== undefined) return;
    try {
      setFullText(await load());
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

interface ChangedTextProps {
  from: string;
  to: string;
  side?: "" | "-" | "+";
  highlight?: boolean;
  markdown: boolean;
}

/** A text beside its other version: the changes word by word, or the text as Markdown. */
export function ChangedText({ from, to, side = "", highlight = false, markdown }: ChangedTextProps): JSX.Element {
  const [isDrawn, setDrawn] = useState(false);
  return (
    <>
      {markdown && (
        <Button class="ak-more ak-raw" aria-pressed={!isDrawn} onClick={() => setDrawn(!isDrawn)}>
          Changes
        </Button>
      )}
      {isDrawn ? (
        <FoldedText text={side === "-" ? from : to} markdown />
      ) : (
        <ScrollArea class="ak-text ak-scroll">
          <WordDiff from={truncate(from)} to={truncate(to)} side={side} highlight={highlight} />
        </ScrollArea>
      )}
    </>
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
