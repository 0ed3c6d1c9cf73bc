/** The fields of a form for the arguments of a call: which there are, and what was entered in them. */

import { exactNumber, fromJson, isNumber, toJson } from "../elements/exactNumber";
import { jsonProblem } from "../elements/jsonProblem";
import type { Json, JsonObject } from "../protocol";

type FieldType = "text" | "number" | "integer" | "boolean" | "choice" | "lines" | "object" | "json";

export interface ArgumentField {
  name: string;
  type: FieldType;
  choices: Json[];
  required: boolean;
  description: string;
  /** The schema of the value. */
  schema: JsonObject;
}

/** The text of each field that was changed. */
export type Draft = { [field: string]: string };

/** The name in a draft of the single field that holds all arguments as JSON. */
export const ALL_AS_JSON = "{}";

/** Return a field for each property of the schema, for each given argument, and for each that was added as JSON. */
export function argumentFields(schema: JsonObject | undefined, values: JsonObject, draft: Draft = {}): ArgumentField[] {
  const properties = isObject(schema?.properties) ? schema.properties : {};
  const required = (schema?.required ?? []) as string[];
  const added = Object.keys(draft).filter((name) => name !== ALL_AS_JSON);
  const names = [...new Set([...Object.keys(properties), ...Object.keys(values), ...added])];
  return names.map((name) => {
    const property = (own(properties, name) ?? {}) as JsonObject;
    const choices = Array.isArray(property.enum) ? property.enum : [];
    return {
      name,
      type: fieldType(property, choices, own(values, name)),
      choices,
      required: required.includes(name),
      description: typeof property.description === "string" ? property.description : "",
      schema: property,
    };
  });
}

/** Return what an object has under a name; an argument may have the name of what every object inherits. */
export function own<Value>(values: { [name: string]: Value }, name: string): Value | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

function typeOf(value: Json): string {
  return isNumber(value) ? "number" : typeof value;
}

function fieldType(property: JsonObject, choices: Json[], value: Json | undefined): FieldType {
  if (choices.length) return "choice";
  if (property.type === "array" && areLines(property, value)) return "lines";
  if (property.type === "object" && property.properties && isObject(value ?? {})) return "object";
  const type = property.type ?? (value === undefined ? "json" : typeOf(value));
  const fits = value === undefined || value === null || typeOf(value) === (type === "integer" ? "number" : type);
  if (!fits) return "json"; // the value contradicts the schema, and must be shown as it is
  if (type === "string") return "text";
  return type === "number" || type === "integer" || type === "boolean" ? type : "json";
}

