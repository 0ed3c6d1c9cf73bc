/** What only one view of a run knows: where its reader is, what is open, what is being written. And its verbs. */

import type { Verb } from "./keys";
import { copied, said, textOf } from "./panels/parts";
import type { Card, Command, Json, Pending } from "./protocol";
import { able, driving } from "./status";
import type { Store } from "./store";

export type Tab = "source" | "request" | "breakpoints" | "branches" | "pictures";

/** An edit that is being written. `draft` outlives the card, which another view may replace meanwhile. */
export interface Editing {
  /** The entry, with its texts whole; or the pending step. */
  card: Card | null;
  step: Pending | null;
  /** What of an action is given: arguments for its call, or what it would give. */
  what: "arguments" | "result";
  base: number;
  draft: { [field: string]: string };
}

interface State {
  /** The id of the entry that the reader is at, or 0. */
  current: number;
  editing: Editing | null;
  /** How often the box for a message was asked for since it was closed. */
  injecting: number;
  helping: boolean;
  /** Null: as the width has it. */
  panels: boolean | null;
  tab: Tab;
  /** The entry whose request is shown, or 0 for the last one. */
  request: number;
  comparing: number;
  /** What was refused or done last, for the reader. */
  notice: string;
  /** The place before which the trace ends, or null for its end, which moves. */
  end: number | null;
  /** Counts the calls to go to an entry, so that one can be gone to twice. */
  going: number;
}

export class Ui implements State {
  current = 0;
  editing: Editing | null = null;
  injecting = 0;
  helping = false;
  panels: boolean | null = null;
  tab: Tab = "source";
  request = 0;
  comparing = 0;
  notice = "";
  end: number | null = null;
  going = 0;
  /** What is being written to the model; it outlives its box. */
  saying = "";
  /** Whether the panels have room beside the trace. */
  wide = true;

  private readonly listeners = new Set<() => void>();

  constructor(readonly store: Store) {}

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  set(change: Partial<State> & { wide?: boolean }): void {
    Object.assign(this, change);
    for (const listener of [...this.listeners]) listener();
  }

  /** Send a command; a refusal is shown. Gives undefined where it was refused. */
  async tell(command: Command): Promise<Json | undefined> {
    try {
      const result = await this.store.ask(command);
      if (this.notice) this.set({ notice: "" });
      return result;
    } catch (error) {
      this.set({ notice: `${NAMES[command.cmd] ?? command.cmd}: ${(error as Error).message}` });
      return undefined;
    }
  }

  /** Say something that needs no answer, for a while. */
  inform(notice: string): void {
    this.set({ notice });
    setTimeout(() => this.notice === notice && this.set({ notice: "" }), 6_000);
  }

  get beside(): boolean {
    return this.panels ?? this.wide;
  }

  show(tab: Tab, request = this.request): void {
    this.set({ tab, request, panels: true });
  }

  async edit(entry: Card | null, step: Pending | null = null, what: Editing["what"] = "result"): Promise<void> {
    const { cards } = this.store;
    const base = cards[cards.length - 1]?.id ?? 0;
    if (Object.keys(this.editing?.draft ?? {}).length) return this.inform("Save or cancel the edit you began first.");
    const card = (entry && (await this.whole(entry))) ?? null;
    if (card || step) this.set({ editing: { card, step, what, base, draft: {} } });
  }

  /** An entry with its texts whole, for what would else lose the rest of them; undefined, and said, where that cannot be had. */
  private async whole(card: Card): Promise<Card | undefined> {
    try {
      return await this.store.uncut(card);
    } catch (error) {
      this.inform(`Its text cannot be fetched: ${said(error)}`);
      return undefined;
    }
  }

  go(id: number): void {
    this.set({ current: id, going: this.going + 1 });
  }

  /** Carry out a verb, for a key or a button; `card` is the entry it is meant for. Gives false where it makes no sense now. */
  perform(verb: Verb, card?: Card): boolean {
    if (RUN[verb]) {
      if (able(this.store, verb)) void this.tell(RUN[verb]);
      return true;
    }
    if (verb === "help") this.set({ helping: !this.helping });
    else if (verb === "panels") this.set({ panels: !this.beside });
    else if (verb === "inject") this.set({ injecting: this.injecting + 1 });
    else if (verb === "edit" && !card) this.editNext();
    else if (card) this.performOn(verb, card);
    else return false;
    return true;
  }

  private editNext(): void {
    const next = this.store.head.pending[0];
    if (next && !driving(this.store) && EDITED.includes(next.kind))
      void this.edit(null, next, next.kind === "act" && !next.own ? "arguments" : "result");
  }

  private performOn(verb: Verb, card: Card): void {
    if (verb === "copy") {
      void this.copy(card);
    } else if (verb === "request") {
      if (card.kind === "think") this.show("request", card.id);
    } else if (!offered(verb, card) || !able(this.store, verb)) return;
    else if (verb === "edit") void this.edit(card);
    else if (verb === "break") this.toggle(card);
    else if (verb === "fork") void this.fork(card);
    else if (verb === "retry" || verb === "rewind") void this.tell({ cmd: verb, entry: card.id });
  }

  private async copy(card: Card): Promise<void> {
    const whole = await this.whole(card);
    if (whole) this.inform(await copied(textOf(whole)));
  }

  private async fork(card: Card): Promise<void> {
    const made = (await this.tell({ cmd: "fork", entry: card.id })) as { forecast: string } | undefined;
    if (made) this.inform(`A second run is shown below this one. ${made.forecast ?? ""}`);
  }

  private toggle(card: Card): void {
    const { kind, value } = pointOf(card);
    const point = this.store.head.breakpoints.find((each) => each.kind === kind && each.value === value);
    void this.tell(point ? { cmd: "unbreak", id: point.id } : { cmd: "break", kind, value });
  }
}

const RUN: { [verb in Verb]?: Command } = {
  step: { cmd: "step" },
  play: { cmd: "play" },
  pause: { cmd: "pause" },
  over: { cmd: "step_over" },
  stop: { cmd: "stop" },
  undo: { cmd: "undo" },
  redo: { cmd: "redo" },
};

const NAMES: { [command: string]: string } = { play: "Run", step_over: "Step over", break: "Breakpoint", unbreak: "Breakpoint" };

const EDITED: string[] = ["think", "act", "ask"];

/** Whether a verb can be meant for an entry of this kind at all. */
export function offered(verb: Verb, card: Card): boolean {
  if (verb === "edit") return EDITED.includes(card.kind);
  if (verb === "retry") return card.kind !== "begin" && !card.lane;
  if (verb === "break") return card.kind === "act" || (card.kind === "think" && card.role !== "");
  if (verb === "request") return card.kind === "think";
  return true;
}

/** Whether two pending steps are one and the same, at two times. */
export function samePlace(one: Pending, other: Pending): boolean {
  return one.path === other.path && one.index === other.index;
}

/** The breakpoint that an entry stands for. */
export function pointOf(card: Card | Pending): { kind: "tool" | "role"; value: string } {
  return card.kind === "act" && card.call ? { kind: "tool", value: card.call.name } : { kind: "role", value: card.role };
}
