/** Announcements for screen readers: what has happened since the last one, at most every 1.5 seconds. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Card } from "../protocol";
import { statusOf } from "../state/status";
import type { Store } from "../state/store";
import { isFinalAnswer } from "../state/trace";

const INTERVAL = 1_500;
const MAX_LINES = 6;
const MAX_LENGTH = 160;
/** The text of a reply may end a sentence, also within quotes or emphasis. */
const ENDED = /[.!?…:][\s"”’)*_]*$/;

export function Announcer({ store }: { store: Store }): JSX.Element {
  const [lines, setLines] = useState<{ key: number; text: string }[]>([]);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let key = 0;
    let before = snapshot(store);
    const announce = (): void => {
      timer = undefined;
      const now = snapshot(store);
      const text = describeChange(store, before, now);
      before = now;
      if (text) setLines((lines) => [...lines.slice(1 - MAX_LINES), { key: ++key, text }]);
    };
    const unsubscribe = store.subscribe(() => {
      timer ??= setTimeout(announce, INTERVAL);
    });
    return () => {
      unsubscribe();
      clearTimeout(timer);
    };
  }, [store]);
  return (
    <div class="ak-sr-only" role="log" aria-live="polite" aria-label="Run updates">
      {lines.map(({ key, text }) => (
        <p key={key}>{text}</p>
      ))}
    </div>
  );
}

interface Snapshot {
  total: number;
  status: string;
}

function snapshot(store: Store): Snapshot {
  return { total: store.total, status: statusOf(store).label };
}

function describeChange(store: Store, before: Snapshot, now: Snapshot): string {
  const parts: string[] = [];
  const last = store.cards[now.total - 1];
  if (now.total > before.total + 1) parts.push(`${now.total - before.total} new entries`);
  if (now.total !== before.total && last) parts.push(describe(store, last));
  if (now.status !== before.status) {
    parts.push(now.status);
    const waiting = store.head.pending.find((step) => step.why);
    if (waiting) parts.push(waiting.why ?? "");
  }
  return joinSentences(parts);
}

/** Join texts, with a full stop after those that do not end a sentence themselves. */
export function joinSentences(texts: string[]): string {
  return texts
    .filter(Boolean)
    .map((text, index, all) => (index === all.length - 1 || ENDED.test(text) ? text.trim() : `${text.trim()}.`))
    .join(" ");
}

function describe(store: Store, card: Card): string {
  if (card.kind === "think")
    return `${card.title || (isFinalAnswer(store, card) ? "Answer" : "Thought")}: ${shorten(card.answer ?? card.text)}`;
  if (card.kind === "act") return `${card.call.name} ${card.ok ? "returned" : "failed"}: ${shorten(card.text)}`;
  if (card.kind === "ask") return `Answered: ${shorten(card.text)}`;
  return card.kind === "conclude" ? "Conclusion" : "Task";
}

function shorten(text: string): string {
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
}
