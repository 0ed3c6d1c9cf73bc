/**
 * What a page knows of one run: one store per widget model, shared by all its views.
 *
 * The kernel numbers its messages. Whenever one is missing, or an answer is overdue, the store sends `hello` and
 * receives the whole state again; it never repairs anything by itself.
 */

import { errorText } from "../elements/format";
import type { Card, Command, CommandName, FromKernel, Head, Pictures, ResultOf, ViewEvent } from "../protocol";
import { VERSION } from "../protocol";
import { CommandError, Connection, type ConnectionState } from "./connection";
import { EMPTY_HEAD, EMPTY_PICTURES } from "./empty";
import { Frames } from "./frames";
import type { Host } from "./host";
import { Trace } from "./trace";

/** The number of cards to load at a time. */
const PAGE_SIZE = 300;

/** The part of a reply that has arrived so far. */
export interface PartialReply {
  text: string;
  reasoning: string;
}

type Message<T extends FromKernel["t"]> = Extract<FromKernel, { t: T }>;

export class Store {
  head: Head = EMPTY_HEAD;
  pictures: Pictures = EMPTY_PICTURES;
  /** A reset has arrived: the store shows the run. */
  ready = false;
  /** Why missing cards could not be loaded, or "". Until `retryLoading`, the kernel is not asked for any. */
  loadProblem = "";
  /** Increases with every change of the trace, so that views need not compare it. */
  version = 0;
  readonly trace = new Trace();
  /** Full texts that were truncated in their cards, by entry and field. */
  readonly fullTexts = new Map<string, string>();

  private readonly connection: Connection;
  private readonly replies = new Map<string, PartialReply>();
  private readonly listeners = new Set<() => void>();
  private readonly loading = new Map<number, Promise<void>>();
  private seq = 0;
  private readonly frames = new Frames(() => this.notify());

  constructor(private readonly host: Host) {
    this.connection = new Connection(
      (message) => host.send(message),
      (unanswered) => ({ t: "hello", v: VERSION, have: this.seq, can: host.can, unanswered }),
      () => this.notify(),
    );
  }

  /** By position (`run[n]`). A gap is a card that the kernel has and this page has not: see `load`. */
  get cards(): readonly (Card | undefined)[] {
    return this.trace.cards;
  }

  get total(): number {
    return this.trace.cards.length;
  }

  /** One letter per entry, as in `reset`. */
  get map(): string {
    return this.trace.map;
  }

  get connectionState(): ConnectionState {
    return this.connection.state;
  }

  /** Whether the kernel is known to be busy with a cell. */
  get isKernelBusy(): boolean {
    return this.host.isKernelBusy?.() ?? false;
  }

  // -- for views ------------------------------------------------------------------------------------------------------

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Send a command. Return its result, or reject with a `CommandError`. */
  execute<C extends Command>(command: C): Promise<ResultOf<C>> {
    return this.connection.execute<ResultOf<C>>(command);
  }

  /** Whether a command of this name is unanswered. */
  isExecuting(name: CommandName): boolean {
    return this.connection.isExecuting(name);
  }

  /** Load the missing cards of a range of positions, and wait for those that are being loaded already. */
  async load(first: number, last: number): Promise<void> {
    const nextGap = (): number => (this.loadProblem ? -1 : this.trace.firstGap(first, last));
    for (let gap = nextGap(); gap >= 0; gap = nextGap()) {
      const before = Math.min(this.total, last, gap + PAGE_SIZE);
      await (this.loading.get(before) ?? this.loadPage(gap, before));
    }
  }

  private async loadPage(gap: number, before: number): Promise<void> {
    let done = (): void => {};
    this.loading.set(before, new Promise((resolve) => (done = resolve))); // first: a listener may need the same cards
    try {
      const page = await this.execute({ cmd: "page", before, count: before - gap });
      this.trace.fillGaps(page.first, page.cards);
      if (this.trace.firstGap(gap, gap + 1) >= 0) this.loadProblem = "the kernel answered without them";
    } catch (error) {
      this.loadProblem = errorText(error);
    } finally {
      this.loading.delete(before);
      this.version++;
      this.notify();
      done();
    }
  }

  /** Ask for missing cards again. */
  retryLoading(): void {
    this.loadProblem = "";
    this.version++;
    this.notify();
  }

  /** Load the full text of a truncated field. */
  async fullText(entry: number, field: string): Promise<string> {
    const key = `${entry} ${field}`;
    const known = this.fullTexts.get(key);
    if (known !== undefined) return known;
    const { text } = await this.execute({ cmd: "text", entry, field });
    this.fullTexts.set(key, text);
    return text;
  }

