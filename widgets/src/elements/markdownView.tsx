/**
 * Markdown as elements. They are made one by one from the tree of `blocksOf`, and every text in them is a text node:
 * there is no HTML that would have to be cleaned.
 */

import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { Code } from "./code";
import { SUPPRESS_SHORTCUTS } from "./controls";
import { escapeInvisible } from "./escape";
import { type Block, blocksOf, type Node, shownAddress } from "./markdown";
import { Muted } from "./text";

/** Return the blocks of a text that may be growing: only its last block is parsed again. */
export function useBlocks(text: string): Block[] {
  const before = useRef<Block[]>([]);
  return useMemo(() => {
    before.current = blocksOf(escapeInvisible(text), before.current);
    return before.current;
  }, [text]);
}

export function Blocks({ blocks }: { blocks: Block[] }): JSX.Element {
  return (
    <div class="ak-md">
      {blocks.map((block) => (
        <BlockView key={block.start} block={block} />
      ))}
    </div>
  );
}

/** A block is drawn again only if its text has changed. */
function BlockView({ block }: { block: Block }): JSX.Element {
  return useMemo(() => <>{draw(block.nodes)}</>, [block.source]);
}

type Element = Exclude<Node, string>;

function draw(nodes: Node[]): (JSX.Element | string)[] {
  return nodes.map((node, index) => (typeof node === "string" ? node : drawElement(node, index)));
}

function drawElement(node: Element, key: number): JSX.Element {
  const { kind, children } = node;
  const inside = draw(children);
  if (/^h[1-6]$/.test(kind))
    return (
      <p key={key} class={`ak-heading ak-${kind}`}>
        <strong>{inside}</strong>
      </p>
    );
  if (kind === "pre")
    return (
      <figure key={key}>
        {node.language ? <figcaption class="ak-language">{String(node.language)}</figcaption> : null}
        <pre class="ak-code" {...SUPPRESS_SHORTCUTS}>
          <Code text={children.join("")} language={String(node.language ?? "")} />
        </pre>
      </figure>
    );
  if (kind === "table") return <Table key={key}>{inside}</Table>;
  if (kind === "a") return <Link key={key} node={node} />;
  if (kind === "img") return <Image key={key} node={node} />;
  if (kind === "math" || kind === "mathblock") {
    const Tag = kind === "math" ? "span" : "p";
    return (
      <Tag key={key} class="ak-math">
        {inside}
      </Tag>
    );
  }
  if (kind === "br" || kind === "hr") {
    const Tag = kind;
    return <Tag key={key} />;
  }
  const Tag = PLAIN[kind] ?? "span";
  const numeric = String(node.style ?? "").endsWith("right") ? { class: "ak-numeric" } : {};
  const start = kind === "ol" && node.start ? { start: Number(node.start) } : {};
  return (
    <Tag key={key} {...numeric} {...start}>
      {inside}
    </Tag>
  );
}

/** The elements that need nothing but their name. */
const PLAIN = Object.fromEntries(
  "p ul ol li blockquote thead tbody tr th td strong em s code".split(" ").map((tag) => [tag, tag]),
) as { [kind: string]: "p" };

function Table({ children }: { children: (JSX.Element | string)[] }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard
    <div class="ak-table" role="group" aria-label="Table" tabIndex={0} {...SUPPRESS_SHORTCUTS}>
      <table>{children}</table>
    </div>
  );
}

/** A link shows where it leads, and is opened by nothing but a click. */
function Link({ node }: { node: Element }): JSX.Element {
  const address = String(node.href);
  const shown = shownAddress(address);
  const text = draw(node.children);
  const isAddress =
    text.length === 0 ||
    (text.length === 1 && [address, shown, address.replace("mailto:", "")].includes(String(text[0])));
  return (
    <>
      <a
        {...SUPPRESS_SHORTCUTS}
        href={address}
        title={node.title ? `${node.title}\n${address}` : address}
        target="_blank"
        rel="noopener noreferrer"
      >
        {text.length ? text : shown}
      </a>
      {!isAddress && <Muted> ({shown})</Muted>}
    </>
  );
}

/** An image is not loaded: that would tell its host who is reading. */
function Image({ node }: { node: Element }): JSX.Element {
  return (
    <span class="ak-tag" title="Images are not loaded">
      [image: {node.children} <Muted>({String(node.src)})</Muted>]
    </span>
  );
}
