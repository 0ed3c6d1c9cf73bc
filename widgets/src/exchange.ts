/** Commands and their answers, and whether there is a kernel that answers. */

import { type Command, type Json, type ToKernel, VERSION } from "./protocol";

/** Milliseconds without an answer after which the kernel is asked whether it is there at all. */
export const PATIENCE = 3_000;
/** Milliseconds for that question: a kernel that listens answers at once, whatever its commands wait for. */
export const SHORT = 700;
/** Milliseconds between two cries while nobody answers. */
export const AGAIN = 10_000;

/**
 * How the page stands to the kernel. `connecting`: nothing has come yet; `silent`: and the time for it is over; `live`;
 * `late`: an answer is missing; `gone`: the kernel, or its end of the line, is there no more.
 */
export type Link = "connecting" | "silent" | "live" | "late" | "gone";

/** A command that was not carried out; the message says why. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly type: string,
  ) {
    super(message);
  }
}

interface Waiting {
  command: Command;
  timer: ReturnType<typeof setTimeout>;
  resolve: (result: Json) => void;
  reject: (error: Error) => void;
}

const GONE = "the kernel is gone, so nothing can be done here any more";

export class Exchange {
  link: Link = "connecting";
  private waiting = new Map<string, Waiting>();
  private crying: ReturnType<typeof setTimeout> | undefined;
  private count = 0;
  private readonly name = Math.random().toString(36).slice(2, 8);

  /** `changed` is called when the link or what is on its way has changed; `hello` makes the message that asks for all. */
  constructor(
    private readonly carry: (message: ToKernel) => void,
    private readonly hail: () => ToKernel,
    private readonly changed: () => void,
  ) {}

  ask(command: Command): Promise<Json> {
    if (this.link === "gone") return Promise.reject(new Refused(GONE, "Gone"));
    const cid = `${this.name}-${++this.count}`;
    const answer = new Promise<Json>((resolve, reject) => {
      const timer = setTimeout(() => this.hello(SHORT), PATIENCE);
      this.waiting.set(cid, { command, timer, resolve, reject });
    });
    this.send({ t: "cmd", v: VERSION, cid, ...command });
    this.changed();
    return answer;
  }

  /** Whether a command of this name is on its way. */
  asked(name: Command["cmd"]): boolean {
    return [...this.waiting.values()].some(({ command }) => command.cmd === name);
  }

  /** A command has arrived and waits for its turn, however long that is. */
  taken(cid: string): void {
    clearTimeout(this.waiting.get(cid)?.timer);
    this.listening();
  }

  answered(cid: string, result: Json | Refused): void {
    const found = this.waiting.get(cid);
    if (!found) return;
    this.waiting.delete(cid);
    clearTimeout(found.timer);
    this.listening();
    if (result instanceof Refused) found.reject(result);
    else found.resolve(result);
  }

  /** Ask for all anew. One question is out at a time. */
  hello(patience = PATIENCE): void {
    if (this.link === "gone" || this.crying !== undefined) return;
    this.crying = setTimeout(() => this.unheard(), patience);
    this.send(this.hail());
  }

  /** All has come anew. */
  greeted(): void {
    clearTimeout(this.crying);
    this.crying = undefined;
    this.link = this.link === "gone" ? "gone" : "live";
  }

  gone(): void {
    this.close();
    this.link = "gone";
    for (const { timer, reject } of this.waiting.values()) {
      clearTimeout(timer);
      reject(new Refused(GONE, "Gone"));
    }
    this.waiting.clear();
    this.changed();
  }

  close(): void {
    clearTimeout(this.crying);
    for (const { timer } of this.waiting.values()) clearTimeout(timer);
  }

  send(message: ToKernel): void {
    try {
      this.carry(message);
    } catch {
      this.gone(); // a line that was closed throws
    }
  }

  private listening(): void {
    if (this.link === "late") this.link = "live";
  }

  private unheard(): void {
    this.link = this.link === "live" || this.link === "late" ? "late" : "silent";
    this.crying = setTimeout(() => this.unheard(), AGAIN);
    this.send(this.hail());
    this.changed();
  }
}
