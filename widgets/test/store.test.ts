import { beforeEach, expect, test, vi } from "vitest";
import { state } from "../dev/states";
import type { Card, FromKernel, ToKernel, ViewEvent } from "../src/protocol";
import { Store } from "../src/store";

const reset = state("paused").messages[0] as Extract<FromKernel, { t: "reset" }>;
const { run, seq } = reset;

let sent: ToKernel[];
let store: Store;

beforeEach(() => {
  sent = [];
  store = new Store({
    send: (message) => void sent.push(message),
    can: { insert: true, freeze: true },
    insert: (cells) => cells.length,
    freeze: () => 2,
  });
  return () => store.close();
});

function events(at: number, ...ev: ViewEvent[]): FromKernel {
  return { t: "events", v: 1, run, seq: seq + at, ev };
}

function hellos(): number {
  return sent.filter((message) => message.t === "hello").length;
}

function card(id: number, n: number): Card {
  return { ...(reset.cards[1] as Card), id, n };
}

function answer(result: object | string): void {
  const asked = sent.filter((message) => message.t === "cmd").pop() as Extract<ToKernel, { t: "cmd" }>;
  const { cid } = asked;
  store.take(
    typeof result === "string"
      ? { t: "nak", v: 1, cid, error: result, type: "UsageError" }
      : { t: "ack", v: 1, cid, result: result as never },
  );
}

test("a reset is taken whole", () => {
  store.take(reset);
  expect(store.ready && store.link).toBe("live");
  expect(store.total).toBe(reset.total);
  expect(store.cards[1]?.id).toBe(reset.cards[1]?.id);
});

test("a step that was taken is added, an edit replaces what comes after it", () => {
  store.take(reset);
  const { total } = reset;
  store.take(events(1, { k: "line", keep: total, cards: [card(50, total)], total: total + 1, map: "t" }));
  expect([store.total, store.map.length, store.cards[total]?.id]).toEqual([total + 1, total + 1, 50]);
  store.take(events(2, { k: "line", keep: 1, cards: [card(60, 1)], total: 2, map: "T" }));
  expect([store.total, store.map, store.cards[1]?.id]).toEqual([2, "bT", 60]);
});

test("a missing number is asked for once, and what comes until the reset is not applied", () => {
  store.take(reset);
  store.take(events(2, { k: "line", keep: 0, cards: [], total: 0, map: "" }));
  store.take(events(3, { k: "line", keep: 0, cards: [], total: 0, map: "" }));
  expect(hellos()).toBe(1);
  expect(store.total).toBe(reset.total);
  store.take({ ...reset, seq: seq + 3 });
  store.take(events(4, { k: "line", keep: 0, cards: [], total: 0, map: "" }));
  expect(store.total).toBe(0);
});

test("what was seen already is passed over", () => {
  store.take(reset);
  store.take(events(0, { k: "line", keep: 0, cards: [], total: 0, map: "" }));
  expect([store.total, hellos()]).toEqual([reset.total, 0]);
});

test("a line that leaves a gap is asked for anew", () => {
  store.take(reset);
  store.take(events(1, { k: "line", keep: 99, cards: [card(50, 99)], total: 100, map: "t" }));
  expect(hellos()).toBe(1);
});

test("kinds that are not known, and what is no message at all, change nothing", () => {
  store.take(reset);
  store.take({ t: "fireworks", v: 9 } as unknown as FromKernel);
  store.take(null as unknown as FromKernel);
  store.take("reset" as unknown as FromKernel);
  store.take(events(1, { k: "sparks" } as unknown as ViewEvent, { k: "head", head: { ...reset.head, task: "new" } }));
  expect([store.head.task, hellos()]).toEqual(["new", 0]);
});

test("the trait that counts messages betrays that the last one was lost", () => {
  store.take(reset);
  store.sent(seq);
  expect(hellos()).toBe(0);
  store.sent(seq + 1);
  expect(hellos()).toBe(1);
});

test("a command gives its result, or rejects with the reason", async () => {
  store.take(reset);
  const given = store.ask({ cmd: "branches" });
  answer([1]);
  expect(await given).toEqual([1]);
  const refused = store.ask({ cmd: "play" });
  answer("somebody else drives");
  await expect(refused).rejects.toThrow("somebody else drives");
});

test("an answer to nobody is passed over", () => {
  store.take(reset);
  expect(() => store.take({ t: "ack", v: 1, cid: "forged", result: null })).not.toThrow();
});

