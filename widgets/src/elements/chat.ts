/** Messages of a chat, in the usual formats of JSON. */

import type { ChatMessage, Json, JsonObject } from "../protocol";
import { toJson } from "./exactNumber";

const ROLES = ["system", "developer", "user", "assistant", "tool"];

/** Return whether a list is a chat: messages with one of the usual roles and a content. */
export function isChat(value: Json): boolean {
  const isMessage = (item: Json): boolean =>
    isObject(item) && ROLES.includes(String(item.role)) && ("content" in item || "tool_calls" in item);
  return Array.isArray(value) && value.length > 0 && value.every(isMessage);
}

/** Return what a reader sees of a message; what has no known form becomes JSON. */
export function readMessage(message: Json): ChatMessage {
  if (!isObject(message)) return { role: "", text: contentText(message), calls: [] };
  const { role, content, tool_calls: calls, name, ...more } = message;
  const parts = Array.isArray(content) ? content : [content ?? ""];
  const isCall = (part: Json): boolean => isObject(part) && part.type === "tool_use";
  return {
    role: [role, name].filter((word) => typeof word === "string" && word).join(" "),
    text: parts
      .filter((part) => !isCall(part))
      .map(contentText)
      .filter(Boolean)
      .join("\n"),
    calls: [...parts.filter(isCall), ...(Array.isArray(calls) ? calls : [])].map(toolCallText),
    more: Object.keys(more).length > 0,
  };
}

/** Return a message as one text. */
export function messageText({ text, calls }: ChatMessage): string {
  return [text, ...calls.map((call) => `→ ${call}`)].filter(Boolean).join("\n");
}

function contentText(content: Json): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(contentText).join("\n");
  if (!isObject(content)) return JSON.stringify(content);
  if (typeof content.text === "string") return content.text;
  if (content.type === "tool_use") return `→ ${toolCallText(content)}`;
  if (content.type === "tool_result") return contentText(content.content ?? "");
  return JSON.stringify(content);
}

function toolCallText(call: Json): string {
  const inner = unwrapFunction(call);
  if (!inner) return JSON.stringify(call);
  return callText({ name: inner.name, arguments: parseArguments(inner.arguments ?? inner.input ?? {}) });
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

/** Return a call in Python's notation. */
export function callText(call: { name: string; arguments: Json }): string {
  const { name, arguments: value } = call;
  if (!value || typeof value !== "object" || Array.isArray(value)) return `${name}(${toJson(value)})`;
  const fields = Object.entries(value).map(([key, field]) => `${key}=${toJson(field)}`);
  return `${name}(${fields.join(", ")})`;
}