/** Return whether a list can be edited with a line for each item: its items are numbers, or texts of one line. */
function areLines({ items }: JsonObject, value: Json | undefined): boolean {
  const type = isObject(items) ? items.type : undefined;
  if (type !== "string" && type !== "number" && type !== "integer") return false;
  if (value === undefined) return true;
  const fits = (item: Json): boolean =>
    type === "string" ? typeOf(item) === "string" && item !== "" && !String(item).includes("\n") : isNumber(item);
  return Array.isArray(value) && value.every(fits);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Return the text that a field shows for a value; that of an object is the draft of a form of its own. */
export function fieldText(field: ArgumentField, value: Json | undefined): string {
  const { type } = field;
  if (value === undefined) return "";
  if (type === "lines" && Array.isArray(value))
    return value.map((item) => (typeOf(item) === "string" ? item : toJson(item))).join("\n");
  if (type === "object" && isObject(value)) return JSON.stringify(draftOf(argumentFields(field.schema, value), value));
  return type === "text" && typeof value === "string" ? value : toJson(value, type === "json" ? 2 : 0);
}

/** Return the draft in which every field shows its value. */
export function draftOf(fields: ArgumentField[], values: JsonObject): Draft {
  return Object.fromEntries(fields.map((field) => [field.name, fieldText(field, own(values, field.name))]));
}

/**
 * Return the arguments that a draft stands for, and what is wrong with its fields. A field that was not changed keeps
 * its value; an empty one that is not required leaves its argument out.
 */
export function readDraft(
  schema: JsonObject | undefined,
  values: JsonObject,
  draft: Draft,
): { value: JsonObject; problems: Draft } {
  const json = draft[ALL_AS_JSON];
  if (json !== undefined) {
    const { value, problem } = parse(json);
    const wrong = problem || (isObject(value) ? "" : "Arguments must be a JSON object: {…}");
    return wrong ? { value: values, problems: { [ALL_AS_JSON]: wrong } } : { value: value as JsonObject, problems: {} };
  }
  const read: [name: string, value: Json][] = [];
  const problems: [name: string, problem: string][] = [];
  for (const field of argumentFields(schema, values, draft)) {
    const { name, type, required } = field;
    const [text, before] = [own(draft, name), own(values, name)];
    if (text === undefined || text === fieldText(field, before)) {
      if (before !== undefined) read.push([name, before]);
    } else if (text !== "" || (type === "text" && (required || before !== undefined))) {
      const { value, problem } = fieldValue(field, before, text);
      read.push([name, value]);
      if (problem) problems.push([name, problem]);
    }
  }
  return { value: Object.fromEntries(read), problems: Object.fromEntries(problems) };
}

/** A value that was entered, and what is wrong with it, if anything is. */
interface Entered {
  value: Json;
  problem: string;
}

function fieldValue({ type, schema }: ArgumentField, before: Json | undefined, text: string): Entered {
  if (type === "text") return { value: text, problem: "" };
  if (type === "object") {
    const { value, problems } = readDraft(schema, isObject(before) ? before : {}, JSON.parse(text) as Draft);
    return { value, problem: Object.keys(problems).length ? "Some fields are not valid." : "" };
  }
  if (type !== "lines") return parse(text, type);
  const items = text.split("\n").filter((line) => line !== "");
  const itemType = isObject(schema.items) ? schema.items.type : "string";
  if (itemType === "string") return { value: items, problem: "" };
  const entered = items.map((line) => parse(line, itemType as FieldType));
  return {
    value: entered.map(({ value }) => value),
    problem: entered.find(({ problem }) => problem)?.problem ?? "",
  };
}

/**
 * Return the draft in which the arguments are JSON. The fields stay as they were, also those that are not valid, and
 * come back unless the JSON is changed.
 */
export function asJson(schema: JsonObject | undefined, values: JsonObject, draft: Draft): Draft {
  const { [ALL_AS_JSON]: _, ...fields } = draft;
  const { value, problems } = readDraft(schema, values, fields);
  const asTyped = Object.fromEntries(Object.keys(problems).map((name) => [name, own(fields, name) ?? null]));
  return { ...fields, [ALL_AS_JSON]: toJson({ ...value, ...asTyped }, 2) };
}

/** Return the draft in which the arguments are fields again; null while the JSON is not valid, so that none is lost. */
export function asForm(schema: JsonObject | undefined, values: JsonObject, draft: Draft): Draft | null {
  const { [ALL_AS_JSON]: json, ...fields } = draft;
  if (json === asJson(schema, values, fields)[ALL_AS_JSON]) return fields;
  const { value, problems } = readDraft(schema, values, draft);
  if (problems[ALL_AS_JSON]) return null;
  return draftOf(argumentFields(schema, { ...values, ...value }), value);
}

function parse(text: string, type: FieldType = "json"): Entered {
  try {
    const value = fromJson(text);
    const number = typeof value === "number" ? value : Number(exactNumber(value) || NaN);
    if (type === "integer" && !Number.isInteger(number)) return { value, problem: "Must be an integer." };
    if (type === "number" && !Number.isFinite(number)) return { value, problem: "Must be a number." };
    return { value, problem: "" };
  } catch {
    const isNumeric = type === "integer" || type === "number";
    return {
      value: null,
      problem: isNumeric ? "Must be a number." : jsonProblem(text) || "This is nested too deeply.",
    };
  }
}
