/** The fields of a form for the arguments of a call: which there are, and what was entered in them. */

import type { Json, JsonObject } from "../protocol";

type FieldType = "text" | "number" | "integer" | "boolean" | "choice" | "json";

export interface ArgumentField {
  name: string;
  type: FieldType;
  choices: Json[];
  required: boolean;
  description: string;
}

/** The text of each field that was changed. */
export type Draft = { [field: string]: string };

/** The name in a draft of the single field that holds all arguments as JSON. */
export const ALL_AS_JSON = "{}";

/** Return a field for each property of the schema and for each given argument. */
export function argumentFields(schema: JsonObject | undefined, values: JsonObject): ArgumentField[] {
  const properties = (schema?.properties ?? {}) as { [name: string]: JsonObject };
  const required = (schema?.required ?? []) as string[];
  const names = [...new Set([...Object.keys(properties), ...Object.keys(values)])];
  return names.map((name) => {
    const property = properties[name] ?? {};
    const choices = Array.isArray(property.enum) ? property.enum : [];
    return {
      name,
      type: fieldType(property, choices, values[name]),
      choices,
      required: required.includes(name),
      description: typeof property.description === "string" ? property.description : "",
    };
  });
}

function fieldType(property: JsonObject, choices: Json[], value: Json | undefined): FieldType {
  if (choices.length) return "choice";
  const type = property.type ?? (value === undefined ? "json" : typeof value);
  const fits = value === undefined || value === null || typeof value === (type === "integer" ? "number" : type);
  if (!fits) return "json"; // the value contradicts the schema, and must be shown as it is
  if (type === "string") return "text";
  return type === "number" || type === "integer" || type === "boolean" ? type : "json";
}

/** Return the text that a field shows for a value. */
export function fieldText({ type }: ArgumentField, value: Json | undefined): string {
  if (value === undefined) return "";
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
  for (const field of argumentFields(schema, values)) {
    const text = draft[field.name];
    const before = values[field.name];
    if (text === undefined || text === fieldText(field, before)) {
      if (before !== undefined) value[field.name] = before;
    } else if (text !== "" || (field.type === "text" && (field.required || before !== undefined))) {
      value[field.name] = field.type === "text" ? text : parse(text, field.name, problems, field.type);
    }
  }
  return { value, problems };
}

function parse(text: string, name: string, problems: Draft, type: FieldType = "json"): Json {
  try {
    const value = JSON.parse(text) as Json;
    if (type === "integer" && !Number.isInteger(value)) problems[name] = "Must be an integer.";
    if (type === "number" && typeof value !== "number") problems[name] = "Must be a number.";
    return value;
  } catch {
    problems[name] = type === "integer" || type === "number" ? "Must be a number." : "Not valid JSON.";
    return null;
  }
}
