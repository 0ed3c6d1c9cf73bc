/** A widget model without a kernel: it plays what was recorded of a run, and answers commands from the record. */

import type { AnyModel } from "@anywidget/types";
import type { Command, FromKernel, Json, ToKernel, Traits } from "../src/protocol";

export interface Recorded {
  messages: FromKernel[];
  answers: { [command: string]: Json };
}

type Said = (message: FromKernel) => void;

export class RecordedModel {
  readonly widget_manager = {};
  readonly told: ToKernel[] = [];
  /** What is answered to a command; undefined leaves it without an answer. */
  answer: (command: Command & { cid: string }) => FromKernel | undefined;
  deaf = false;
  private readonly listeners = new Map<string, Set<(message: FromKernel) => void>>();
  private seq = 0;

  constructor(readonly recorded: Recorded) {
    this.answer = ({ cmd, cid }) => ({ t: "ack", v: 1, cid, result: recorded.answers[cmd] ?? null });
  }

  get(name: keyof Traits): string | number {
    return { run_id: "recorded", status: "paused", seq: this.seq, uid: "recorded" }[name];
  }

  on(name: string, listener: Said): void {
    this.listeners.set(name, (this.listeners.get(name) ?? new Set()).add(listener));
  }

  off(name: string, listener: Said): void {
    this.listeners.get(name)?.delete(listener);
  }

  send(message: ToKernel): void {
    this.told.push(message);
    if (this.deaf) return;
    if (message.t === "hello") queueMicrotask(() => this.replay());
    if (message.t === "cmd") {
      const answer = this.answer(message);
      if (answer) queueMicrotask(() => this.say(answer));
    }
  }

  /** Say all that was recorded, from its reset on. */
  replay(): void {
    for (const message of this.recorded.messages) {
      if (message.t === "reset" || message.t === "events") this.seq = message.seq;
      this.say(message);
    }
  }

  say(message: FromKernel): void {
    for (const listener of [...(this.listeners.get("msg:custom") ?? [])]) listener(message);
  }

  /** Something of the model itself has changed, such as its line to the kernel. */
  trigger(name: string): void {
    for (const listener of [...(this.listeners.get(name) ?? [])]) (listener as () => void)();
  }

  get model(): AnyModel<Traits & { [name: string]: unknown }> {
    return this as unknown as AnyModel<Traits & { [name: string]: unknown }>;
  }
}
