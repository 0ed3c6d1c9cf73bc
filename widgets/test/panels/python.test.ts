import { expect, test } from "vitest";
import { lines } from "../../src/panels/python";

function kinds(source: string): string[] {
  return lines(source)
    .flat()
    .filter(([kind]) => kind)
    .map(([kind, text]) => `${kind} ${text}`);
}

test("keywords, strings, numbers and comments are told apart", () => {
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

test("a keyword within a name is none, nor is a comment within a string", () => {
  expect(kinds('iffy = "# not a comment"; definite = 1')).toEqual(['string "# not a comment"', "number 1"]);
});

test("a string goes on over lines, and one that never ends stops with its line", () => {
  expect(lines('"""a\nb"""\n"open\nreturn')).toEqual([
    [["string", '"""a']],
    [["string", 'b"""']],
    [["string", '"open']],
    [["keyword", "return"]],
  ]);
});

test.each([
  ["a source", "class A:\n\tx = f\"{1:>3}\" + '''t\n'''\r\n@dec\nasync def g(): ...\n"],
  ["what is no Python", "<script>\u0000'\\\n\"\"\" ''' é 東 🐍"],
])("%s keeps every character", (_, source) => {
  expect(
    lines(source)
      .map((line) => line.map(([, text]) => text).join(""))
      .join("\n"),
  ).toBe(source);
});

test.each(['"', '"""', "'\\", "rb", "'''\\", "\\"])(
  "a hundred thousand of %s are read in linear time, or this test would not end",
  (piece) => {
    const all = lines(piece.repeat(100_000)).flat();
    expect(all.reduce((length, [, text]) => length + text.length, 0)).toBe(piece.length * 100_000);
  },
);
