/** The trace as far as this page has loaded it: cards by position, with gaps. */

import type { ActEntry, Card, Head, ThinkEntry, ViewEvent } from "../protocol";

type LineEvent = Extract<ViewEvent, { k: "line" }>;
type SiblingsEvent = Extract<ViewEvent, { k: "siblings" }>;

export class Trace {
  /** By position (`run[n]`). A gap is a card that the kernel has and this page has not loaded. */
  cards: (Card | undefined)[] = [];
  /** One letter per entry, as in `reset`. */
  map = "";

  reset(first: number, total: number, cards: Card[], map: string): void {
    this.cards = [];
    this.put(first, cards);
    this.cards.length = total;
    this.map = map;
  }

  /** Apply an event. Return false if a piece in between is missing, so that only a reset helps. */
  applyLine({ keep, first, cards, total, map }: LineEvent): boolean {
    if (keep > this.cards.length) return false;
    this.cards.length = keep;
    this.cards.length = first;
    this.put(first, cards);
    this.map = this.map.slice(0, keep) + map;
    // a long line arrives in several events, each with the total length
    return this.cards.length <= total;
  }

  /** Fill gaps with older cards. Never replace a card: an edit may have overtaken the page. */
  fillGaps(first: number, cards: Card[]): void {
    for (const [index, card] of cards.entries()) {
      const n = first + index;
      if (n < this.cards.length && !this.cards[n]) this.cards[n] = card;
    }
  }

  setSiblings({ of, beside }: SiblingsEvent): void {
    for (const [n, card] of this.cards.entries()) {
      const siblings = card && of[card.id];
      if (siblings) this.cards[n] = { ...card, siblings, beside: beside?.[card.id] ?? ["", ""] };
    }
  }

  find(id: number): Card | undefined {
    return this.cards.find((card) => card?.id === id);
  }

  /** Return the position of the first gap from `first` up to, not including, `last`; or -1. */
  firstGap(first: number, last: number): number {
    const end = Math.min(last, this.cards.length);
    for (let n = Math.max(0, first); n < end; n++) if (!this.cards[n]) return n;
    return -1;
  }

  private put(first: number, cards: Card[]): void {
    for (const [index, card] of cards.entries()) this.cards[first + index] = card;
  }
}

/** What is drawn as one card: a thought with the tool calls that it asked for, or any other entry by itself. */
export interface Iteration {
  key: number;
  head: Card;
  acts: ActEntry[];
}

/** How many iterations to go back in search of the thought behind a tool call: parallel lanes come in between. */
const SEARCH_DEPTH = 64;

export function groupIterations(cards: readonly (Card | undefined)[]): Iteration[] {
  const iterations: Iteration[] = [];
  for (const card of cards) {
    if (!card) continue;
    const asking = card.kind === "act" && findAsking(iterations, card);
    if (asking) asking.acts.push(card);
    else iterations.push({ key: card.id, head: card, acts: [] });
  }
  return iterations;
}

function findAsking(iterations: Iteration[], act: ActEntry): Iteration | undefined {
  for (const iteration of iterations.slice(-SEARCH_DEPTH).reverse()) {
    if (iteration.head.kind === "think" && asksFor(iteration.head, act)) return iteration;
  }
  return undefined;
}

function asksFor(thought: ThinkEntry, { call }: ActEntry): boolean {
  return thought.calls.some(({ name, id }) => name === call.name && id === call.id);
}

/**
 * Return the position of the first human edit, or -1. Where no card is loaded, the map tells. That a person chose an
 * earlier result is not an edit.
 */
export function firstEdit(trace: Trace): number {
  const inMap = trace.map.search(/[A-Z]/);
  const inCards = trace.cards.findIndex(
    (card) => card?.author === "human" && !card.repeats && (card.kind === "think" || card.kind === "act"),
  );
  return inMap < 0 || inCards < 0 ? Math.max(inMap, inCards) : Math.min(inMap, inCards);
}

/** What is needed to tell whether a thought contains the answer of the run. */
interface Answered {
  cards: readonly (Card | undefined)[];
  head: Head;
}

/**
 * Whether a thought contains the answer of the run: the run ends with it, or is about to. That a reply calls no tool
 * does not make it the answer: an engine may go on from there.
 */
export function isFinalAnswer({ cards, head }: Answered, { n, path, answer }: ThinkEntry): boolean {
  if (answer === null || path) return false;
  const next = cards[n + 1];
  if (next) return next.kind === "conclude" && next.answer === answer;
  if (n + 1 < cards.length) return false;
  return head.answer === null ? head.pending[0]?.kind === "conclude" : head.answer.startsWith(answer);
}
