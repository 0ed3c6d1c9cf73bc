import { expect, test } from "vitest";
import { jsonProblem } from "../../src/elements/jsonProblem";

test.each([
  ['{"a": [1, 2.5e3, "x", true, null, {}]}', ""],
  ["", "Nothing was entered: a JSON value is expected."],
  ['{"a": 1', "The text ends, but a { is not closed."],
  ['{"a": [1, 2}', "Line 1, character 12: this } closes nothing."],
  ['{\n  "a": 1\n  "b": 2\n}', "Line 3, character 3: a comma or a } is expected."],
  ['{"a": 1,}', "Line 1, character 9: a name in double quotes is expected, not }; is there a comma too many?"],
  ["[1,]", "Line 1, character 4: a value is expected, not ]; is there a comma too many?"],
  ["{a: 1}", "Line 1, character 2: a is not JSON; strings are written in double quotes."],
  ["{'a': 1}", "Line 1, character 2: strings are written in double quotes."],
  ['{"a" 1}', "Line 1, character 6: a colon is expected after the name."],
  ['{"a": }', "Line 1, character 7: a value is expected, not }; is there a comma too many?"],
  ["[True]", "Line 1, character 2: JSON writes true, not True."],
  ['["a\nb"]', "Line 1, character 2: this string is not closed on its line, or has an escape that JSON does not know."],
  ["1 2", "Line 1, character 3: the value has ended, but more text follows."],
  ["01", "Line 1, character 1: 01 is not JSON; strings are written in double quotes."],
])("%j: %s", (text, problem) => {
  expect(jsonProblem(text)).toBe(problem);
});

test("whatever the browser refuses is refused in words, and nothing else", () => {
  const pieces = ["{", "}", "[", "]", ",", ":", '"a"', "1", "-", "true", "nul", '"', "\\", " ", "\n", "'"];
  let state = 7;
  const next = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
  for (let count = 0; count < 5_000; count++) {
    const text = Array.from({ length: 1 + next() * 9 }, () => pieces[Math.floor(next() * pieces.length)]).join("");
    let isJson = true;
    try {
      JSON.parse(text);
    } catch {
      isJson = false;
    }
    expect(jsonProblem(text) === "", text).toBe(isJson);
    expect(jsonProblem(text)).not.toContain("undefined");
  }
});
