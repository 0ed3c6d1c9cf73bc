/**
 * Markdown, parsed into a tree of the few elements that agentkit draws. The same rules as in agentkit/export/prose.py;
 * tests/markdown_cases.json checks both.
 *
 * No HTML comes out of it and none is read: what is not in the tree is text. Nothing that was written is hidden, so
 * HTML, comments and definitions of references stay text. Lines break where they were broken, as in a chat.
 */

import MarkdownIt, { type StateBlock, type StateCore, type StateInline, type Token } from "markdown-it";

/** A text, or an element by the name of its kind. */
export type Node = string | { kind: string; children: Node[]; [attribute: string]: string | number | Node[] };

/** A block that stands by itself, such as a paragraph or a table, and where it begins in the text. */
export interface Block {
  source: string;
  start: number;
  nodes: Node[];
}

/** Longer texts are not taken for Markdown, and are drawn as they were written. */
export const MAX_MARKDOWN = 100_000;

const MAX_NESTING = 20;
/** The longest formula that is recognized: a dollar sign is usually the sign of a currency. */
const MAX_FORMULA = 2_000;

const RULES = [
  ..."table code fence blockquote hr list heading lheading".split(" "),
  ..."newline escape backticks strikethrough emphasis link image autolink entity".split(" "),
];

const parser = new MarkdownIt("zero", { maxNesting: MAX_NESTING }).enable(RULES);
parser.normalizeLink = safeAddress;
parser.normalizeLinkText = (address) => address;
parser.validateLink = Boolean;
parser.core.ruler.before("inline", "trim", trimInlines);
parser.inline.ruler.at("newline", lineBreak);
parser.inline.ruler.before("escape", "math", inlineMath);
parser.block.ruler.before("fence", "math", blockMath, { alt: ["paragraph", "blockquote", "list"] });

