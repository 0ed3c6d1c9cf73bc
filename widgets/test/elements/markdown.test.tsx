import { act, cleanup, render } from "@testing-library/preact";
import { afterEach, expect, test } from "vitest";
import cases from "../../../tests/markdown_cases.json";
import { escapeAllTexts, escapeInvisible } from "../../src/elements/escape";
import { type Block, blocksOf, isPlain, MAX_MARKDOWN, safeAddress } from "../../src/elements/markdown";
import { Blocks, useBlocks } from "../../src/elements/markdownView";
import { skeletonOf } from "../support/skeleton";

const CASES = cases as [name: string, source: string, skeleton: string][];

escapeAllTexts();
afterEach(cleanup);

function Text({ text }: { text: string }) {
  return <Blocks blocks={useBlocks(text)} />;
}

function draw(text: string): HTMLElement {
  return render(<Text text={text} />).container as HTMLElement;
}

/** Elements and attributes that Markdown may become. */
const ALLOWED =
  /^(p|ul|ol|li|blockquote|hr|pre|code|table|thead|tbody|tr|th|td|strong|em|s|a|br|span|figure|figcaption|div)$/;
const ATTRIBUTES = /^(class|href|title|target|rel|start|role|aria-label|tabindex|data-lm-suppress-shortcuts)$/i;

function expectHarmless(root: HTMLElement, source: string): void {
  for (const element of root.querySelectorAll<HTMLElement>("*")) {
    expect(element.tagName.toLowerCase(), source).toMatch(ALLOWED);
    for (const { name, value } of element.attributes) {
      expect(name, source).toMatch(ATTRIBUTES);
      expect(value, source).toBe(escapeInvisible(value));
      if (name === "href") expect(value, source).toMatch(/^(https?:\/\/|mailto:)/);
    }
    if (element.tagName === "A") expect(element.getAttribute("rel")).toBe("noopener noreferrer");
  }
  const shown = root.textContent ?? "";
  expect(escapeInvisible(shown)).toBe(shown);
  expect((globalThis as { hostile?: number }).hostile).toBeUndefined();
}

// the same table as in tests/export/test_prose.py
test.each(CASES)("%s", (_, source, skeleton) => {
  const root = draw(source);
  expect(skeletonOf(root)).toBe(skeleton);
  expectHarmless(root, source);
});

const PIECES = [
  ..."[ ] ( ) ![ ]( < > ` ~~~ * ** _ ~~ \\ | $ \\( \\[ & : = + { }".split(" "),
  ..."- |1. |> |# |---\n|===\n|\n|\n\n|    |```\n|$$\n|&#x202e;|&lt;|\u202e|\x1b[2J|\t".split("|"),
  ..."javascript:alert(1) data:text/html,x vbscript:x https://evil.example/a mailto:a@b.c //evil.example".split(" "),
  ..."<img/src=x/onerror=hostile=1> <script>hostile=1</script> <svg/onload=hostile=1> <!-- --> FORGED".split(" "),
  "|a|b|\n|-|-|\n",
  "[x]: https://evil.example/ref\n",
  "[x]",
  "word",
];

/** Random numbers that are the same in every run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

function randomTexts(count: number): string[] {
  const next = random(14);
  return Array.from({ length: count }, () =>
    Array.from({ length: 1 + next() * 40 }, () => PIECES[Math.floor(next() * PIECES.length)]).join(""),
  );
}

test("random hostile text becomes harmless elements, and everything in it is shown", () => {
  for (const source of randomTexts(400)) {
    const root = draw(source);
    expectHarmless(root, source);
    const shown = root.textContent ?? "";
    for (const word of ["FORGED", "word"])
      expect(shown.split(word).length, source).toBeGreaterThanOrEqual(source.split(word).length);
    cleanup();
  }
});

test("a text that arrives in pieces is the same as the whole of it, and all but its last two blocks stay", () => {
  for (const source of [...CASES.map((each) => each[1]), ...randomTexts(100)].map(escapeInvisible)) {
    let blocks: Block[] = [];
    for (let length = 1; length <= source.length; length++) {
      const next = blocksOf(source.slice(0, length), blocks);
      for (const [index, block] of blocks.slice(0, -2).entries()) expect(next[index]).toBe(block);
      blocks = next;
    }
    expect(blocks).toEqual(blocksOf(source));
  }
});

test("while a text grows, the elements of its former blocks stay", async () => {
  const { container, rerender } = render(<Text text={"one\n\ntwo"} />);
  const [first, second] = container.querySelectorAll("p");
  await act(() => rerender(<Text text={"one\n\ntwo and **three**\n\n- four"} />));
  expect(container.querySelector("p")).toBe(first);
  expect(container.querySelectorAll("p")[1]).toBe(second);
  expect(skeletonOf(container)).toBe("p(one)p(two and strong(three))ul(li(four))");
});

test("blocks are made of the whole text", () => {
  for (const [, source] of CASES) {
    const blocks = blocksOf(escapeInvisible(source));
    expect(
      blocks
        .map((block) => block.source)
        .join("")
        .trim(),
    ).toBe(escapeInvisible(source).trim());
  }
});

test("a link shows where it leads, and opens without telling where it was clicked", () => {
  const link = draw('[bank](https://evil.example/x "safe")').querySelector("a") as HTMLAnchorElement;
  expect(link.parentElement?.textContent).toBe("bank (https://evil.example/x)");
  expect([link.target, link.rel, link.title]).toEqual([
    "_blank",
    "noopener noreferrer",
    "safe\nhttps://evil.example/x",
  ]);
  expect(link.getAttribute("data-lm-suppress-shortcuts")).toBe("true");
});

test.each([
  ["HTTPS://Example.ORG", "https://example.org/"],
  ["https://example.org:8080/a b", ""],
  ["https://user@example.org/", ""],
  ["javascript:alert(1)", ""],
  ["mailto:a@example.org", "mailto:a@example.org"],
  ["https://example.org/\u00fc?\u202e", "https://example.org/%C3%BC?%E2%80%AE"],
  ["https://\u0430pple.example/", "https://xn--pple-43d.example/"],
])("the address %s is opened as %s", (written, address) => {
  expect(safeAddress(written)).toBe(address);
});

test("a text without markup is plain", () => {
  expect(isPlain(blocksOf("a\nb\n\nc"))).toBe(true);
  for (const source of ["**a**", "- a", "`a`", "# a", "    a", "$a$"]) expect(isPlain(blocksOf(source))).toBe(false);
});

test.each(["[", "![", "[](", "\\(", "> ", "- ", "|", "*a **b ", "`", "$", "<a@", "\n- a\n"])(
  "a hundred kilobytes of %j are drawn",
  (piece) => {
    const source = piece.repeat(MAX_MARKDOWN / piece.length);
    expect(blocksOf(source).length).toBeGreaterThan(0);
  },
);

test("a megabyte of brackets is shown as it was written", () => {
  const source = "[".repeat(1_000_000);
  expect(draw(source).textContent).toBe(source);
});
