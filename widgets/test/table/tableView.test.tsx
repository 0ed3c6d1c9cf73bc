import { act, fireEvent } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import type { Json } from "../../src/protocol";
import { TableStore } from "../../src/table/tableStore";
import { TableView } from "../../src/table/tableView";
import type {
  CellData,
  Figures,
  TableCommand,
  TableEvent,
  TableHead,
  TableProgress,
  TableRows,
} from "../../src/tableProtocol";
import { PLAIN_PAGE } from "../support/fakeKernel";
import { button, click, draw, expectHarmless, expectNoLeaks, HOSTILE, one, settled, texts } from "../support/render";

const head: TableHead = { name: "trial", variants: ["plain", "brief"], cases: 3, repeats: 2, failed: "zero" };
const progress: TableProgress = {
  status: "running",
  done: 6,
  all: 12,
  cached: 1,
  running: 2,
  counts: { scored: 5, failed: 1, missing: 6 },
  cost: 0.1234,
  rest_cost: 0.12,
  left: 125,
  question: "",
  problem: "",
  again: 1,
  opened: [],
  edited: 0,
};
const figures: Figures = {
  scores: ["score"],
  lines: [
    {
      variant: "plain",
      estimates: [[0.75, 0.5, 1]],
      scored: 5,
      counts: {},
      calls: 1,
      tokens: 1200,
      cost: 0.1,
      seconds: 0.5,
    },
    {
      variant: "brief",
      estimates: [null],
      scored: 0,
      counts: { failed: 1 },
      calls: null,
      tokens: null,
      cost: 0,
      seconds: null,
    },
  ],
  differences: [],
  remarks: ["Scores are means over the cases, with 95 % intervals."],
  comparing: false,
};

/** The cells of a case, of both variants; the case decides their states. */
function cells(number: number): CellData[] {
  const of = (variant: number, repeat: number): number => (variant * 3 + number) * 2 + repeat;
  return [
    [of(0, 0), "scored", [1], "34"],
    [of(0, 1), "scored", [0.55], "35"],
    [of(1, 0), "failed", [null], "no host"],
    [of(1, 1), "missing"],
  ];
}

const rows: TableRows = {
  total: 3,
  first: 0,
  rows: [0, 1, 2].map((number) => ({
    case: number,
    id: `case ${number}`,
    task: `Task ${number}`,
    lost: 0,
    cells: cells(number),
  })),
};

interface Shown {
  page: HTMLElement;
  store: TableStore;
  commands: TableCommand[];
  send: (...events: TableEvent[]) => Promise<void>;
  progress: (change: Partial<TableProgress>) => Promise<void>;
}

async function shown(
  change: { head?: Partial<TableHead>; progress?: Partial<TableProgress>; figures?: Partial<Figures> } = {},
  given: TableRows = rows,
  refusal = "",
): Promise<Shown> {
  const commands: TableCommand[] = [];
  const store: TableStore = new TableStore({
    ...PLAIN_PAGE,
    send: (message) => {
      if (message.t !== "cmd") return;
      const { t: _, v, cid, ...command } = message;
      commands.push(command as unknown as TableCommand);
      const result = (command.cmd as string) === "rows" ? (given as unknown as Json) : null;
      queueMicrotask(() =>
        store.receive(
          refusal && (command.cmd as string) !== "rows"
            ? { t: "nak", v, cid, error: refusal, type: "UsageError" }
            : { t: "ack", v, cid, result },
        ),
      );
    },
  });
  let seq = 1;
  const reset = {
    t: "reset",
    v: 1,
    run: "trial",
    seq,
    head: { ...head, ...change.head },
    progress: { ...progress, ...change.progress },
    figures: { ...figures, ...change.figures },
  };
  store.receive(reset as never);
  const page = await draw(<TableView store={store} />);
  const send = async (...ev: TableEvent[]): Promise<void> => {
    await act(() => store.receive({ t: "events", v: 1, run: "trial", seq: ++seq, ev } as never));
  };
  return {
    page,
    store,
    commands,
    send,
    progress: (more) => send({ k: "progress", progress: { ...progress, ...change.progress, ...more } }),
  };
}

const mark = (page: HTMLElement, cell: number): HTMLElement => one(page, `button[data-cell="${cell}"]`);