  /** Return a card with the full texts of its truncated fields. */
  async withFullTexts(card: Card): Promise<Card> {
    const fields = Object.keys(card.long ?? {});
    const texts = Object.fromEntries(
      await Promise.all(fields.map(async (field) => [field, await this.fullText(card.id, field)])),
    );
    if (card.kind !== "begin") return { ...card, ...texts };
    const messages = card.messages.map(({ role, text }, n) => ({ role, text: texts[`message${n}`] ?? text }));
    return { ...card, messages };
  }

  /** The reply that a model is writing for a step, as far as it has arrived. */
  partialReply(path: string, index: number): PartialReply | undefined {
    return this.replies.get(`${path} ${index}`);
  }

  // -- for the widget model -------------------------------------------------------------------------------------------

  hello(): void {
    this.connection.hello();
  }

  receive(message: FromKernel): void {
    if (typeof message !== "object" || message === null) return;
    const { status } = this.head;
    if (message.t === "reset") this.reset(message);
    else if (message.t === "events") this.applyEvents(message);
    else if (message.t === "taken") this.connection.queued(message.cid);
    else if (message.t === "ack") this.connection.succeeded(message.cid, message.result);
    else if (message.t === "nak") this.connection.failed(message.cid, new CommandError(message.error, message.type));
    else if (message.t === "insert") this.reply(message.cid, this.host.insert(message.cells));
    else if (message.t === "moment") this.reply(message.cid, this.host.setMoment(message.moment, message.data));
    else if (message.t === "dock") this.reply(message.cid, this.host.dock());
    else if (message.t === "shown?" && this.host.isShown()) this.connection.send({ t: "shown" });
    if (message.t !== "reset" && message.t !== "events") this.follow(message.seq);
    if (message.t === "events") this.frames.request(this.head.status !== status);
    else this.notify();
  }

  /** Compare with the number of the last message, from the trait: losing the very last one leaves no visible gap. */
  checkSequence(seq: number): void {
    if (this.ready && seq > this.seq) this.hello();
  }

  /** The channel to the kernel was interrupted, and is open again. */
  reopened(): void {
    this.connection.reopened();
  }

  /** The kernel, or the channel to it, is gone for good. */
  lose(): void {
    this.replies.clear();
    this.connection.lose();
  }

  /** Tell the kernel that the run is no longer to be seen in this page. */
  gone(): void {
    this.connection.send({ t: "gone" });
  }

  /** Open a view beside the notebook, if the host can. */
  get dock(): (() => void) | undefined {
    return this.host.can.dock ? () => void this.host.dock() : undefined;
  }

  close(): void {
    this.connection.close();
    this.listeners.clear();
    this.frames.close();
  }

  // -- internals ------------------------------------------------------------------------------------------------------

  private reset(message: Message<"reset">): void {
    this.connection.helloAnswered();
    this.seq = message.seq;
    this.ready = true;
    this.loadProblem = "";
    this.head = message.head;
    this.pictures = message.pictures;
    this.trace.reset(message.first, message.total, message.cards, message.map);
    this.replies.clear();
    for (const { path, index, text, reasoning } of message.streaming)
      this.replies.set(`${path} ${index}`, { text, reasoning });
    this.version++;
  }

  /** Take note of the number of a message that is not part of the state; if one before it is missing, ask for it. */
  private follow(seq = 0): void {
    if (!this.ready || seq <= this.seq) return;
    if (seq === this.seq + 1) this.seq = seq;
    else this.hello();
  }

  private applyEvents(message: Message<"events">): void {
    if (!this.ready || message.seq <= this.seq) return; // a reset, received or on its way, includes them
    const isNext = message.seq === this.seq + 1;
    if (isNext) this.seq = message.seq;
    if (!isNext || !message.ev.every((event) => this.apply(event))) this.hello();
  }

  /** Apply an event. Return false if it does not fit the current state. */
  private apply(event: ViewEvent): boolean {
    if (event.k === "head") this.head = event.head;
    else if (event.k === "pictures") this.pictures = event.pictures;
    else if (event.k === "delta") this.append(event);
    else if (event.k === "undelta") this.replies.delete(`${event.path} ${event.index}`);
    else if (event.k === "siblings") this.trace.setSiblings(event);
    else if (event.k === "line" && !this.trace.applyLine(event)) return false;
    if (event.k === "line" || event.k === "siblings") this.version++;
    return true;
  }

  private append({ path, index, text, reasoning }: Extract<ViewEvent, { k: "delta" }>): void {
    const before = this.partialReply(path, index) ?? { text: "", reasoning: "" };
    this.replies.set(`${path} ${index}`, { text: before.text + text, reasoning: before.reasoning + reasoning });
  }

  private reply(cid: string, count: number): void {
    this.connection.send({ t: "did", v: VERSION, cid, count });
  }

  private notify(): void {
    for (const listener of [...this.listeners]) listener();
  }
}
