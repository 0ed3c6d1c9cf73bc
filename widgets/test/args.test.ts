import { expect, test } from "vitest";
import { asked, written } from "../src/cards/args";
import type { Json } from "../src/protocol";

const schema: { [name: string]: Json } = {
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

test("each argument is asked for by what the schema says it is", () => {
  expect(asked(schema, {}).map(({ name, kind }) => `${name} ${kind}`)).toEqual([
    "city text",
    "days integer",
    "unit choice",
    "deep boolean",
    "extra json",
  ]);
});

test("what the model gave against the schema is shown as it is", () => {
  expect(asked(schema, { days: "three" })[1]?.kind).toBe("json");
});

test("without a schema the values say what they are", () => {
  expect(asked(undefined, { a: "x", b: 1, c: true, d: [1] }).map(({ kind }) => kind)).toEqual([
    "text",
    "number",
    "boolean",
    "json",
  ]);
});

test("what was not touched stays as it was, to the type", () => {
  const given = { city: "Bern", days: 2, other: { deep: [1, null] } };
  expect(written(schema, given, {})).toEqual({ value: given, problems: {} });
});

test("an emptied optional argument is left out, an emptied text is an empty text", () => {
  expect(written(schema, { city: "Bern", days: 2 }, { days: "", city: "" }).value).toEqual({ city: "" });
});

test("what cannot be read is said at its field", () => {
  const { problems } = written(schema, { city: "Bern" }, { days: "2.5", extra: "{" });
  expect(problems).toEqual({ days: "This is no whole number.", extra: "This is no JSON." });
  expect(written(schema, {}, { "{}": "[1]" }).problems).toEqual({ "{}": "Arguments are a JSON object: {…}" });
});
