/** What happens, in a sentence, for who does not see it. A few times a second at the most, and only what is new. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Card } from "./protocol";
import { said } from "./status";
import type { Store } from "./store";

const PAUSE = 1_500;
const KEPT = 6;

export function Announcer({ store }: { store: Store }): JSX.Element {
  const [lines, setLines] = useState<{ key: number; text: string }[]>([]);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let key = 0;
    let before = { total: store.total, word: said(store).word };
    const speak = (): void => {
      timer = undefined;
      const now = { total: store.total, word: said(store).word };
      const text = news(store, before, now);
      before = now;
      if (text) setLines((lines) => [...lines.slice(1 - KEPT), { key: ++key, text }]);
    };
    const stop = store.subscribe(() => {
      timer ??= setTimeout(speak, PAUSE);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [store]);
  return (
    <div class="ak-sr-only" role="log" aria-live="polite" aria-label="What happens">
      {lines.map(({ key, text }) => (
        <p key={key}>{text}</p>
      ))}
    </div>
  );
}

interface Now {
  total: number;
  word: string;
}

function news(store: Store, before: Now, now: Now): string {
  const parts: string[] = [];
  const last = store.cards[now.total - 1];
  if (now.total > before.total + 1) parts.push(`${now.total - before.total} new entries`);
  if (now.total !== before.total && last) parts.push(sentence(last));
  if (now.word !== before.word) parts.push(now.word);
  const waits = store.head.pending.find((step) => step.why);
  if (waits && now.word !== before.word) parts.push(waits.why ?? "");
  return parts.join(". ");
}

function sentence(card: Card): string {
  if (card.kind === "think") return `${card.answer === null ? "Thought" : "Answer"}: ${short(card.answer ?? card.text)}`;
  if (card.kind === "act") return `${card.call.name} ${card.ok ? "gave" : "failed"}: ${short(card.text)}`;
  if (card.kind === "ask") return `Answered: ${short(card.text)}`;
  return card.kind === "conclude" ? "Conclusion" : "Task";
}

function short(text: string): string {
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
