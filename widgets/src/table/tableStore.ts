/**
 * What a page knows of one experiment: one store per widget model, shared by all its views. Of the cells, it knows those
 * that it draws.
 */

import { errorText } from "../elements/format";
import { type FromKernel, VERSION } from "../protocol";
import { CommandError, Connection, type ConnectionState } from "../state/connection";
import type { Host } from "../state/host";
import type {
  Figures,
  RowFilter,
  RowOrder,
  TableCommand,
  TableHead,
  TableMessage,
  TableProgress,
  TableResultOf,
  TableRows,
  TableStatus,
} from "../tableProtocol";

/** Which rows are drawn. */
export interface Window {
  first: number;
  order: RowOrder;
  only: RowFilter;
  text: string;
  /** The name of the score that the marks show; "" is the first one. */
  score: string;
}

/** About how many marks are drawn at a time, and the most rows. */
const MARKS = 600;
const MAX_ROWS = 50;

const HEAD: TableHead = { name: "", variants: [], cases: 0, repeats: 1, failed: "zero" };
const FIGURES: Figures = { scores: [], lines: [], differences: [], remarks: [], comparing: false };
const PROGRESS: TableProgress = {
  status: "done",
  done: 0,
  all: 0,
  cached: 0,
  running: 0,
  counts: {},
  cost: 0,
  rest_cost: 0,
  left: null,
  question: "",
  problem: "",
  again: 0,
  opened: [],
  edited: 0,
};

const BUSY: ReadonlySet<TableStatus> = new Set(["running", "stopping"]);

export class TableStore {
  head = HEAD;
  progress = PROGRESS;
  figures = FIGURES;
  rows: TableRows = { total: 0, first: 0, rows: [] };
  window: Window = { first: 0, order: "given", only: "all", text: "", score: "" };
  ready = false;
  /** The last refusal or confirmation. */
  notice = "";
  /** Cells have changed since the rows were sorted and filtered by them. */
  isOutdated = false;

  private readonly connection: Connection;
  private readonly listeners = new Set<() => void>();
  private seq = 0;
  private requests = 0;

  constructor(private readonly host: Host) {
    this.connection = new Connection(
      (message) => host.send(message),
      (unanswered) => ({ t: "hello", v: VERSION, have: this.seq, can: host.can, unanswered }),
      () => this.notify(),
    );
  }

  get connectionState(): ConnectionState {
    return this.connection.state;
  }

  get isKernelBusy(): boolean {
    return this.host.isKernelBusy?.() ?? false;
  }

  /** How many rows are drawn at a time. */
  get pageSize(): number {
    const perRow = Math.max(1, this.head.variants.length * this.head.repeats);
    return Math.max(1, Math.min(MAX_ROWS, Math.floor(MARKS / perRow)));
  }

  /** The position, in the scores of a cell, of the one that the marks show. */
  get scoreIndex(): number {
    return Math.max(0, this.figures.scores.indexOf(this.window.score));
  }

  // -- for views ------------------------------------------------------------------------------------------------------

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  isExecuting(name: TableCommand["cmd"]): boolean {
    return this.connection.isExecuting(name);
  }

  /** Send a command. Return its result; if it is refused, show why and return undefined. */
  async execute<C extends TableCommand>(command: C): Promise<TableResultOf<C> | undefined> {
    try {
      const result = await this.connection.execute<TableResultOf<C>>(command);
      this.say("");
      return result;
    } catch (error) {
      this.say(errorText(error));
      return undefined;
    }
  }

  say(notice: string): void {
    if (notice === this.notice) return;
    this.notice = notice;
    this.notify();
  }

  /** Draw other rows, as soon as they are here. */
  async show(change: Partial<Window>): Promise<void> {
    this.window = { ...this.window, first: 0, ...change };
    const request = ++this.requests;
    this.notify();
    const rows = await this.execute({ cmd: "rows", count: this.pageSize, ...this.window });
    if (!rows || request !== this.requests) return;
    if (rows.first >= rows.total && rows.first > 0) return this.show({ first: 0 });
    this.rows = rows;
    this.isOutdated = false;
    this.notify();
  }

  // -- for the widget model -------------------------------------------------------------------------------------------

  hello(): void {
    this.connection.hello();
  }

  receive(given: FromKernel): void {
    if (typeof given !== "object" || given === null) return;
    const message = given as TableMessage; // the kernel of an experiment sends these
    if (message.t === "reset") this.reset(message);
    else if (message.t === "events") this.applyEvents(message);
    else if (message.t === "taken") this.connection.queued(message.cid);
    else if (message.t === "ack") this.connection.succeeded(message.cid, message.result);
    else if (message.t === "nak") this.connection.failed(message.cid, new CommandError(message.error, message.type));
    else if (message.t === "moment") {
      const count = this.host.setMoment(message.moment, message.data);
      this.connection.send({ t: "did", v: VERSION, cid: message.cid, count });
    } else if (message.t === "shown?" && this.host.isShown()) this.connection.send({ t: "shown" });
    if (message.t !== "reset" && message.t !== "events") this.follow(message.seq);
    this.notify();
  }

  checkSequence(seq: number): void {
    if (this.ready && seq > this.seq) this.hello();
  }

  reopened(): void {
    this.connection.reopened();
  }

  lose(): void {
    this.connection.lose();
  }

  gone(): void {
    this.connection.send({ t: "gone" });
  }

  close(): void {
    this.connection.close();
    this.listeners.clear();
  }

  // -- internals ------------------------------------------------------------------------------------------------------

  private reset(message: Extract<TableMessage, { t: "reset" }>): void {
    this.connection.helloAnswered();
    this.seq = message.seq;
    this.ready = true;
    this.head = message.head;
    this.progress = message.progress;
    this.figures = message.figures;
    void this.show({ first: this.window.first }); // cells may have changed in the meantime
  }

  private follow(seq = 0): void {
    if (!this.ready || seq <= this.seq) return;
    if (seq === this.seq + 1) this.seq = seq;
    else this.hello();
  }

  private applyEvents(message: Extract<TableMessage, { t: "events" }>): void {
    if (!this.ready || message.seq <= this.seq) return; // a reset, received or on its way, includes them
    if (message.seq !== this.seq + 1) {
      this.hello();
      return;
    }
    this.seq = message.seq;
    const wasBusy = BUSY.has(this.progress.status);
    for (const event of message.ev) {
      if (event.k === "progress") this.progress = event.progress;
      else if (event.k === "figures") this.figures = event.figures;
      else if (event.k === "cells") this.applyCells(event.cells);
    }
    // what a case has lost is known now; rows that would move wait until they are sorted again
    if (wasBusy && !BUSY.has(this.progress.status) && !this.isOutdated) void this.show({ first: this.window.first });
  }

  /** Take the cells that have changed; a row in which nothing has changed stays the same object. */
  private applyCells(cells: TableRows["rows"][number]["cells"]): void {
    const changed = new Map(cells.map((cell) => [cell[0], cell]));
    let hasChanged = false;
    const rows = this.rows.rows.map((row) => {
      if (!row.cells.some(([number]) => changed.has(number))) return row;
      hasChanged = true;
      return { ...row, cells: row.cells.map((cell) => changed.get(cell[0]) ?? cell) };
    });
    if (hasChanged) this.rows = { ...this.rows, rows };
    const { order, only, text } = this.window;
    if (order === "lost" || order === "problems" || only !== "all" || text) this.isOutdated = true;
  }

  private notify(): void {
    for (const listener of [...this.listeners]) listener();
  }
}
