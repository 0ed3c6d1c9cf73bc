/**
 * What a page knows of one run: one store per widget model, from which any number of views are drawn.
 *
 * The kernel's messages are numbered. Whenever one is missing, or an answer does not come, the store says `hello` and is
 * sent all anew; nothing is ever mended by hand.
 */

import { Exchange, type Link, Refused } from "./exchange";
import { NO_HEAD, NO_PICTURES } from "./nothing";
import type { Card, Command, FromKernel, Head, Json, NotebookCell, Page, Pictures, ToKernel, ViewEvent } from "./protocol";
import { VERSION } from "./protocol";
import { Trace } from "./trace";

/** Cards asked for at a time. */
const PAGE = 200;

/** What carries messages to the kernel, and what only the page around the view can do. */
export interface Surroundings {
  send: (message: ToKernel) => void;
  can: { insert: boolean; freeze: boolean };
  insert: (cells: NotebookCell[]) => number;
  freeze: (data: { [mime: string]: string }) => number;
}

export interface Streaming {
  text: string;
  reasoning: string;
}

type Message<T extends FromKernel["t"]> = Extract<FromKernel, { t: T }>;

export class Store {
  head: Head = NO_HEAD;
  pictures: Pictures = NO_PICTURES;
  /** A reset has come: what is shown is the run. */
  ready = false;
  /** Goes up with every change of the trace, so that a view need not compare it. */
  changes = 0;
  readonly trace = new Trace();
  readonly wholes = new Map<string, string>();

  private readonly exchange: Exchange;
  private readonly streams = new Map<string, Streaming>();
  private readonly listeners = new Set<() => void>();
  private readonly views = new Set<() => boolean>();
  private readonly fetching = new Set<number>();
  private freezing: Message<"freeze"> | undefined;
  private seq = 0;

  constructor(private readonly around: Surroundings) {
    this.exchange = new Exchange(
      (message) => around.send(message),
      () => ({ t: "hello", v: VERSION, have: this.seq, can: around.can }),
      () => this.tell(),
    );
  }

  /** By place (`run[n]`); a hole is a card that the kernel has and this page has not: `need` fetches it. */
  get cards(): readonly (Card | undefined)[] {
    return this.trace.cards;
  }

  get total(): number {
    return this.trace.cards.length;
  }

  /** One letter an entry, as in `reset`. */
  get map(): string {
    return this.trace.map;
  }

  get link(): Link {
    return this.exchange.link;
  }

  // -- for views ---------------------------------------------------------------------------------------------------------

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Send a command. Gives its result; rejects with a `Refused` that says why. */
  ask(command: Command): Promise<Json> {
    return this.exchange.ask(command);
  }

  /** Whether a command of this name is on its way. */
  asked(name: Command["cmd"]): boolean {
    return this.exchange.asked(name);
  }

  /** Fetch the cards of a stretch that this page has not. */
  async need(first: number, last: number): Promise<void> {
    for (let hole = this.trace.hole(first, last); hole >= 0; hole = this.trace.hole(first, last)) {
      const before = Math.min(this.total, last, hole + PAGE);
      if (this.fetching.has(before)) return;
      this.fetching.add(before);
      try {
        const page = (await this.ask({ cmd: "page", before, count: before - hole })) as unknown as Page;
        this.trace.page(page.first, page.cards);
        if (!page.cards.length || this.trace.hole(hole, hole + 1) >= 0) return; // nothing is gained by asking again
      } catch {
        return;
      } finally {
        this.fetching.delete(before);
        this.changed();
      }
    }
  }

  /** Fetch a text whole that was cut for its length; kept in `wholes`. */
  async whole(entry: number, field: string): Promise<string> {
    const key = `${entry} ${field}`;
    const known = this.wholes.get(key);
    if (known !== undefined) return known;
    const { text } = (await this.ask({ cmd: "text", entry, field })) as { text: string };
    this.wholes.set(key, text);
    return text;
  }

  /** Give an entry with the texts whole that were cut. */
  async uncut(card: Card): Promise<Card> {
    const fields = Object.keys(card.long ?? {});
    const texts = Object.fromEntries(await Promise.all(fields.map(async (field) => [field, await this.whole(card.id, field)])));
    if (card.kind !== "begin") return { ...card, ...texts };
    return { ...card, messages: card.messages.map(({ role, text }, n) => ({ role, text: texts[`message${n}`] ?? text })) };
  }