test("pieces of a reply are put together by place, and end with the entry", () => {
  store.take(reset);
  store.take(
    events(
      1,
      { k: "delta", path: "", index: 7, text: "a", reasoning: "" },
      { k: "delta", path: "x", index: 7, text: "b", reasoning: "" },
    ),
  );
  store.take(events(2, { k: "delta", path: "", index: 7, text: "c", reasoning: "r" }));
  expect(store.streaming("", 7)).toEqual({ text: "ac", reasoning: "r" });
  const { total } = reset;
  store.take(
    events(3, { k: "line", keep: total, cards: [{ ...card(50, total), path: "", index: 7 }], total: total + 1, map: "t" }),
  );
  expect([store.streaming("", 7), store.streaming("x", 7)?.text]).toEqual([undefined, "b"]);
});

test("siblings arrive for cards that are there", () => {
  store.take(reset);
  const id = reset.cards[1]?.id as number;
  store.take(events(1, { k: "siblings", of: { [id]: [id, 77], 999: [1, 2] } }));
  expect(store.cards[1]?.siblings).toEqual([id, 77]);
});

test("older cards come in pages, until the stretch has no hole", async () => {
  const tail = reset.cards.slice(-1);
  store.take({ ...reset, first: 500, total: 501, cards: tail });
  const needed = store.need(0, 501);
  while (store.trace.hole(0, 501) >= 0) {
    const { before, count } = sent[sent.length - 1] as unknown as { before: number; count: number };
    answer({
      first: before - count,
      cards: Array.from({ length: count }, (_, n) => card(1_000 + before - count + n, before - count + n)),
    });
    await Promise.resolve();
    await Promise.resolve();
    await Promise.resolve();
  }
  await needed;
  expect(sent.filter((message) => message.t === "cmd").length).toBe(3);
  expect(store.cards[250]?.id).toBe(1_250);
});

test("cells are put in and the count is answered", () => {
  store.take(reset);
  store.take({ t: "insert", v: 1, cid: "k1", cells: [{ cell_type: "markdown", source: "", metadata: {} }] });
  expect(sent[sent.length - 1]).toEqual({ t: "did", v: 1, cid: "k1", count: 1 });
});

test("the picture waits while a person is at a view, and comes when they leave or the notebook is saved", () => {
  let held = true;
  store.add(() => held);
  store.take({ ...reset, head: { ...reset.head, answer: "42" } });
  store.take({ t: "freeze", v: 1, cid: "k2", now: false, data: {} });
  store.settle(false);
  expect([store.settling, sent.length]).toEqual([true, 0]);
  held = false;
  store.settle(false);
  expect(sent).toEqual([{ t: "did", v: 1, cid: "k2", count: 2 }]);
  held = true;
  store.take({ t: "freeze", v: 1, cid: "k3", now: false, data: {} });
  store.settle(true);
  expect(sent[1]).toEqual({ t: "did", v: 1, cid: "k3", count: 2 });
});

test("an undo takes the end back, and the picture with it", () => {
  store.add(() => true);
  store.take({ ...reset, head: { ...reset.head, answer: "42" } });
  store.take({ t: "freeze", v: 1, cid: "k2", now: false, data: {} });
  const head = { ...reset.head, answer: null };
  store.take({ t: "events", v: 1, run: reset.run, seq: reset.seq + 1, ev: [{ k: "head", head }] });
  store.settle(true);
  expect([store.settling, sent.length]).toEqual([false, 0]);
});

test("whoever presses Freeze need not leave first", () => {
  store.add(() => true);
  store.take(reset);
  store.ask({ cmd: "freeze" }).catch(() => undefined);
  store.take({ t: "freeze", v: 1, cid: "k4", now: true, data: {} });
  expect(store.settling).toBe(false);
});

test("when the kernel is gone, nothing waits and nothing is sent", async () => {
  vi.useFakeTimers();
  store.take(reset);
  const waits = store.ask({ cmd: "play" });
  store.gone();
  await expect(waits).rejects.toThrow("gone");
  const before = sent.length;
  await expect(store.ask({ cmd: "play" })).rejects.toThrow("gone");
  store.hello();
  vi.advanceTimersByTime(60_000);
  expect(sent.length).toBe(before);
  vi.useRealTimers();
});

test("a line that throws is a line that is gone", async () => {
  const dead = new Store({
    send: () => {
      throw new Error("comm is closed");
    },
    can: { insert: false, freeze: false },
    insert: () => 0,
    freeze: () => 0,
  });
  dead.hello();
  expect(dead.link).toBe("gone");
});
