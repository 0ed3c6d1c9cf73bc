/** The messages of a request body, and which of them are new, changed or removed since the previous request. */

import { diff, words } from "../elements/diff";
import type { Json, JsonObject } from "../protocol";
import { callText } from "../state/entryText";

export type MessageState = "unchanged" | "new" | "changed" | "removed";

export interface MessageRow {
  state: MessageState;
  number: number;
  message: Json;
  /** The previous version of a changed message. */
  before?: Json;
}

/** Return the list of messages of a body; empty if there is none. */
export function messagesOf(body: JsonObject | null): Json[] {
  return Array.isArray(body?.messages) ? body.messages : [];
}

/** Compare two lists of messages, of which the first `same` are known to be equal. */
export function compareMessages(before: Json[], now: Json[], same: number): MessageRow[] {
  const rows: MessageRow[] = now.slice(0, same).map((message, number) => ({ state: "unchanged", number, message }));
  const texts = (list: Json[]): string[] => list.slice(same).map((message) => JSON.stringify(message));
  let inNow = same;
  let inBefore = same;
  let removed: MessageRow[] = [];
  for (const { op, items } of diff(texts(before), texts(now))) {
    for (const _ of items) {
      if (op === "-") {
        removed.push({ state: "removed", number: inBefore, message: before[inBefore] as Json });
        inBefore++;
        continue;
      }
      const message = now[inNow] as Json;
      const match = op === "+" ? removed.findIndex((row) => isVersionOf(row.message, message)) : -1;
      if (match >= 0) {
        const previous = removed[match]?.message as Json;
        rows.push(...removed.slice(0, match), { state: "changed", number: inNow, message, before: previous });
        removed = removed.slice(match + 1);
      } else {
        if (op === "=") rows.push(...removed.splice(0));
        rows.push({ state: op === "=" ? "unchanged" : "new", number: inNow, message });
      }
      inNow++;
      if (op === "=") inBefore++;
    }
  }
  return [...rows, ...removed];
}

/** Whether one message looks like a changed version of the other: the same role, and more than half of the words. */
function isVersionOf(a: Json, b: Json): boolean {
  const [before, now] = [readMessage(a), readMessage(b)];
  if (before.role !== now.role) return false;
  const known = new Set(words(before.text));
  const all = words(now.text).filter((word) => word.trim());
  return all.filter((word) => known.has(word)).length * 2 > all.length;
}

/** Return the role and the text of a message in any of the usual formats; anything else becomes JSON. */
export function readMessage(message: Json): { role: string; text: string } {
  if (!isObject(message)) return { role: "", text: contentText(message) };
  const { role, content, tool_calls: calls, name } = message;
  const parts = [contentText(content ?? "")];
  for (const call of Array.isArray(calls) ? calls : []) parts.push(toolCallText(call));
  return {
    role: [role, name].filter((word) => typeof word === "string" && word).join(" "),
    text: parts.filter(Boolean).join("\n"),
  };
}

function contentText(content: Json): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(contentText).join("\n");
  if (!isObject(content)) return JSON.stringify(content);
  if (typeof content.text === "string") return content.text;
  if (content.type === "tool_use") return toolCallText(content);
  if (content.type === "tool_result") return contentText(content.content ?? "");
  return JSON.stringify(content);
}

function toolCallText(call: Json): string {
  const inner = unwrapFunction(call);
  if (!inner) return JSON.stringify(call);
  return `→ ${callText({ name: inner.name, arguments: parseArguments(inner.arguments ?? inner.input ?? {}) })}`;
}

/** Return a tool or a call without the `function` wrapper of some formats; undefined if it has no name. */
export function unwrapFunction(value: Json): (JsonObject & { name: string }) | undefined {
  const inner = isObject(value) ? (value.function ?? value) : value;
  return isObject(inner) && typeof inner.name === "string" ? (inner as JsonObject & { name: string }) : undefined;
}

/** Some formats send the arguments of a call as a string of JSON. */
function parseArguments(value: Json): Json {
  try {
    return typeof value === "string" ? JSON.parse(value) : value;
  } catch {
    return value;
  }
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