  /** What a model says just now for a step. */
  streaming(path: string, index: number): Streaming | undefined {
    return this.streams.get(`${path} ${index}`);
  }

  /** Add a view; `held` says whether a person is at it just now. */
  add(held: () => boolean): () => void {
    this.views.add(held);
    return () => void this.views.delete(held);
  }

  // -- for the model -----------------------------------------------------------------------------------------------------

  hello(): void {
    this.exchange.hello();
  }

  take(message: FromKernel): void {
    if (typeof message !== "object" || message === null) return;
    if (message.t === "reset") this.anew(message);
    else if (message.t === "events") this.events(message);
    else if (message.t === "taken") this.exchange.taken(message.cid);
    else if (message.t === "ack") this.exchange.answered(message.cid, message.result);
    else if (message.t === "nak") this.exchange.answered(message.cid, new Refused(message.error, message.type));
    else if (message.t === "insert") this.did(message.cid, this.around.insert(message.cells));
    else if (message.t === "freeze") this.freeze(message);
    this.tell();
  }

  /** The trait says how many messages there were: a lost last one leaves no gap that would be seen. */
  sent(seq: number): void {
    if (this.ready && seq > this.seq) this.hello();
  }

  /** The kernel, or its end of the line, is there no more. */
  gone(): void {
    this.streams.clear();
    this.exchange.gone();
  }

  /** A picture waits to be put in the place of the views: the run is over, and somebody is still looking. */
  get settling(): boolean {
    return this.freezing !== undefined && this.head.answer !== null;
  }

  /** Put the picture in the place of the views, if one is wanted and nobody is at a view; `anyway` if somebody is. */
  settle(anyway: boolean): void {
    const wanted = this.freezing;
    if (!wanted || (!wanted.now && !this.settling) || (!anyway && [...this.views].some((held) => held()))) return;
    this.freezing = undefined;
    this.did(wanted.cid, this.around.freeze(wanted.data));
  }

  close(): void {
    this.exchange.close();
    this.listeners.clear();
  }

  // -- inside ------------------------------------------------------------------------------------------------------------

  private anew(message: Message<"reset">): void {
    this.exchange.greeted();
    this.seq = message.seq;
    this.ready = true;
    this.head = message.head;
    this.pictures = message.pictures;
    this.trace.reset(message.first, message.total, message.cards, message.map);
    this.streams.clear();
    for (const { path, index, text, reasoning } of message.streaming) this.streams.set(`${path} ${index}`, { text, reasoning });
    this.changes++;
  }

  private events(message: Message<"events">): void {
    if (!this.ready || message.seq <= this.seq) return; // a reset holds them, that has come or is on its way
    const next = message.seq === this.seq + 1;
    if (next) this.seq = message.seq;
    if (!next || !message.ev.every((event) => this.event(event))) this.hello();
  }

  /** Gives false where the event does not fit what is known. */
  private event(event: ViewEvent): boolean {
    if (event.k === "head") this.head = event.head;
    else if (event.k === "pictures") this.pictures = event.pictures;
    else if (event.k === "delta") this.delta(event);
    else if (event.k === "undelta") this.streams.delete(`${event.path} ${event.index}`);
    else if (event.k === "siblings") this.trace.siblings(event.of);
    else if (event.k === "line") {
      for (const card of event.cards) this.streams.delete(`${card.path} ${card.index}`);
      if (!this.trace.line(event)) return false;
    }
    if (event.k === "line" || event.k === "siblings") this.changes++;
    return true;
  }

  private delta({ path, index, text, reasoning }: Extract<ViewEvent, { k: "delta" }>): void {
    const before = this.streaming(path, index) ?? { text: "", reasoning: "" };
    this.streams.set(`${path} ${index}`, { text: before.text + text, reasoning: before.reasoning + reasoning });
  }

  private freeze(message: Message<"freeze">): void {
    this.freezing = message;
    this.settle(message.now);
  }

  private did(cid: string, count: number): void {
    this.exchange.send({ t: "did", v: VERSION, cid, count });
  }

  private changed(): void {
    this.changes++;
    this.tell();
  }

  private tell(): void {
    for (const listener of [...this.listeners]) listener();
  }
}