test("it tells how far it is, what it has cost and how long it takes, and stops", async () => {
  const { page, commands, progress } = await shown();
  expect(one(page, ".ak-e-table-bar").textContent).toContain(
    "6 of 12 runs · 1 known before · 2 under way · $0.12 so far · about 2 min left",
  );
  expect(one(page, "progress").getAttribute("value")).toBe("6");
  await click(button(page, "Stop"));
  expect(commands.at(-1)).toEqual({ cmd: "stop" });
  await progress({ status: "stopping" });
  expect(page.textContent).toContain("Stopping…");
  await progress({ status: "stopped", left: null, edited: 1 });
  expect(page.textContent).toContain("The rest will cost about $0.12.");
  await click(button(page, "Go on: 6 runs missing · Try again: 1 failed · Score again: 1 changed"));
  expect(commands.at(-1)).toEqual({ cmd: "begin", question: "" });
});

test("a question is shown in full, and what is approved is this question", async () => {
  const question = "2 runs may call pay (irreversible), at most 2 times in all";
  const { page, commands } = await shown({ progress: { status: "asks", question, done: 0 } });
  expect(one(page, "[role=group][aria-label=Question]").textContent).toContain(question);
  expect(page.textContent).not.toContain("Go on");
  await click(button(page, "Approve, and begin"));
  expect(commands.at(-1)).toEqual({ cmd: "begin", question });
});

test("a mark says what it stands for, by letter, name and text, and opens its run", async () => {
  const { page, commands, progress } = await shown();
  expect([0, 1, 6, 7].map((cell) => mark(page, cell).textContent)).toEqual(["✓", "5", "!", "·"]);
  expect(mark(page, 1).getAttribute("aria-label")).toBe("plain, case case 0, repeat 1: score 0.55. 35");
  expect(mark(page, 6).getAttribute("aria-label")).toBe("brief, case case 0, repeat 0: failed. no host");
  await act(() => void fireEvent.mouseOver(mark(page, 6)));
  expect(one(page, ".ak-e-pointed").textContent).toBe("failed · brief, case case 0, repeat 0 · no host");
  await act(() => void fireEvent.click(mark(page, 6)));
  expect(commands.at(-1)).toEqual({ cmd: "open", cell: 6 });
  await progress({ opened: [6] });
  expect(mark(page, 6).getAttribute("aria-pressed")).toBe("true");
  await click(button(page, "Close brief, case case 0, repeat 0"));
  expect(commands.at(-1)).toEqual({ cmd: "close", cell: 6 });
});

test("one mark is in the tab order, and the arrow keys move from mark to mark", async () => {
  const { page } = await shown();
  const entries = (): (string | undefined)[] =>
    [...page.querySelectorAll<HTMLElement>("button[data-cell][tabindex='0']")].map((each) => each.dataset.cell);
  expect(entries()).toEqual(["0"]);
  const key = async (name: string): Promise<string | undefined> => {
    await act(() => void fireEvent.keyDown(document.activeElement as Element, { key: name, bubbles: true }));
    return (document.activeElement as HTMLElement).dataset.cell;
  };
  await act(() => mark(page, 0).focus());
  expect([await key("ArrowRight"), await key("ArrowRight"), await key("ArrowDown"), await key("Home")]).toEqual([
    "1",
    "6",
    "8",
    "2",
  ]);
  expect([await key("End"), await key("ArrowUp"), await key("ArrowUp")]).toEqual(["9", "7", "7"]);
  expectNoLeaks(page);
});

test("only what has changed is drawn again", async () => {
  const { page, send, store } = await shown();
  const other = mark(page, 2);
  const before = store.rows.rows[1];
  await send({ k: "cells", cells: [[7, "running"]] });
  expect(mark(page, 7).textContent).toBe("…");
  await send({
    k: "cells",
    cells: [
      [7, "scored", [0], "wrong"],
      [9_999, "scored", [1], "of another page"],
    ],
  });
  expect(mark(page, 7).textContent).toBe("✗");
  expect(mark(page, 2)).toBe(other);
  expect(store.rows.rows[1]).toBe(before);
});

