/**
 * Numbers that JavaScript would change, such as 1.0 and 2**60: in the arguments of a call, which a person may edit, they
 * are texts with a mark. The same rules as in agentkit/view/numbers.py.
 */

import type { Json } from "../protocol";

const MARK = "\ue000";
const STRING = /"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?/g;
const TOKEN = new RegExp(`${STRING.source}|-?\\d[\\d.eE+-]*|[[\\]{}]`, "g");
/** A browser cannot write much deeper JSON, and the kernel accepts no deeper one. */
const MAX_DEPTH = 100;

/** Return the text of a marked number; "" if the value is anything else. */
export function exactNumber(value: Json | undefined): string {
  return typeof value === "string" && value[0] === MARK && value[1] !== MARK ? value.slice(1) : "";
}

export function isNumber(value: Json | undefined): boolean {
  return typeof value === "number" || exactNumber(value) !== "";
}

/** Return a value as JSON, its numbers as they were written. */
export function toJson(value: Json | undefined, indent = 0): string {
  return (JSON.stringify(value, null, indent) ?? "").replace(STRING, (found, inside: string, isKey?: string) => {
    if (isKey || inside[0] !== MARK) return found;
    return inside[1] === MARK ? `"${inside.slice(1)}"` : inside.slice(1);
  });
}

/**
 * Return the value of JSON, with the numbers marked that JavaScript would change. Throws if it is not JSON, or nested
 * too deeply.
 */
export function fromJson(text: string): Json {
  JSON.parse(text);
  let depth = 0;
  const marked = text.replace(TOKEN, (found, inside?: string, isKey?: string) => {
    if ("[{".includes(found) && ++depth > MAX_DEPTH) throw new RangeError("nested too deeply");
    if ("]}".includes(found)) depth--;
    if ("[]{}".includes(found)) return found;
    if (inside === undefined) return isExact(found) ? found : `"${MARK}${found}"`;
    return !isKey && /^(\ue000|\\ue000)/i.test(inside) ? `"${MARK}${inside}"` : found;
  });
  return JSON.parse(marked) as Json;
}

function isExact(source: string): boolean {
  const number = Number(source);
  return Number.isInteger(number) ? String(number) === source && Number.isSafeInteger(number) : Number.isFinite(number);
}
