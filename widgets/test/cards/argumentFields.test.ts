import { expect, test } from "vitest";
import { argumentFields, asForm, asJson, type Draft, draftOf, readDraft } from "../../src/cards/argumentFields";
import type { Json, JsonObject } from "../../src/protocol";

const schema: JsonObject = {
  type: "object",
  required: ["city"],
  properties: {
    city: { type: "string" },
    days: { type: "integer", default: 1 },
    unit: { enum: ["C", "F"] },
    deep: { type: "boolean" },
    extra: { type: "object" },
  },
};

test("the schema determines the type of each field", () => {
  expect(argumentFields(schema, {}).map(({ name, type }) => `${name} ${type}`)).toEqual([
    "city text",
    "days integer",
    "unit choice",
    "deep boolean",
    "extra json",
  ]);
});

test("a value that contradicts the schema is shown as it is", () => {
  expect(argumentFields(schema, { days: "three" })[1]?.type).toBe("json");
});

test("without a schema the values determine the types", () => {
  expect(argumentFields(undefined, { a: "x", b: 1, c: true, d: [1] }).map(({ type }) => type)).toEqual([
    "text",
    "number",
    "boolean",
    "json",
  ]);
});

test("unchanged fields keep their values and types", () => {
  const values = { city: "Bern", days: 2, other: { deep: [1, null] } };
  expect(readDraft(schema, values, {})).toEqual({ value: values, problems: {} });
});

test("an optional argument that was emptied is left out, and an emptied text is an empty string", () => {
  expect(readDraft(schema, { city: "Bern", days: 2 }, { days: "", city: "" }).value).toEqual({ city: "" });
});

test("each invalid field has its own message", () => {
  const { problems } = readDraft(schema, { city: "Bern" }, { days: "2.5", extra: "{" });
  expect(problems).toEqual({ days: "Must be an integer.", extra: "The text ends, but a { is not closed." });
  expect(readDraft(schema, {}, { "{}": "[1]" }).problems).toEqual({
    "{}": "Arguments must be a JSON object: {…}",
  });
});

const NESTED: JsonObject = {
  properties: {
    tags: { type: "array", items: { type: "string" } },
    sizes: { type: "array", items: { type: "integer" } },
    options: { type: "object", properties: { depth: { type: "integer" }, name: { type: "string" } } },
    any: { type: "array", items: { type: "object" } },
  },
};

test("simple lists and nested objects have fields of their own, and everything else is JSON", () => {
  const values = { tags: ["a", "b"], sizes: [1, 2], options: { depth: 1 }, any: [{ x: 1 }] };
  const fields = argumentFields(NESTED, values);
  expect(fields.map(({ type }) => type)).toEqual(["lines", "lines", "object", "json"]);
  expect(readDraft(NESTED, values, draftOf(fields, values)).value).toEqual(values);
  const draft = { tags: "a\nc", sizes: "3\n4\n", options: JSON.stringify({ depth: "2", name: "n" }) };
  expect(readDraft(NESTED, values, draft)).toEqual({
    value: { tags: ["a", "c"], sizes: [3, 4], options: { depth: 2, name: "n" }, any: [{ x: 1 }] },
    problems: {},
  });
  expect(argumentFields(NESTED, { tags: ["a\nb"], options: [] as Json[] }).map(({ type }) => type)).toEqual([
    "json",
    "lines",
    "json",
    "json",
  ]);
});

test("nothing that was typed is lost between the form and the JSON", () => {
  const values = { sizes: [1], tags: ["a"] };
  const draft = { sizes: "1\nx", tags: "b" };
  const json = asJson(NESTED, values, draft);
  expect(JSON.parse(json["{}"] as string)).toEqual({ sizes: "1\nx", tags: ["b"] });
  expect(asForm(NESTED, values, json)).toEqual(draft);
  expect(asForm(NESTED, values, { ...json, "{}": '{"sizes": [2' })).toBeNull();
  const form = asForm(NESTED, values, { ...json, "{}": '{"sizes": [2], "added": {"x": 1}}' }) as Draft;
  expect(readDraft(NESTED, values, form).value).toMatchObject({ sizes: [2], added: { x: 1 } });
});
