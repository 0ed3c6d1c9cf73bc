import { render } from "@testing-library/preact";
import { h } from "preact";
import { expect, test } from "vitest";
import { Code } from "../../src/elements/code";
import { tokenizeLines } from "../../src/elements/codeTokens";

function kinds(source: string): string[] {
  return tokenizeLines(source)
    .flat()
    .filter(([kind]) => kind)
    .map(([kind, text]) => `${kind} ${text}`);
}

test("keywords, strings, numbers and comments are recognized", () => {
  expect(kinds('def f(x):  # once\n    return rb"a\\"b" if x else 12.5e3')).toEqual([
    "keyword def",
    "comment # once",
    "keyword return",
    'string rb"a\\"b"',
    "keyword if",
    "keyword else",
    "number 12.5e3",
  ]);
});

test("there are no keywords within names, and no comments within strings", () => {
  expect(kinds('iffy = "# not a comment"; definite = 1')).toEqual(['string "# not a comment"', "number 1"]);
});

test("a triple-quoted string spans lines, and an unterminated one ends with its line", () => {
  expect(tokenizeLines('"""a\nb"""\n"open\nreturn')).toEqual([
    [["string", '"""a']],
    [["string", 'b"""']],
    [["string", '"open']],
    [["keyword", "return"]],
  ]);
});

test.each([
  ["a source", "class A:\n\tx = f\"{1:>3}\" + '''t\n'''\r\n@dec\nasync def g(): ...\n"],
  ["text that is not Python", "<script>\u0000'\\\n\"\"\" ''' é 東 🐍"],
])("%s keeps every character", (_, source) => {
  expect(
    tokenizeLines(source)
      .map((line) => line.map(([, text]) => text).join(""))
      .join("\n"),
  ).toBe(source);
});

test.each(['"', '"""', "'\\", "rb", "'''\\", "\\"])(
  "a hundred thousand of %s are read in linear time (or this test would time out)",
  (piece) => {
    const all = tokenizeLines(piece.repeat(100_000)).flat();
    expect(all.reduce((length, [, text]) => length + text.length, 0)).toBe(piece.length * 100_000);
  },
);

test.each([
  ["json", '{"done": [true, 1.5]}', ['string "done"', "keyword true", "number 1.5"]],
  ["python", "done = None  # yet", ["keyword None", "comment # yet"]],
  [
    "bash",
    'for x in "$@"; do ls; done # all',
    ["keyword for", "keyword in", 'string "$@"', "keyword do", "keyword done", "comment # all"],
  ],
  ["text", "for x in 1", []],
  ["", "for x in 1", []],
])("code in %s has plain colours", (language, text, expected) => {
  const { container } = render(h(Code, { text, language }));
  expect(container.textContent).toBe(text);
  const spans = [...container.querySelectorAll("span")];
  expect(spans.map((span) => `${span.className.replace("ak-", "")} ${span.textContent?.trim()}`)).toEqual(expected);
});
