/** The trace as a view knows it: cards by place, with holes where they were not asked for yet. */

import type { ActEntry, Card, ThinkEntry, ViewEvent } from "./protocol";

type Line = Extract<ViewEvent, { k: "line" }>;

export class Trace {
  /** By place (`run[n]`); a hole is a card that the kernel has and this page has not. */
  cards: (Card | undefined)[] = [];
  /** One letter an entry, as in `reset`. */
  map = "";

  reset(first: number, total: number, cards: Card[], map: string): void {
    this.cards = [];
    this.put(first, cards);
    this.cards.length = total;
    this.map = map;
  }

  /** Gives false where a piece in between is missing, which only a reset can mend. */
  line({ keep, cards, total, map }: Line): boolean {
    if (keep > this.cards.length) return false;
    this.cards.length = keep;
    this.put(keep, cards);
    this.map = this.map.slice(0, keep) + map;
    // a long line comes in several events, each of which knows the whole length already
    return this.cards.length <= total;
  }

  /** Take up older cards. A page that was overtaken by an edit is not what stands there now. */
  page(first: number, cards: Card[]): void {
    for (const card of cards) {
      const place = first + cards.indexOf(card);
      if (place < this.cards.length && !this.cards[place]) this.cards[place] = card;
    }
  }

  siblings(of: { [id: string]: number[] }): void {
    for (const [place, card] of this.cards.entries()) {
      const among = card && of[card.id];
      if (among) this.cards[place] = { ...card, siblings: among };
    }
  }

  find(id: number): Card | undefined {
    return this.cards.find((card) => card?.id === id);
  }

  /** The first place in a stretch that holds no card, or -1. */
  hole(first: number, last: number): number {
    for (let place = Math.max(0, first); place < Math.min(last, this.cards.length); place++) if (!this.cards[place]) return place;
    return -1;
  }

  private put(first: number, cards: Card[]): void {
    for (const [index, card] of cards.entries()) this.cards[first + index] = card;
  }
}

/** What is drawn as one card: a thought with the actions that it asked for, or one entry alone. */
export interface Iteration {
  key: number;
  head: Card;
  acts: ActEntry[];
}

/** How many iterations back the thought of an action is looked for: lanes that run side by side come in between. */
const REACH = 64;

export function iterations(cards: readonly (Card | undefined)[]): Iteration[] {
  const found: Iteration[] = [];
  for (const card of cards) {
    if (!card) continue;
    const asked = card.kind === "act" && asking(found, card);
    if (asked) asked.acts.push(card);
    else found.push({ key: card.id, head: card, acts: [] });
  }
  return found;
}

function asking(found: Iteration[], act: ActEntry): Iteration | undefined {
  for (let back = found.length - 1; back >= Math.max(0, found.length - REACH); back--) {
    const iteration = found[back] as Iteration;
    if (iteration.head.kind === "think" && asks(iteration.head, act)) return iteration;
  }
  return undefined;
}

function asks(thought: ThinkEntry, { call }: ActEntry): boolean {
  return thought.calls.some((each) => each.name === call.name && each.id === call.id);
}

/** The place from which on all follows a human edit, or -1. Places without a card are known from the map. */
export function editedFrom(trace: Trace): number {
  const mapped = trace.map.search(/[A-Z]/);
  const entered = trace.cards.findIndex((card) => card?.author === "human" && (card.kind === "think" || card.kind === "act"));
  return mapped < 0 || entered < 0 ? Math.max(mapped, entered) : Math.min(mapped, entered);
}
