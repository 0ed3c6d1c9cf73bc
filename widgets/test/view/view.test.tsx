import { act } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import { PROBE_TIMEOUT, RESPONSE_TIMEOUT, RETRY_INTERVAL } from "../../src/state/connection";
import { settled, show } from "../support/liveView";

test("each action on the run has a button and a key", async () => {
  const shown = await show("paused");
  for (const name of ["Step", "Run", "Step over"]) await shown.press(name);
  for (const key of ["Enter", " ", "r", "o", "z"]) await shown.key(key);
  expect(shown.commands.map((command) => command.cmd)).toEqual([
    "source",
    "step",
    "play",
    "step_over",
    "step",
    "step",
    "play",
    "step_over",
    "undo",
  ]);
});

test("only Shift makes a capital, whether Caps Lock is on or not", async () => {
  const shown = await show("edited");
  const { root } = shown;
  await shown.head({ can: { undo: true, redo: true } });
  for (const [key, shiftKey] of [
    ["Z", false],
    ["z", true],
    ["Z", true],
    ["R", true],
  ] as const)
    await shown.key(key, root.querySelector(".ak-root") as Element, { shiftKey });
  expect(shown.commands.map(({ cmd }) => cmd).filter((cmd) => ["undo", "redo", "play"].includes(cmd))).toEqual([
    "undo",
    "redo",
    "redo",
  ]);
});

test("Escape closes a comparison", async () => {
  const shown = await show("edited");
  await shown.press(`Branches${shown.reset.head.branches}`);
  await act(settled); // the list is loaded when the panel is drawn
  await shown.press("Compare with branch 1");
  expect(shown.root.querySelector(".ak-compare")).not.toBeNull();
  await shown.key("Escape");
  expect(shown.root.querySelector(".ak-compare")).toBeNull();
});

test("an action that is not available is marked as disabled, keeps the focus, and sends nothing", async () => {
  const shown = await show("running");
  const step = shown.button("Step");
  expect(step.getAttribute("aria-disabled")).toBe("true");
  expect(step.hasAttribute("disabled")).toBe(false);
  const before = shown.commands.length;
  await shown.press("Step");
  await shown.key("Enter");
  expect(shown.commands.length).toBe(before);
});

test("the status has a label", async () => {
  const words = {
    running: "running",
    pausing: "pausing…",
    stopping: "stopping…",
    waiting: "waiting for you",
    done: "done",
    failed: "failed",
    stopped: "stopped",
    readonly: "read-only",
  };
  for (const [state, word] of Object.entries(words)) {
    const shown = await show(state);
    expect(shown.root.querySelector(".ak-status")?.textContent).toBe(word);
  }
});

test("two views of one model stay in sync and share one connection", async () => {
  const shown = await show("paused", 2);
  await shown.head({ status: "running" });
  for (const view of shown.views) expect(view.querySelector(".ak-status")?.textContent).toBe("running");
  expect(shown.sent("hello").length).toBeLessThanOrEqual(2);
});

test("a kernel that does not respond is asked again, then reported; an answer clears the report", async () => {
  const shown = await show("paused");
  vi.useFakeTimers();
  shown.model.isDeaf = true;
  await shown.press("Run");
  const hellos = shown.sent("hello").length;
  await act(() => void vi.advanceTimersByTime(RESPONSE_TIMEOUT + 1));
  expect(shown.sent("hello").length).toBe(hellos + 1);
  expect(shown.root.querySelector(".ak-status")?.textContent).not.toBe("not responding");
  await act(() => void vi.advanceTimersByTime(PROBE_TIMEOUT + 1));
  expect(shown.root.querySelector(".ak-status")?.textContent).toBe("not responding");
  expect(shown.root.textContent).toContain("busy with a cell");
  shown.model.isDeaf = false;
  await act(async () => {
    vi.advanceTimersByTime(RETRY_INTERVAL + 1);
    await Promise.resolve();
    await Promise.resolve();
  });
  expect(shown.root.querySelector(".ak-status")?.textContent).toBe("paused");
});

test("an unanswered command is not reported if the kernel responds", async () => {
  const shown = await show("paused");
  vi.useFakeTimers();
  shown.model.answer = () => undefined;
  await shown.press("Run");
  await act(async () => {
    vi.advanceTimersByTime(RESPONSE_TIMEOUT + 1);
    await Promise.resolve();
    await Promise.resolve();
    vi.advanceTimersByTime(PROBE_TIMEOUT + 1);
  });
  expect(shown.root.querySelector(".ak-status")?.textContent).toBe("paused");
});

test("a queued command may take any time", async () => {
  const shown = await show("paused");
  vi.useFakeTimers();
  shown.model.answer = ({ cid }) => ({ t: "taken", v: 1, cid });
  await shown.press("Run");
  const hellos = shown.sent("hello").length;
  await act(() => void vi.advanceTimersByTime(60_000));
  expect(shown.sent("hello").length).toBe(hellos);
});

