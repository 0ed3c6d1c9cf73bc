/** The fields of a form for the arguments of a call: which there are, and what was entered in them. */

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
  const properties = (schema?.properties ?? {}) as { [name: string]: JsonObject };
  const required = (schema?.required ?? []) as string[];
  const added = Object.keys(draft).filter((name) => name !== ALL_AS_JSON);
  const names = [...new Set([...Object.keys(properties), ...Object.keys(values), ...added])];
  return names.map((name) => {
    const property = properties[name] ?? {};
    const choices = Array.isArray(property.enum) ? property.enum : [];
    return {
      name,
      type: fieldType(property, choices, values[name]),
      choices,
      required: required.includes(name),
      description: typeof property.description === "string" ? property.description : "",
      schema: property,
    };
  });
}

function fieldType(property: JsonObject, choices: Json[], value: Json | undefined): FieldType {
  if (choices.length) return "choice";
  if (property.type === "array" && areLines(property, value)) return "lines";
  if (property.type === "object" && property.properties && isObject(value ?? {})) return "object";
  const type = property.type ?? (value === undefined ? "json" : typeof value);
  const fits = value === undefined || value === null || typeof value === (type === "integer" ? "number" : type);
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
    type === "string" ? typeof item === "string" && item !== "" && !item.includes("\n") : typeof item === "number";
  return Array.isArray(value) && value.every(fits);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Return the text that a field shows for a value; that of an object is the draft of a form of its own. */
export function fieldText(field: ArgumentField, value: Json | undefined): string {
  const { type } = field;
  if (value === undefined) return "";
  if (type === "lines" && Array.isArray(value)) return value.join("\n");
  if (type === "object" && isObject(value)) return JSON.stringify(draftOf(argumentFields(field.schema, value), value));
  return type === "text" && typeof value === "string" ? value : JSON.stringify(value, null, type === "json" ? 2 : 0);
}

/** Return the draft in which every field shows its value. */
export function draftOf(fields: ArgumentField[], values: JsonObject): Draft {
  return Object.fromEntries(fields.map((field) => [field.name, fieldText(field, values[field.name])]));
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
  const problems: Draft = {};
  const json = draft[ALL_AS_JSON];
  if (json !== undefined) {
    const value = parse(json, ALL_AS_JSON, problems);
    if (!problems[ALL_AS_JSON] && (typeof value !== "object" || value === null || Array.isArray(value)))
      problems[ALL_AS_JSON] = "Arguments must be a JSON object: {…}";
    return { value: problems[ALL_AS_JSON] ? values : (value as JsonObject), problems };
  }
  const value: JsonObject = {};
  for (const field of argumentFields(schema, values, draft)) {
    const text = draft[field.name];
    const before = values[field.name];
    if (text === undefined || text === fieldText(field, before)) {
      if (before !== undefined) value[field.name] = before;
    } else if (text !== "" || (field.type === "text" && (field.required || before !== undefined))) {
      value[field.name] = fieldValue(field, before, text, problems);
    }
  }
  return { value, problems };
}

function fieldValue(field: ArgumentField, before: Json | undefined, text: string, problems: Draft): Json {
  const { name, type, schema } = field;
  if (type === "text") return text;
  if (type === "object") {
    const inside = readDraft(schema, isObject(before) ? before : {}, JSON.parse(text) as Draft);
    if (Object.keys(inside.problems).length) problems[name] = "Some fields are not valid.";
    return inside.value;
  }
  if (type !== "lines") return parse(text, name, problems, type);
  const items = text.split("\n").filter((line) => line !== "");
  const itemType = isObject(schema.items) ? schema.items.type : "string";
  return itemType === "string" ? items : items.map((line) => parse(line, name, problems, itemType as FieldType));
}

/**
 * Return the draft in which the arguments are JSON. The fields stay as they were, also those that are not valid, and
 * come back unless the JSON is changed.
 */
export function asJson(schema: JsonObject | undefined, values: JsonObject, draft: Draft): Draft {
  const { [ALL_AS_JSON]: _, ...fields } = draft;
  const { value, problems } = readDraft(schema, values, fields);
  for (const name of Object.keys(problems)) value[name] = fields[name] ?? null; // as it was typed
  return { ...fields, [ALL_AS_JSON]: JSON.stringify(value, null, 2) };
}

/** Return the draft in which the arguments are fields again; null while the JSON is not valid, so that none is lost. */
export function asForm(schema: JsonObject | undefined, values: JsonObject, draft: Draft): Draft | null {
  const { [ALL_AS_JSON]: json, ...fields } = draft;
  if (json === asJson(schema, values, fields)[ALL_AS_JSON]) return fields;
  const { value, problems } = readDraft(schema, values, draft);
  if (problems[ALL_AS_JSON]) return null;
  return draftOf(argumentFields(schema, { ...values, ...value }), value);
}

function parse(text: string, name: string, problems: Draft, type: FieldType = "json"): Json {
  try {
    const value = JSON.parse(text) as Json;
    if (type === "integer" && !Number.isInteger(value)) problems[name] = "Must be an integer.";
    if (type === "number" && typeof value !== "number") problems[name] = "Must be a number.";
    return value;
  } catch {
    problems[name] = type === "integer" || type === "number" ? "Must be a number." : jsonProblem(text);
    return null;
  }
}
