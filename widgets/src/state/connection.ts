/** The connection to the kernel: commands and their answers, and whether there is a kernel that responds. */

import { type Json, type ToKernel, VERSION } from "../protocol";

/** Milliseconds to wait for an answer before probing whether the kernel responds at all. */
export const RESPONSE_TIMEOUT = 3_000;
/** Milliseconds to wait for the answer to a probe, which a listening kernel sends at once, however busy it is. */
export const PROBE_TIMEOUT = 700;
/** Milliseconds between two attempts to reach a kernel that does not respond. */
export const RETRY_INTERVAL = 10_000;

/**
 * `connecting`: nothing has arrived yet; `unanswered`: nor within the time limit; `unresponsive`: an answer is overdue;
 * `lost`: the kernel, or this model's channel to it, is gone for good.
 */
export type ConnectionState = "connecting" | "unanswered" | "connected" | "unresponsive" | "lost";

/** A command was refused or could not be sent; the message says why. */
export class CommandError extends Error {
  constructor(
    message: string,
    readonly type: string,
  ) {
    super(message);
  }
}

interface SentCommand {
  name: string;
  timer: ReturnType<typeof setTimeout>;
  resolve: (result: never) => void;
  reject: (error: Error) => void;
}

const LOST = "the kernel is gone, so this view can no longer control the run";

export class Connection {
  state: ConnectionState = "connecting";
  private readonly sent = new Map<string, SentCommand>();
  private helloTimer: ReturnType<typeof setTimeout> | undefined;
  private count = 0;
  private readonly prefix = Math.random().toString(36).slice(2, 8);

  /** Call `onChange` when the state or the set of unanswered commands has changed. */
  constructor(
    private readonly transmit: (message: ToKernel) => void,
    private readonly helloMessage: (unanswered: string[]) => ToKernel,
    private readonly onChange: () => void,
  ) {}

  /** Send a command. Return its result, which is taken on trust, or reject with a `CommandError`. */
  execute<R>(command: { cmd: string }): Promise<R> {
    if (this.state === "lost") return Promise.reject(new CommandError(LOST, "Lost"));
    const cid = `${this.prefix}-${++this.count}`;
    const result = new Promise<R>((resolve, reject) => {
      const timer = setTimeout(() => this.hello(PROBE_TIMEOUT), RESPONSE_TIMEOUT);
      this.sent.set(cid, { name: command.cmd, timer, resolve, reject });
    });
    this.send({ t: "cmd", v: VERSION, cid, ...command } as ToKernel);
    this.onChange();
    return result;
  }

  /** Whether a command of this name is unanswered. */
  isExecuting(name: string): boolean {
    return [...this.sent.values()].some((command) => command.name === name);
  }

  /** The kernel has queued a command, which may now take any time. */
  queued(cid: string): void {
    clearTimeout(this.sent.get(cid)?.timer);
    this.heard();
  }

  succeeded(cid: string, result: Json): void {
    // the kernel answers each command as `Results` in the protocol says: the only place where that is taken on trust
    this.take(cid)?.resolve(result as never);
  }

  failed(cid: string, error: CommandError): void {
    this.take(cid)?.reject(error);
  }

  /** Ask for the whole state, unless that is being asked already. */
  hello(timeout = RESPONSE_TIMEOUT): void {
    if (this.state === "lost" || this.helloTimer !== undefined) return;
    this.helloTimer = setTimeout(() => this.helloTimedOut(), timeout);
    this.send(this.helloMessage([...this.sent.keys()]));
  }

  /** The channel is open again after an interruption, in which messages may have been lost. */
  reopened(): void {
    clearTimeout(this.helloTimer);
    this.helloTimer = undefined;
    this.hello();
  }

  /** The whole state has arrived. */
  helloAnswered(): void {
    clearTimeout(this.helloTimer);
    this.helloTimer = undefined;
    if (this.state !== "lost") this.state = "connected";
  }

  /** The kernel, or the channel to it, is gone for good. */
  lose(): void {
    this.close();
    this.state = "lost";
    for (const { reject } of this.sent.values()) reject(new CommandError(LOST, "Lost"));
    this.sent.clear();
    this.onChange();
  }

  close(): void {
    clearTimeout(this.helloTimer);
    for (const { timer } of this.sent.values()) clearTimeout(timer);
  }

  send(message: ToKernel): void {
    try {
      this.transmit(message);
    } catch {
      this.lose(); // a closed channel throws
    }
  }

  private take(cid: string): SentCommand | undefined {
    const command = this.sent.get(cid);
    if (!command) return undefined;
    this.sent.delete(cid);
    clearTimeout(command.timer);
    this.heard();
    return command;
  }

  private heard(): void {
    if (this.state === "unresponsive") this.state = "connected";
  }

  private helloTimedOut(): void {
    this.state = this.state === "connected" || this.state === "unresponsive" ? "unresponsive" : "unanswered";
    this.helloTimer = setTimeout(() => this.helloTimedOut(), RETRY_INTERVAL);
    this.send(this.helloMessage([...this.sent.keys()]));
    this.onChange();
  }
}