test("a host may pass a new object for the same model at every call", async () => {
  const shown = await show("paused", 2);
  const { run, seq } = shown.reset;
  await shown.receive({ t: "insert", v: 1, cid: "k", cells: [] });
  expect([run.length > 0, seq > 0, shown.sent("did").length]).toEqual([true, true, 1]);
});

test("a kernel that never responds is reported", async () => {
  vi.useFakeTimers();
  const shown = await show("paused", 1, (model) => {
    model.isDeaf = true;
  });
  expect(shown.root.querySelector(".ak-status")?.textContent).toBe("connecting…");
  await act(() => void vi.advanceTimersByTime(RESPONSE_TIMEOUT + 1));
  expect(shown.root.querySelector(".ak-status")?.textContent).toBe("no response");
  expect(shown.root.textContent).toContain("run the cell again");
});

test("a lost kernel is reported with advice, and nothing can be pressed", async () => {
  const shown = await show("paused");
  await act(() => shown.model.trigger("comm:close"));
  expect(shown.root.querySelector(".ak-status")?.textContent).toBe("kernel gone");
  expect(shown.root.querySelector("[role=alert]")?.textContent).toContain(`agent.resume("${shown.reset.run}")`);
  const before = shown.model.sent.length;
  await shown.press("Step");
  expect(shown.model.sent.length).toBe(before);
});

test("a refusal is shown with its reason", async () => {
  const shown = await show("paused");
  shown.model.answer = ({ cid }) => ({ t: "nak", v: 1, cid, error: "somebody else is driving", type: "Busy" });
  await shown.press("Run");
  expect(shown.root.querySelector("[role=alert]")?.textContent).toContain("Run: somebody else is driving");
});

test("a streamed reply is shown as it arrives, until it is superseded", async () => {
  const shown = await show("empty");
  const { run, seq, head } = shown.reset;
  const busy = {
    ...head,
    status: "running" as const,
    pending: [{ kind: "think" as const, role: "thought", path: "", index: 0, lane: "", busy: true }],
  };
  await shown.receive({
    t: "events",
    v: 1,
    run,
    seq: seq + 1,
    ev: [
      { k: "head", head: busy },
      { k: "delta", path: "", index: 0, text: "Let me ", reasoning: "hm" },
    ],
  });
  await shown.receive({
    t: "events",
    v: 1,
    run,
    seq: seq + 2,
    ev: [{ k: "delta", path: "", index: 0, text: "see", reasoning: "" }],
  });
  expect(shown.root.querySelector(".ak-stream")?.textContent).toContain("Let me see");
  await shown.receive({ t: "events", v: 1, run, seq: seq + 3, ev: [{ k: "undelta", path: "", index: 0 }] });
  expect(shown.root.querySelector(".ak-stream")).toBeNull();
});

test("of a long trace at most 300 entries are drawn, and earlier ones are loaded on demand", async () => {
  const shown = await show("long");
  expect(shown.reset.first).toBeGreaterThan(0);
  expect(shown.commands.some((command) => command.cmd === "page")).toBe(true);
  expect(shown.root.querySelectorAll("[data-entry]").length).toBeLessThanOrEqual(300);
  expect(shown.root.textContent).toContain("Show earlier");
});

test("a card shows a thought with its tool calls", async () => {
  const shown = await show("done");
  const cards = [...shown.root.querySelectorAll(".ak-card-of-think")];
  expect(cards[1]?.querySelectorAll("[data-entry]").length).toBe(3); // it asked for two tools at once
});

test("entries after a human edit have a stripe, and the edit shows its changes", async () => {
  const shown = await show("edited");
  const edited = shown.reset.cards.findIndex((card) => card.original > 0);
  const after = shown.reset.cards.slice(edited + 1).map((card) => card.id);
  expect(
    [...shown.root.querySelectorAll<HTMLElement>(".ak-follows-edit")].map((entry) => Number(entry.dataset.entry)),
  ).toEqual(after);
  const entry = shown.entry(shown.reset.cards[edited]?.id ?? 0);
  const changes = entry.querySelector<HTMLDetailsElement>(".ak-original") as HTMLDetailsElement;
  await shown.unfold(changes);
  expect(changes.querySelector("del")?.textContent).toContain("rain");
  expect(changes.querySelector("ins")?.textContent).toContain("snow");
});

test("the status of a run is announced after a while", async () => {
  vi.useFakeTimers();
  const shown = await show("paused");
  await shown.head({ status: "running" });
  await act(() => void vi.advanceTimersByTime(1_600));
  expect(shown.root.querySelector("[role=log]")?.textContent).toBe("running");
});
