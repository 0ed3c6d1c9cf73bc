/** JSON as values that open, in the same form in which the kernel describes Python values. */

import type { Json, OpenedValue, ValuePreview } from "../protocol";
import { isChat, readMessage } from "./chat";
import { isNumber, toJson } from "./exactNumber";
import { count, formatNumber } from "./format";
import type { OpenValue, Order } from "./valueTree";

const PAGE = 50;
/** The most characters of a preview, and of a text that is opened. */
const WIDTH = 100;
const MAX_TEXT = 100_000;
const MAX_COLUMNS = 30;

export function previewJson(value: Json): ValuePreview {
  if (isNumber(value)) return { text: toJson(value), kind: "scalar", size: 0 };
  if (typeof value === "string")
    return { text: `"${cut(value, WIDTH)}"`, kind: "text", size: value.length > WIDTH ? value.length : 0 };
  if (value === null || typeof value !== "object") return { text: String(value), kind: "scalar", size: 0 };
  const members = membersOf(value);
  const isList = Array.isArray(value);
  if (isChat(value)) return { text: count(members.length, "message"), kind: "chat", size: members.length };
  return { text: containerText(value, members), kind: isList ? "list" : "fields", size: members.length };
}

/** Return a function that opens what is inside a value. */
export function openJson(root: Json): OpenValue {
  return (path, first, order) => {
    const value = path.reduce((at: Json, index) => membersOf(at)[index]?.[1] ?? null, root);
    if (typeof value === "string") return { total: value.length, first: 0, members: [], text: cut(value, MAX_TEXT) };
    const header = headerOf(value);
    if (header && !isChat(value)) return table(value as { [name: string]: Json }[], header, first, order);
    const members = membersOf(value);
    const page = members.slice(first, first + PAGE);
    const opened: OpenedValue = {
      total: members.length,
      first,
      members: page.map(([name, member]) => [name, previewJson(member)]),
    };
    return isChat(value) ? { ...opened, messages: page.map(([, message]) => readMessage(message)) } : opened;
  };
}

function membersOf(value: Json): [string, Json][] {
  if (value === null || typeof value !== "object") return [];
  return Array.isArray(value) ? value.map((item, index) => [String(index), item]) : Object.entries(value);
}

/** Return the columns of at least two records, of which each shares a key with those before it. */
function headerOf(value: Json): string[] | null {
  if (!Array.isArray(value) || value.length < 2) return null;
  const names = new Set<string>();
  for (const record of value.slice(0, PAGE)) {
    const keys = record && typeof record === "object" && !Array.isArray(record) ? Object.keys(record) : [];
    if (!keys.length || (names.size && !keys.some((key) => names.has(key)))) return null;
    for (const key of keys) names.add(key);
  }
  return names.size <= MAX_COLUMNS ? [...names] : null;
}

function table(records: { [name: string]: Json }[], header: string[], first: number, order?: Order): OpenedValue {
  const numbered = records.map((record, number) => ({ record, number }));
  const cell = (record: unknown, name: string): Json | undefined =>
    record !== null && typeof record === "object" && Object.hasOwn(record, name)
      ? (record as { [name: string]: Json })[name]
      : undefined;
  if (order) {
    const name = header[order[0]] ?? "";
    numbered.sort((a, b) => compare(cell(a.record, name), cell(b.record, name)) * (order[1] ? -1 : 1));
    numbered.sort((a, b) => +(cell(a.record, name) == null) - +(cell(b.record, name) == null)); // in both directions
  }
  const text = (value: Json | undefined): string =>
    value === undefined
      ? ""
      : typeof value === "string" && !isNumber(value)
        ? cut(value, WIDTH)
        : previewJson(value).text;
  return {
    total: records.length,
    first,
    members: [],
    header,
    rows: numbered
      .slice(first, first + PAGE)
      .map(({ record, number }) => [number, header.map((name) => text(cell(record, name)))]),
  };
}

/** Compare numbers as numbers and everything else by its text. */
function compare(a: Json | undefined, b: Json | undefined): number {
  const rank = (value: Json | undefined): number => (isNumber(value) ? 0 : 1);
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (isNumber(a) && isNumber(b)) return Number(toJson(a)) - Number(toJson(b));
  const [one, other] = [a, b].map((value) => (typeof value === "string" ? value : JSON.stringify(value ?? "")));
  return (one ?? "") < (other ?? "") ? -1 : one === other ? 0 : 1;
}

function containerText(value: Json, members: [string, Json][]): string {
  const isList = Array.isArray(value);
  if (!members.length) return isList ? "[]" : "{}";
  if (headerOf(value)) return count(members.length, "record");
  const pieces: string[] = [];
  let length = 0;
  for (const [name, member] of members.slice(0, 8)) {
    const piece = isList ? brief(member) : `${cut(name, 30)}: ${brief(member)}`;
    length += piece.length;
    if (pieces.length && length > 0.8 * WIDTH) break;
    pieces.push(piece);
  }
  const more = members.length - pieces.length;
  const body = pieces.join(", ") + (more ? `, … ${formatNumber(more)} more` : "");
  return isList ? `[${body}]` : `{${body}}`;
}

function brief(value: Json): string {
  if (isNumber(value)) return toJson(value);
  if (typeof value === "string") return `"${cut(value, 30)}"`;
  if (Array.isArray(value)) return value.length ? `[${count(value.length, "item")}]` : "[]";
  if (value === null || typeof value !== "object") return String(value);
  const size = Object.keys(value).length;
  return size ? `{${count(size, "field")}}` : "{}";
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}
