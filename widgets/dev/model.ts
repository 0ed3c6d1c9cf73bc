/** A widget model without a kernel: it replays a recorded run, and answers commands from the recording. */

import type { AnyModel } from "@anywidget/types";
import type { Command, FromKernel, Json, ToKernel, Traits } from "../src/protocol";

export interface Recording {
  messages: FromKernel[];
  answers: { [command: string]: Json };
}

type Listener = (message: FromKernel) => void;

export class ReplayModel {
  readonly widget_manager = {};
  readonly sent: ToKernel[] = [];
  /** The answer to a command; undefined leaves it unanswered. */
  answer: (command: Command & { cid: string }) => FromKernel | undefined;
  /** Answer nothing at all. */
  isDeaf = false;
  private readonly listeners = new Map<string, Set<Listener>>();
  private seq = 0;

  constructor(readonly recording: Recording) {
    this.answer = ({ cmd, cid }) => ({ t: "ack", v: 1, cid, result: recording.answers[cmd] ?? null });
  }

  get(name: keyof Traits): string | number {
    return { run_id: "recorded", status: "paused", seq: this.seq, uid: "recorded", moment: 0, module: "" }[name];
  }

  on(name: string, listener: Listener): void {
    this.listeners.set(name, (this.listeners.get(name) ?? new Set()).add(listener));
  }

  off(name: string, listener: Listener): void {
    this.listeners.get(name)?.delete(listener);
  }

  send(message: ToKernel): void {
    this.sent.push(message);
    if (this.isDeaf) return;
    if (message.t === "hello") queueMicrotask(() => this.replay());
    if (message.t === "cmd") {
      const answer = this.answer(message);
      if (answer) queueMicrotask(() => this.deliver(answer));
    }
  }

  /** Deliver the recording, from its reset on. */
  replay(): void {
    for (const message of this.recording.messages) {
      if (message.t === "reset" || message.t === "events") this.seq = message.seq;
      this.deliver(message);
    }
  }

  deliver(message: FromKernel): void {
    for (const listener of [...(this.listeners.get("msg:custom") ?? [])]) listener(message);
  }

  /** Trigger an event of the model itself, such as the end of its channel. */
  trigger(name: string): void {
    for (const listener of [...(this.listeners.get(name) ?? [])]) (listener as () => void)();
  }

  get model(): AnyModel<Traits & { [name: string]: unknown }> {
    return this as unknown as AnyModel<Traits & { [name: string]: unknown }>;
  }
}
