/**
 * A widget model whose other end is a server instead of a kernel: what Jupyter carries over a comm crosses a websocket.
 *
 * The line may drop at any time. What is sent meanwhile is lost; when the line is back, the widget says hello, and asks
 * again for what was not answered.
 */

import type { FromKernel, Head, ToKernel, Traits } from "../src/protocol";

type Listener = (message: FromKernel) => void;

/** What the server sends: a message to the view, or changed traits. */
interface Frame {
  custom?: FromKernel;
  traits?: Partial<Traits>;
}

/** The code with which the server closes the line to a run that it does not have. */
const GONE = 4404;

/** Milliseconds before the line is opened again: twice as many after each attempt in vain, with some chance in it. */
const FIRST_WAIT = 250;
const LAST_WAIT = 15_000;

/** Who wants to know what. */
export interface Page {
  /** The line has been opened (true) or lost (false). */
  onLine?: (isOpen: boolean) => void;
  /** The state of the run apart from its entries. */
  onHead?: (head: Head) => void;
  /** A fork was made here. */
  onFork?: (run: string) => void;
}

export class SocketModel {
  readonly widget_manager = {};
  comm_live = true;
  private readonly traits: Traits = { run_id: "", status: "", seq: 0, uid: "", moment: 0, module: "" };
  private readonly listeners = new Map<string, Set<Listener>>();
  private socket: WebSocket | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private wait = FIRST_WAIT;
  private isClosed = false;

  constructor(
    private readonly url: string,
    readonly run: string,
    private readonly page: Page = {},
  ) {
    this.traits.run_id = this.traits.uid = run;
    this.open();
  }

  get(name: keyof Traits): string | number {
    return this.traits[name];
  }

  on(name: string, listener: Listener): void {
    this.listeners.set(name, (this.listeners.get(name) ?? new Set()).add(listener));
  }

  off(name: string, listener: Listener): void {
    this.listeners.get(name)?.delete(listener);
  }

  /** Send a message if the line is open. It never throws: the widget takes that as the end of the kernel. */
  send(message: ToKernel): void {
    if (message.t === "cmd" && message.cmd === "fork") this.forks.add(message.cid);
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.socket?.close();
  }

  /** Open the line now if it is waiting to be opened: the computer has woken up, or is online again. */
  retry(): void {
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.open();
  }

  private readonly forks = new Set<string>();

  private open(): void {
    this.timer = undefined;
    const socket = new WebSocket(this.url);
    this.socket = socket;
    socket.onopen = () => {
      this.wait = FIRST_WAIT;
      this.page.onLine?.(true);
      this.emit("comm:open");
    };
    socket.onmessage = ({ data }) => this.receive(JSON.parse(String(data)));
    socket.onclose = ({ code }) => this.closed(code);
  }

  private receive({ custom, traits }: Frame): void {
    if (traits) {
      Object.assign(this.traits, traits);
      for (const name of Object.keys(traits)) this.emit(`change:${name}`);
    }
    if (!custom) return;
    this.emit("msg:custom", custom);
    if (custom.t === "reset") this.page.onHead?.(custom.head);
    if (custom.t === "events") for (const event of custom.ev) if (event.k === "head") this.page.onHead?.(event.head);
    if (custom.t === "nak") this.forks.delete(custom.cid);
    if (custom.t === "ack" && this.forks.delete(custom.cid)) this.page.onFork?.((custom.result as { run: string }).run);
  }

  private closed(code: number): void {
    if (this.isClosed) return;
    this.page.onLine?.(false);
    if (code === GONE) {
      this.comm_live = false;
      this.emit("comm:close");
      return;
    }
    this.timer = setTimeout(() => this.open(), this.wait * (0.5 + Math.random()));
    this.wait = Math.min(LAST_WAIT, 2 * this.wait);
  }

  private emit(name: string, message?: FromKernel): void {
    for (const listener of [...(this.listeners.get(name) ?? [])]) listener(message as FromKernel);
  }
}
