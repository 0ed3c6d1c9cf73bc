/** Entries as plain text: for the clipboard, for comparisons, and for headings. */

import { callText } from "../elements/chat";
import type { Card } from "../protocol";

const KINDS = { begin: "task", think: "thought", act: "tool call", ask: "question", conclude: "conclusion" } as const;

/** Return what an entry is, in a word or two. */
export function entryTitle(card: Card): string {
  if (card.kind === "act") return `${card.call.name}${card.ok ? "" : ", failed"}`;
  return card.kind === "think" && card.title ? card.title : KINDS[card.kind];
}

/** Return the content of an entry as one text. */
export function entryText(card: Card): string {
  if (card.kind === "begin") return card.messages.map(({ text }) => text).join("\n");
  if (card.kind === "think")
    return [card.text || (card.answer ?? ""), ...card.calls.map(callText)].filter(Boolean).join("\n");
  if (card.kind === "act") return `${callText(card.call)}\n→ ${card.text}`;
  return card.kind === "ask" ? `${card.question}\n→ ${card.text}` : card.answer;
}
