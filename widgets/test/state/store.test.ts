import { beforeEach, expect, test, vi } from "vitest";
import { state } from "../../dev/states";
import type { Card, FromKernel, ToKernel, ViewEvent } from "../../src/protocol";
import { Store } from "../../src/state/store";
import { PLAIN_PAGE } from "../support/fakeKernel";

const reset = state("paused").messages[0] as Extract<FromKernel, { t: "reset" }>;
const { run, seq } = reset;

let sent: ToKernel[];
let replaced: [number, object][];
let isShown: boolean;
let store: Store;

beforeEach(() => {
  sent = [];
  replaced = [];
  isShown = false;
  store = new Store({
    send: (message) => void sent.push(message),
    can: { insert: true, settle: true, dock: false },
    insert: (cells) => cells.length,
    setMoment: (moment, data) => replaced.push([moment, data]) + 1,
    dock: () => 0,
    isShown: () => isShown,
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
  const command = sent.filter((message) => message.t === "cmd").pop() as Extract<ToKernel, { t: "cmd" }>;
  const { cid } = command;
  store.receive(
    typeof result === "string"
      ? { t: "nak", v: 1, cid, error: result, type: "UsageError" }
      : { t: "ack", v: 1, cid, result: result as never },
  );
}

test("a reset replaces the whole state", () => {
  store.receive(reset);
  expect(store.ready && store.connectionState).toBe("connected");
  expect(store.total).toBe(reset.total);
  expect(store.cards[1]?.id).toBe(reset.cards[1]?.id);
});

test("a performed step is appended, and an edit replaces what comes after it", () => {
  store.receive(reset);
  const { total } = reset;
  store.receive(
    events(1, { k: "line", keep: total, first: total, cards: [card(50, total)], total: total + 1, map: "t" }),
  );
  expect([store.total, store.map.length, store.cards[total]?.id]).toEqual([total + 1, total + 1, 50]);
  store.receive(events(2, { k: "line", keep: 1, first: 1, cards: [card(60, 1)], total: 2, map: "T" }));
  expect([store.total, store.map, store.cards[1]?.id]).toEqual([2, "bT", 60]);
});

test("a missing number makes the store ask for a reset once, and ignore events until then", () => {
  store.receive(reset);
  store.receive(events(2, { k: "line", keep: 0, first: 0, cards: [], total: 0, map: "" }));
  store.receive(events(3, { k: "line", keep: 0, first: 0, cards: [], total: 0, map: "" }));
  expect(hellos()).toBe(1);
  expect(store.total).toBe(reset.total);
  store.receive({ ...reset, seq: seq + 3 });
  store.receive(events(4, { k: "line", keep: 0, first: 0, cards: [], total: 0, map: "" }));
  expect(store.total).toBe(0);
});

test("a lost answer is noticed at the next message, and asked for again", async () => {
  store.receive(reset);
  const executed = store.execute({ cmd: "step" });
  const { cid } = sent.at(-1) as Extract<ToKernel, { t: "cmd" }>;
  store.receive({ t: "taken", v: 1, seq: seq + 1, cid });
  expect([hellos(), store.isExecuting("step")]).toEqual([0, true]);
  store.receive({ ...events(3, { k: "line", keep: 0, first: 0, cards: [], total: 0, map: "" }) });
  expect(sent.at(-1)).toMatchObject({ t: "hello", unanswered: [cid] });
  store.receive({ ...reset, seq: seq + 4 });
  store.receive({ t: "ack", v: 1, seq: seq + 5, cid, result: null });
  await executed;
  expect([hellos(), store.isExecuting("step")]).toEqual([1, false]);
});

test("an answer that arrives after a gap counts, and the gap is asked about", async () => {
  store.receive(reset);
  const executed = store.execute({ cmd: "step" });
  const { cid } = sent.at(-1) as Extract<ToKernel, { t: "cmd" }>;
  store.receive({ t: "ack", v: 1, seq: seq + 2, cid, result: null });
  await executed;
  expect(sent.at(-1)).toMatchObject({ t: "hello", unanswered: [] });
});

test("hello is said again at once when the channel was interrupted, also if one is unanswered", async () => {
  store.receive(reset);
  store.hello();
  const executed = store.execute({ cmd: "step" });
  const { cid } = sent.at(-1) as Extract<ToKernel, { t: "cmd" }>;
  store.hello();
  expect(hellos()).toBe(1);
  store.reopened();
  expect([hellos(), sent.at(-1)]).toMatchObject([2, { t: "hello", unanswered: [cid] }]);
  store.receive(reset);
  store.receive({ t: "ack", v: 1, cid, result: null });
  await executed;
});

test("events that were received before are ignored", () => {
  store.receive(reset);
  store.receive(events(0, { k: "line", keep: 0, first: 0, cards: [], total: 0, map: "" }));
  expect([store.total, hellos()]).toEqual([reset.total, 0]);
});

test("a line that would leave a gap makes the store ask for a reset", () => {
  store.receive(reset);
  store.receive(events(1, { k: "line", keep: 99, first: 99, cards: [card(50, 99)], total: 100, map: "t" }));
  expect(hellos()).toBe(1);
});

test("unknown kinds of messages, and what is not a message at all, change nothing", () => {
  store.receive(reset);
  store.receive({ t: "fireworks", v: 9 } as unknown as FromKernel);
  store.receive(null as unknown as FromKernel);
  store.receive("reset" as unknown as FromKernel);
  store.receive(
    events(1, { k: "sparks" } as unknown as ViewEvent, { k: "head", head: { ...reset.head, task: "new" } }),
  );
  expect([store.head.task, hellos()]).toEqual(["new", 0]);
});

test("the trait that counts messages reveals that the last one was lost", () => {
  store.receive(reset);
  store.checkSequence(seq);
  expect(hellos()).toBe(0);
  store.checkSequence(seq + 1);
  expect(hellos()).toBe(1);
});

test("a command resolves to its result, or rejects with the reason", async () => {
  store.receive(reset);
  const branches = store.execute({ cmd: "branches" });
  answer([1]);
  expect(await branches).toEqual([1]);
  const refused = store.execute({ cmd: "play" });
  answer("somebody else is driving");
  await expect(refused).rejects.toThrow("somebody else is driving");
});

test("an answer to an unknown command is ignored", () => {
  store.receive(reset);
  expect(() => store.receive({ t: "ack", v: 1, cid: "forged", result: null })).not.toThrow();
});

test("the pieces of a reply are joined by position, and discarded when the call has ended", () => {
  store.receive(reset);
  store.receive(
    events(
      1,
      { k: "delta", path: "", index: 7, text: "a", reasoning: "" },
      { k: "delta", path: "x", index: 7, text: "b", reasoning: "" },
    ),
  );
  store.receive(events(2, { k: "delta", path: "", index: 7, text: "c", reasoning: "r" }));
  expect(store.partialReply("", 7)).toEqual({ text: "ac", reasoning: "r" });
  const { total } = reset;
  store.receive(
    events(
      3,
      { k: "line", keep: total, first: total, cards: [card(50, total)], total: total + 1, map: "t" },
      { k: "undelta", path: "", index: 7 },
    ),
  );
  expect([store.partialReply("", 7), store.partialReply("x", 7)?.text]).toEqual([undefined, "b"]);
});

test("siblings are added to cards that are loaded", () => {
  store.receive(reset);
  const id = reset.cards[1]?.id as number;
  store.receive(events(1, { k: "siblings", of: { [id]: [id, 77], 999: [1, 2] } }));
  expect(store.cards[1]?.siblings).toEqual([id, 77]);
});

test("older cards are loaded in pages until the range has no gap", async () => {
  const tail = reset.cards.slice(-1);
  store.receive({ ...reset, first: 500, total: 501, cards: tail });
  const loaded = store.load(0, 501);
  while (store.trace.firstGap(0, 501) >= 0) {
    const { before, count } = sent[sent.length - 1] as unknown as { before: number; count: number };
    answer({
      first: before - count,
      cards: Array.from({ length: count }, (_, n) => card(1_000 + before - count + n, before - count + n)),
    });
    await Promise.resolve();
    await Promise.resolve();
    await Promise.resolve();
  }
  await loaded;
  expect(sent.filter((message) => message.t === "cmd").length).toBe(2);
  expect(store.cards[250]?.id).toBe(1_250);
});

test("who needs cards that are being loaded already waits for them, and they are asked for once", async () => {
  store.receive({ ...reset, first: 1, total: 2, cards: reset.cards.slice(-1) });
  const loaded = store.load(0, 2);
  const needed = store.load(0, 2).then(() => store.cards[0]?.id);
  answer({ first: 0, cards: [card(1_000, 0)] });
  expect(await needed).toBe(1_000);
  await loaded;
  expect(sent.filter((message) => message.t === "cmd").length).toBe(1);
});

test.each<[string, object | string, string]>([
  ["refuses", "the journal is gone", "the journal is gone"],
  ["answers without them", { first: 0, cards: [] }, "the kernel answered without them"],
])("if the kernel %s, cards are not asked for again until somebody tries", async (_, result, problem) => {
  store.receive({ ...reset, first: 500, total: 501, cards: reset.cards.slice(-1) });
  const asked = (): number => sent.filter((message) => message.t === "cmd").length;
  store.subscribe(() => void store.load(0, 501)); // as the timeline does with each version
  const loaded = store.load(0, 501);
  answer(result);
  await loaded;
  expect([store.loadProblem, asked()]).toEqual([problem, 1]);
  store.retryLoading();
  expect([store.loadProblem, asked()]).toEqual(["", 2]);
});

test("of many new cards only the last arrive, and the others are loaded when they are needed", async () => {
  store.receive(reset);
  const { total } = reset;
  const map = "t".repeat(500 - total);
  store.receive(events(1, { k: "line", keep: total, first: 499, cards: [card(50, 499)], total: 500, map }));
  expect([store.total, store.map.length, store.cards[499]?.id, store.cards[498], hellos()]).toEqual([
    500,
    500,
    50,
    undefined,
    0,
  ]);
  void store.load(400, 500);
  expect(sent[sent.length - 1]).toMatchObject({ cmd: "page", before: 499 + 1, count: 100 });
});

test("cells are inserted, and the answer is their number", () => {
  store.receive(reset);
  store.receive({ t: "insert", v: 1, cid: "k1", cells: [{ cell_type: "markdown", source: "", metadata: {} }] });
  expect(sent[sent.length - 1]).toEqual({ t: "did", v: 1, cid: "k1", count: 1 });
});

test("the outputs of a moment are replaced, and the answer is their number", () => {
  store.receive({ t: "moment", v: 1, cid: "moment-3", moment: 3, data: { "text/html": "<p>" } });
  expect(replaced).toEqual([[3, { "text/html": "<p>" }]]);
  expect(sent).toEqual([{ t: "did", v: 1, cid: "moment-3", count: 2 }]);
});

test("a page answers whether it shows the run only if it does", () => {
  store.receive({ t: "shown?", v: 1 });
  expect(sent).toEqual([]);
  isShown = true;
  store.receive({ t: "shown?", v: 1 });
  expect(sent).toEqual([{ t: "shown" }]);
});

test("when the kernel is gone, no command waits and nothing is sent", async () => {
  vi.useFakeTimers();
  store.receive(reset);
  const playing = store.execute({ cmd: "play" });
  store.lose();
  await expect(playing).rejects.toThrow("gone");
  const before = sent.length;
  await expect(store.execute({ cmd: "play" })).rejects.toThrow("gone");
  store.hello();
  vi.advanceTimersByTime(60_000);
  expect(sent.length).toBe(before);
  vi.useRealTimers();
});

test("a channel that throws counts as lost", async () => {
  const dead = new Store({
    ...PLAIN_PAGE,
    send: () => {
      throw new Error("comm is closed");
    },
  });
  dead.hello();
  expect(dead.connectionState).toBe("lost");
});