// no names and passwords before the site, which would be read as the site
const SITE = /^(https?):\/\/([^\s\\/?#@:%<>[\]^|"'`]+)(:\d{1,4})?([/?#][^\s\\]*)?$/i;
const MAIL = /^mailto:([^\s\\]+)$/i;
/** Sites that not every reader understands: with symbols, too long, or a number that is no complete address. */
const UNCLEAR_SITE = /\u1e9e|[^\0-\x7f\p{L}\p{M}\p{Nd}]|[^.]{64}|^.{254}|(^|\.)(\d+|0[xX][\da-fA-F]*)\.?$/u;
const IP_ADDRESS = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/** Return the address of a link in its normal form; "" if it may not be opened, and the link stays text. */
export function safeAddress(written: string): string {
  const [, scheme = "", site = "", port = "", rest = "/"] = SITE.exec(written) ?? [];
  const host = site && URL.canParse(`http://${site}`) ? new URL(`http://${site}`).hostname : "";
  if (host && (IP_ADDRESS.test(site) || ![site, host].some((each) => UNCLEAR_SITE.test(each))))
    return `${scheme.toLowerCase()}://${host}${port}${encoded(rest)}`;
  const mail = MAIL.exec(written)?.[1];
  return mail ? `mailto:${encoded(mail)}` : "";
}

function encoded(rest: string): string {
  return rest.replace(/[^\w%/:?#[\]@!$&'()*+,;=~.-]+/g, (part) => encodeURIComponent(part));
}

/** Return what is shown of an address: all of it, or the site that a long one leads to. */
export function shownAddress(address: string): string {
  const site = /^https?:\/\/[^/?#]+/.exec(address);
  return address.length > 60 && site ? `${site[0]}/…` : address;
}

/**
 * Return the blocks of a text that `escapeInvisible` has made visible. While a text grows, its former blocks are passed
 * as `before`, and only what can still change is parsed again.
 */
export function blocksOf(text: string, before: Block[] = []): Block[] {
  const kept = before.slice(0, settled(before));
  const from = before[kept.length]?.start ?? 0;
  if (!kept.every(({ source, start }) => text.startsWith(source, start))) return parse(text);
  return [...kept, ...parse(text.slice(from)).map((block) => ({ ...block, start: block.start + from }))];
}

/**
 * Return how many blocks cannot change any more, whatever follows: all but the last one, and the one before it, since a
 * line that is not complete may turn out to belong to it; unless an empty line ends that one, and it is not a list.
 */
function settled(blocks: Block[]): number {
  const last = blocks.length - 1;
  const before = blocks[last - 1];
  if (!before) return 0;
  const isList = before.nodes.some((node) => typeof node !== "string" && /^[uo]l$/.test(node.kind));
  return !isList && /\n[ \t]*\n$/.test(before.source) ? last : last - 1;
}

/** Return whether a text reads the same as Markdown and as it was written. */
export function isPlain(blocks: Block[]): boolean {
  return blocks.every(({ nodes }) =>
    nodes.every(
      (node) =>
        typeof node !== "string" &&
        node.kind === "p" &&
        node.children.every((child) => typeof child === "string" || child.kind === "br"),
    ),
  );
}

function parse(text: string): Block[] {
  if (text.length > MAX_MARKDOWN) return [asWritten(text)];
  const tokens = parser.parse(text, {});
  if (isTooDeep(tokens)) return [asWritten(text)];
  const starts = lineStarts(text);
  const blocks: Block[] = [];
  const at = { index: 0 };
  while (at.index < tokens.length) {
    const start = starts[(tokens[at.index] as Token).map?.[0] ?? 0] ?? 0;
    blocks.push({ source: "", start, nodes: treeOf(tokens, at) });
  }
  return blocks.map((block, index) => ({
    ...block,
    source: text.slice(block.start, blocks[index + 1]?.start ?? text.length),
  }));
}

/** Return whether something is nested so deeply that the parser drops what is in it, or that it could not be drawn. */
function isTooDeep(tokens: Token[]): boolean {
  let depth = 0;
  return tokens.some(({ children, nesting }) => {
    depth += nesting;
    return depth >= MAX_NESTING || (children ? isTooDeep(children) : false);
  });
}

function asWritten(text: string): Block {
  return { source: text, start: 0, nodes: [{ kind: "p", children: asLines(text) }] };
}

/** Return a text whose line breaks are elements. */
function asLines(text: string): Node[] {
  return text.split("\n").flatMap((line, index) => [...(index ? [{ kind: "br", children: [] }] : []), line]);
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** Return the node at a position of a list of tokens, and move the position behind it. */
function treeOf(tokens: Token[], at: { index: number }): Node[] {
  const token = tokens[at.index++] as Token;
  if (token.type === "inline") return inlineNodes(token.children ?? []);
  if (token.nesting !== 1) return [leaf(token)];
  const children: Node[] = [];
  while (at.index < tokens.length && (tokens[at.index] as Token).nesting !== -1) children.push(...treeOf(tokens, at));
  at.index++;
  const attributes = attributesOf(token);
  const leadsNowhere = token.type === "link_open" && !attributes.href;
  return token.hidden || leadsNowhere ? children : [{ ...attributes, kind: token.tag, children }];
}

function inlineNodes(tokens: Token[]): Node[] {
  const nodes: Node[] = [];
  const at = { index: 0 };
  while (at.index < tokens.length) nodes.push(...treeOf(tokens, at));
  return nodes.filter((node) => node !== "");
}

function leaf(token: Token): Node {
  const { type, content } = token;
  if (type === "fence" || type === "code_block")
    return { kind: "pre", language: token.info.trim(), children: [content.replace(/\n$/, "")] };
  if (type === "code_inline") return { kind: "code", children: [content] };
  if (type === "math") return { kind: token.block ? "mathblock" : "math", children: asLines(content) };
  if (type === "image") return { src: "", ...attributesOf(token), kind: "img", children: [content] };
  if (type === "softbreak" || type === "hardbreak") return { kind: "br", children: [] };
  if (type === "hr") return { kind: "hr", children: [] };
  return content;
}

function attributesOf(token: Token): { [name: string]: string } {
  const attributes: { [name: string]: string } = {};
  for (const name of ["href", "src", "title", "start", "style"]) {
    const value = token.attrGet(name);
    if (value) attributes[name] = String(value);
  }
  return attributes;
}

// -- rules -------------------------------------------------------------------------------------------------------------

/** Paragraphs and cells without the spaces around them, of any width, as in Python. */
function trimInlines({ tokens }: StateCore): void {
  for (const token of tokens) if (token.type === "inline") token.content = token.content.trim();
}

/** A line break where the line was broken, and the spaces that the next line begins with. */
function lineBreak(state: StateInline, silent: boolean): boolean {
  if (state.src[state.pos] !== "\n") return false;
  if (!silent) {
    state.pending = state.pending.replace(/ +$/, "");
    state.push("hardbreak", "br", 0);
  }
  state.pos++;
  return true;
}

/** A formula: `$…$` and `\(…\)` in a line, `$$…$$` and `\[…\]`. It stays as it was written. */
function inlineMath(state: StateInline, silent: boolean): boolean {
  const { src, pos, posMax } = state;
  if (src[pos] !== "$" && (src[pos] !== "\\" || !"([".includes(src[pos + 1] ?? " "))) return false;
  const text = src.slice(pos, Math.min(posMax, pos + MAX_FORMULA));
  const found = /^\$\$[^$]+\$\$/.exec(text) ?? /^\$(?![\s$])[^$\n]*[^\s$\\]\$(?![\d$])/.exec(text) ?? escapedMath(text);
  if (!found) return false;
  if (!silent) state.push("math", "", 0).content = found[0];
  state.pos += found[0].length;
  return true;
}

function escapedMath(text: string): [string] | null {
  const closing = { "\\(": "\\)", "\\[": "\\]" }[text.slice(0, 2)];
  const end = closing ? text.indexOf(closing, 2) : -1;
  return end < 0 ? null : [text.slice(0, end + 2)];
}

/** A formula of its own lines: from `$$` or `\\[` to the line that ends with `$$` or `\\]`, or to an empty line. */
function blockMath(state: StateBlock, first: number, end: number, silent: boolean): boolean {
  const lineAt = (line: number): string => state.getLines(line, line + 1, state.blkIndent, false).trim();
  if ((state.sCount[first] ?? 0) - state.blkIndent >= 4) return false;
  const opening = lineAt(first);
  const closing = { $$: "$$", "\\[": "\\]" }[opening.slice(0, 2)];
  const isClosed = closing && opening.length > 3 && opening.endsWith(closing);
  if (!closing || (opening.length > 2 && !isClosed)) return false;
  if (silent) return true;
  let next = first + 1;
  while (!isClosed && next < end && (state.sCount[next] ?? 0) >= state.blkIndent && lineAt(next)) {
    if (lineAt(next++).endsWith(closing)) break;
  }
  const token = state.push("math", "", 0);
  token.block = true;
  token.map = [first, next];
  token.content = state.getLines(first, next, state.blkIndent, false).trim();
  state.line = next;
  return true;
}
