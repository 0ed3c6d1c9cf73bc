import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { FromKernel } from "../../src/protocol";
import { SocketModel } from "../../web/socketModel";

/** A websocket whose other end is the test. */
class Socket {
  static readonly OPEN = 1;
  static all: Socket[] = [];
  readyState = 0;
  readonly sent: string[] = [];
  onopen = (): void => undefined;
  onmessage = (_: { data: string }): void => undefined;
  onclose = (_: { code: number }): void => undefined;

  constructor(readonly url: string) {
    Socket.all.push(this);
  }

  static get last(): Socket {
    return Socket.all.at(-1) as Socket;
  }

  send(text: string): void {
    if (this.readyState !== Socket.OPEN) throw new Error("InvalidStateError");
    this.sent.push(text);
  }

  open(): void {
    this.readyState = Socket.OPEN;
    this.onopen();
  }

  close(code = 1006): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.onclose({ code });
  }

  deliver(frame: object): void {
    this.onmessage({ data: JSON.stringify(frame) });
  }
}

beforeEach(() => {
  Socket.all = [];
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", Socket);
  vi.spyOn(Math, "random").mockReturnValue(0.5);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function follow(model: SocketModel, name: string): (FromKernel | undefined)[] {
  const heard: (FromKernel | undefined)[] = [];
  model.on(name, (message) => heard.push(message));
  return heard;
}

const STEP = { t: "cmd", v: 1, cid: "a-1", cmd: "step" } as const;
const FORK = { t: "cmd", v: 1, cid: "a-2", cmd: "fork", entry: 3 } as const;

test("messages and traits arrive as those of a widget model", () => {
  const model = new SocketModel("ws://x/", "run-1");
  const [messages, changes] = [follow(model, "msg:custom"), follow(model, "change:seq")];
  Socket.last.open();
  Socket.last.deliver({ custom: { t: "taken", v: 1, cid: "a-1" } });
  Socket.last.deliver({ traits: { seq: 7, status: "paused" } });
  expect(messages).toEqual([{ t: "taken", v: 1, cid: "a-1" }]);
  expect(changes).toHaveLength(1);
  expect([model.get("seq"), model.get("status"), model.get("run_id"), model.get("moment")]).toEqual([
    7,
    "paused",
    "run-1",
    0,
  ]);
});

test("what is sent while the line is down is lost, and never throws", () => {
  const model = new SocketModel("ws://x/", "run-1");
  model.send(STEP);
  Socket.last.open();
  model.send(STEP);
  Socket.last.close();
  model.send(STEP);
  expect(Socket.all.flatMap(({ sent }) => sent)).toEqual([JSON.stringify(STEP)]);
});

test("a line that was lost is opened again, less and less often, and each opening is told", () => {
  const lines: boolean[] = [];
  const model = new SocketModel("ws://x/", "run-1", { onLine: (isOpen) => lines.push(isOpen) });
  const opened = follow(model, "comm:open");
  Socket.last.open();
  Socket.last.close();
  for (const wait of [250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]) {
    const before = Socket.all.length;
    vi.advanceTimersByTime(wait - 1);
    expect(Socket.all).toHaveLength(before);
    vi.advanceTimersByTime(1);
    expect(Socket.all).toHaveLength(before + 1);
    Socket.last.close();
  }
  model.retry();
  Socket.last.open();
  Socket.last.close();
  vi.advanceTimersByTime(250);
  Socket.last.open();
  expect(opened).toHaveLength(3);
  expect(lines.filter(Boolean)).toHaveLength(3);
});

test("a line that is open or closed for good is not opened again", () => {
  const model = new SocketModel("ws://x/", "run-1");
  Socket.last.open();
  model.retry();
  model.close();
  vi.runAllTimers();
  expect(Socket.all).toHaveLength(1);
});

test("a run that the server does not have ends the model as a kernel that is gone does", () => {
  const model = new SocketModel("ws://x/", "run-1");
  const closed = follow(model, "comm:close");
  Socket.last.open();
  Socket.last.close(4404);
  vi.runAllTimers();
  expect(closed).toHaveLength(1);
  expect(model.comm_live).toBe(false);
  expect(Socket.all).toHaveLength(1);
});

test("a fork that was made here is shown here, and one of another page is not", () => {
  const forks: string[] = [];
  const model = new SocketModel("ws://x/", "run-1", { onFork: (run) => forks.push(run) });
  Socket.last.open();
  model.send(FORK);
  Socket.last.deliver({ custom: { t: "ack", v: 1, cid: "b-1", result: { run: "theirs", forecast: "" } } });
  Socket.last.deliver({ custom: { t: "ack", v: 1, cid: "a-2", result: { run: "ours", forecast: "" } } });
  Socket.last.deliver({ custom: { t: "ack", v: 1, cid: "a-2", result: { run: "ours", forecast: "" } } });
  expect(forks).toEqual(["ours"]);
});
