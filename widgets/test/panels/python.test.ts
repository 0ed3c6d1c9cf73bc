import { expect, test } from "vitest";
import { tokenizeLines } from "../../src/panels/python";

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
