import { expect, test } from "vitest";
import { argumentFields, asForm, asJson, draftOf, readDraft } from "../../src/cards/argumentFields";
import { exactNumber, fromJson, toJson } from "../../src/elements/exactNumber";
import { jsonProblem } from "../../src/elements/jsonProblem";
import { openJson, previewJson } from "../../src/elements/jsonValue";
import type { JsonObject } from "../../src/protocol";

const BIG = String(2n ** 60n);

test.each([
  ["1.0", "\ue0001.0"],
  [BIG, `\ue000${BIG}`],
  ["-0.0", "\ue000-0.0"],
  ["1e400", "\ue0001e400"],
  ["1e5", "\ue0001e5"],
  ["9007199254740991", 9007199254740991],
  ["0.1", 0.1],
  ["-17", -17],
])("the number %s stays as it was written", (source, value) => {
  expect(fromJson(source)).toBe(value);
  expect(toJson(fromJson(source))).toBe(source);
});

test.each([
  '{"a":[1.0,2,{"b":1E5}],"1.0":"1.0 and 2.0"}',
  '"\\"1.0\\\\"',
  '{"\ue0001.0":1}',
  '["\ue0001.0","\ue000\ue000","x\ue0001.0","\\"\ue0001.0"]',
  `[${BIG}${"0".repeat(5_000)}]`,
  '{"__proto__":{"x":1.0},"constructor":2.0}',
])("%s stays as it was written", (text) => {
  expect(toJson(fromJson(text))).toBe(text);
});

test("a text that looks like a marked number is none", () => {
  expect(exactNumber(fromJson('"\\ue0001.0"'))).toBe("");
  expect(() => fromJson("[1.0")).toThrow();
});

const SCHEMA: JsonObject = {
  properties: {
    ratio: { type: "number" },
    count: { type: "integer" },
    sizes: { type: "array", items: { type: "number" } },
    text: { type: "string" },
  },
};
const VALUES = fromJson(`{"ratio":1.0,"count":${BIG},"sizes":[1.0,2.5],"text":"a","more":[{"x":1.0}]}`) as JsonObject;

test("editing one argument keeps the numbers of the others", () => {
  expect(argumentFields(SCHEMA, VALUES).map(({ type }) => type)).toEqual([
    "number",
    "integer",
    "lines",
    "text",
    "json",
  ]);
  const draft = draftOf(argumentFields(SCHEMA, VALUES), VALUES);
  expect(draft).toMatchObject({ ratio: "1.0", count: BIG, sizes: "1.0\n2.5" });
  const json = asJson(SCHEMA, VALUES, { text: "b" })["{}"] as string;
  expect(JSON.parse(json).text).toBe("b");
  for (const part of ['"ratio": 1.0', `"count": ${BIG}`, '"x": 1.0']) expect(json).toContain(part);
  expect(asForm(SCHEMA, VALUES, { "{}": json.replace("2.5", "3.0") })?.sizes).toBe("1.0\n3.0");
  expect(readDraft(SCHEMA, VALUES, { ratio: "2.0", sizes: "3.0\n4" })).toEqual({
    value: { ...VALUES, ratio: "\ue0002.0", sizes: ["\ue0003.0", 4] },
    problems: {},
  });
  expect(readDraft(SCHEMA, VALUES, { ratio: "1e999", count: "1.5" }).problems).toEqual({
    ratio: "Must be a number.",
    count: "Must be an integer.",
  });
});

test("an argument may have the name of what every object inherits", () => {
  const values = JSON.parse('{"__proto__": {"x": 1}, "constructor": 2, "toString": "3"}') as JsonObject;
  for (const schema of [undefined, { properties: {} }]) {
    expect(argumentFields(schema, values).map(({ name, type }) => `${name} ${type}`)).toEqual([
      "__proto__ json",
      "constructor number",
      "toString text",
    ]);
    expect(JSON.stringify(readDraft(schema, values, {}).value)).toBe(JSON.stringify(values));
    const draft = JSON.parse('{"__proto__": "[", "toString": "4"}');
    const { value, problems } = readDraft(schema, values, draft);
    expect(Object.keys(problems)).toEqual(["__proto__"]);
    expect(value.toString).toBe("4");
  }
  expect(previewJson(values).text).toBe('{__proto__: {1 field}, constructor: 2, toString: "3"}');
});

test("of two keys with the same name, the last one counts, as in Python", () => {
  expect(readDraft(undefined, {}, { "{}": '{"a": 1, "a": 2.0}' }).value).toEqual({ a: "\ue0002.0" });
});

test("hostile JSON neither breaks nor delays the editor", () => {
  const deep = `{"a": ${"[".repeat(10_000)}${"]".repeat(10_000)}}`;
  for (const text of [
    deep,
    `{"a": "${"x\\n".repeat(300_000)}"}`,
    `[${"1.0,".repeat(250_000)}1]`,
    "[".repeat(100_000),
  ]) {
    expect(Object.keys(readDraft(undefined, {}, { "{}": text }))).toEqual(["value", "problems"]);
    expect(asForm(undefined, {}, { "{}": `{"a": ${text}` })).toBeNull();
    expect(jsonProblem(`${text}}`)).not.toBe("");
  }
  expect(readDraft(undefined, {}, { "{}": deep }).problems).toEqual({ "{}": "This is nested too deeply." });
  expect(previewJson(JSON.parse(deep)).text).toBe("{a: [1 item]}");
  expect(openJson(JSON.parse(deep))([0, 0, 0], 0)).toMatchObject({ total: 1 });
});