test("a missed message is asked for again", async () => {
  const { store } = await shown();
  const hello = vi.spyOn(store, "hello");
  store.receive({ t: "events", v: 1, run: "trial", seq: 9, ev: [] } as never);
  expect(hello).toHaveBeenCalledOnce();
});

test("intervals are drawn on one axis, and their ends are told", async () => {
  const difference = {
    score: "score",
    variant: "brief",
    estimate: [-0.3, -0.6, 0.2] as [number, number, number],
    verdict: "cannot tell" as const,
    title: "brief - plain",
    counts: "better 0, worse 2, same 1; p 0.125 (sign flips)",
    hint: "this many cases would show a difference of about 0.40",
  };
  const { page } = await shown({ figures: { differences: [difference] } });
  expect(one(page, ".ak-e-interval").textContent).toBe("0.750 [0.500, 1.000]");
  expect(one(page, ".ak-e-whisker i").style.cssText).toContain("left: 50%; width: 50%");
  const text = one(page, ".ak-e-differences").textContent;
  expect(text).toContain("= cannot tell");
  expect(text).toContain("−0.300 [−0.600, +0.200]");
  expect(text).toContain("this many cases would show a difference of about 0.40");
});

test("other rows are asked for, and a late answer does not replace a newer one", async () => {
  const { page, commands, store } = await shown({}, { ...rows, total: 700 });
  expect(page.textContent).toContain("Cases 1 to 3 of 700");
  await click(button(page, "Next"));
  expect(commands.at(-1)).toMatchObject({ cmd: "rows", first: 3, order: "given", only: "all" });
  await act(() => void fireEvent.change(one(page, "select[aria-label=Sort]"), { target: { value: "lost" } }));
  await settled();
  expect(commands.at(-1)).toMatchObject({ cmd: "rows", first: 0, order: "lost" });
  await act(() =>
    store.receive({ t: "events", v: 1, run: "trial", seq: 2, ev: [{ k: "cells", cells: [[0, "failed"]] }] } as never),
  );
  await click(button(page, "Sort again"));
  expect(page.textContent).not.toContain("Sort again");
});

test("many repeats are folded until they are asked for", async () => {
  const many: CellData[] = Array.from({ length: 100 }, (_, n) => [n, "scored", [1], ""]);
  const row = { case: 0, id: "a", task: "", lost: 0, cells: many };
  const { page } = await shown(
    { head: { variants: ["plain"], cases: 1, repeats: 100 } },
    { total: 1, first: 0, rows: [row] },
  );
  expect(page.querySelectorAll("button[data-cell]")).toHaveLength(24);
  await act(() => void fireEvent.click(one(page, "td .ak-e-more")));
  expect(page.querySelectorAll("button[data-cell]")).toHaveLength(100);
});

test("what the cases have lost is asked for once the runs are over", async () => {
  const { commands, send } = await shown({ progress: { status: "running" } });
  const before = commands.length;
  await send({ k: "progress", progress: { ...progress, status: "done" } });
  expect(commands.slice(before)).toMatchObject([{ cmd: "rows", first: 0, order: "given" }]);
});

test("what is said of the status is a sentence", async () => {
  const { page, send } = await shown();
  await send({ k: "progress", progress: { ...progress, status: "asks" } });
  expect(texts(page, "[role=log]")).toEqual(["The experiment waits for your yes."]);
});

test("a refusal is shown", async () => {
  const { page } = await shown({}, rows, "this run has not begun yet");
  await act(() => void fireEvent.click(mark(page, 7)));
  await settled();
  expect(texts(page, ".ak-e-table-notice")).toEqual(["this run has not begun yet"]);
});

test("hostile texts are texts", async () => {
  const hostile = {
    ...rows,
    rows: rows.rows.map((row) => ({
      ...row,
      id: HOSTILE,
      task: HOSTILE,
      cells: row.cells.map(([n, state, scores]) => [n, state, scores, HOSTILE] as CellData),
    })),
  };
  const { page } = await shown(
    {
      head: { name: HOSTILE, variants: [HOSTILE, "b"] },
      progress: { problem: HOSTILE, question: HOSTILE, opened: [0] },
      figures: { remarks: [HOSTILE], scores: [HOSTILE] },
    },
    hostile,
  );
  await act(() => void fireEvent.mouseOver(mark(page, 0)));
  expectHarmless(page);
});
