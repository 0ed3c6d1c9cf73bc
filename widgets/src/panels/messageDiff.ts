/** The messages of a request body, and which of them are new, changed or removed since the previous request. */

import { messageText, readMessage } from "../elements/chat";
import { diff, words } from "../elements/diff";
import type { Json, JsonObject } from "../protocol";

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
  const known = new Set(words(messageText(before)));
  const all = words(messageText(now)).filter((word) => word.trim());
  return all.filter((word) => known.has(word)).length * 2 > all.length;
}
