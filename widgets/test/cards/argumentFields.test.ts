import { expect, test } from "vitest";
import { argumentFields, readDraft } from "../../src/cards/argumentFields";
import type { JsonObject } from "../../src/protocol";

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
  expect(problems).toEqual({ days: "Must be an integer.", extra: "Not valid JSON." });
  expect(readDraft(schema, {}, { "{}": "[1]" }).problems).toEqual({
    "{}": "Arguments must be a JSON object: {…}",
  });
});
