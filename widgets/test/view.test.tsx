import { act } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import { AGAIN, PATIENCE, SHORT } from "../src/exchange";
import { settled, show } from "./shown";

test("each verb of the run is a button and a key", async () => {
  const shown = await show("paused");
  for (const name of ["Step", "Run", "Step over"]) await shown.press(name);
  for (const key of ["Enter", " ", "r", "o", "z"]) await shown.key(key);
  expect(shown.told.map((command) => command.cmd)).toEqual([
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

test("keys are told by Shift, whatever Caps Lock makes of them", async () => {
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
  expect(shown.told.map(({ cmd }) => cmd).filter((cmd) => ["undo", "redo", "play"].includes(cmd))).toEqual([
    "undo",
    "redo",
    "redo",
  ]);
});

test("Escape leaves a comparison", async () => {
  const shown = await show("edited");
  await shown.press(`Branches${shown.reset.head.branches}`);
  await act(settled); // the list is asked for when the panel is there
  await shown.press("Compare with branch 1");
  expect(shown.root.querySelector(".ak-compare")).not.toBeNull();
  await shown.key("Escape");
  expect(shown.root.querySelector(".ak-compare")).toBeNull();
});

test("a verb that makes no sense now is said to be off, keeps the focus, and sends nothing", async () => {
  const shown = await show("running");
  const step = shown.button("Step");
  expect(step.getAttribute("aria-disabled")).toBe("true");
  expect(step.hasAttribute("disabled")).toBe(false);
  const before = shown.told.length;
  await shown.press("Step");
  await shown.key("Enter");
  expect(shown.told.length).toBe(before);
});

test("the status is said in words", async () => {
  const words = {
    running: "running",
    pausing: "pausing…",
    stopping: "stopping…",
    waiting: "waiting for you",
    done: "done",
    failed: "failed",
    stopped: "stopped",
    readonly: "read only",
  };
  for (const [state, word] of Object.entries(words)) {
    const shown = await show(state);
    expect(shown.root.querySelector(".ak-status")?.textContent).toBe(word);
  }
});

test("two views of one model stay in step and share one line to the kernel", async () => {
  const shown = await show("paused", 2);
  await shown.head({ status: "running" });
  for (const view of shown.views) expect(view.querySelector(".ak-status")?.textContent).toBe("running");
  expect(shown.said("hello").length).toBeLessThanOrEqual(2);
});

test("a kernel that does not answer is asked again, and then called disconnected; an answer mends it", async () => {
  const shown = await show("paused");
  vi.useFakeTimers();
  shown.model.deaf = true;
  await shown.press("Run");
  const hellos = shown.said("hello").length;
  await act(() => void vi.advanceTimersByTime(PATIENCE + 1));
  expect(shown.said("hello").length).toBe(hellos + 1);
  expect(shown.root.querySelector(".ak-status")?.textContent).not.toBe("disconnected");
  await act(() => void vi.advanceTimersByTime(SHORT + 1));
  expect(shown.root.querySelector(".ak-status")?.textContent).toBe("disconnected");
  expect(shown.root.textContent).toContain("busy with a cell");
  shown.model.deaf = false;
  await act(async () => {
    vi.advanceTimersByTime(AGAIN + 1);
    await Promise.resolve();
    await Promise.resolve();
  });
  expect(shown.root.querySelector(".ak-status")?.textContent).toBe("paused");
});

test("a command that waits its turn in a kernel that answers is no lost connection", async () => {
  const shown = await show("paused");
  vi.useFakeTimers();
  shown.model.answer = () => undefined;
  await shown.press("Run");
  await act(async () => {
    vi.advanceTimersByTime(PATIENCE + 1);
    await Promise.resolve();
    await Promise.resolve();
    vi.advanceTimersByTime(SHORT + 1);
  });
  expect(shown.root.querySelector(".ak-status")?.textContent).toBe("paused");
});

test("a command that was taken may take its time", async () => {
  const shown = await show("paused");
  vi.useFakeTimers();
  shown.model.answer = ({ cid }) => ({ t: "taken", v: 1, cid });
  await shown.press("Run");
  const hellos = shown.said("hello").length;
  await act(() => void vi.advanceTimersByTime(60_000));
  expect(shown.said("hello").length).toBe(hellos);
});

test("the model object differs from call to call, and is still one model", async () => {
  const shown = await show("paused", 2);
  const { run, seq } = shown.reset;
  await shown.say({ t: "insert", v: 1, cid: "k", cells: [] });
  expect([run.length > 0, seq > 0, shown.said("did").length]).toEqual([true, true, 1]);
});

test("a view that never hears from the kernel says so", async () => {
  vi.useFakeTimers();
  const shown = await show("paused", 1, (model) => {
    model.deaf = true;
  });
  expect(shown.root.querySelector(".ak-status")?.textContent).toBe("connecting…");
  await act(() => void vi.advanceTimersByTime(PATIENCE + 1));
  expect(shown.root.querySelector(".ak-status")?.textContent).toBe("no answer");
  expect(shown.root.textContent).toContain("run the cell again");
});

test("a kernel that is gone is said plainly, with what can be done, and nothing can be pressed", async () => {
  const shown = await show("paused");
  await act(() => shown.model.trigger("comm:close"));
  expect(shown.root.querySelector(".ak-status")?.textContent).toBe("kernel gone");
  expect(shown.root.querySelector("[role=alert]")?.textContent).toContain(`agent.resume("${shown.reset.run}")`);
  const before = shown.model.told.length;
  await shown.press("Step");
  expect(shown.model.told.length).toBe(before);
});

test("what is refused is shown with its reason", async () => {
  const shown = await show("paused");
  shown.model.answer = ({ cid }) => ({ t: "nak", v: 1, cid, error: "somebody else drives", type: "Busy" });
  await shown.press("Run");
  expect(shown.root.querySelector("[role=alert]")?.textContent).toContain("Run: somebody else drives");
});

test("what a model says just now is shown as it comes, and is gone when the entry is there", async () => {
  const shown = await show("empty");
  const { run, seq, head } = shown.reset;
  const busy = {
    ...head,
    status: "running" as const,
    pending: [{ kind: "think" as const, role: "thought", path: "", index: 0, lane: "", busy: true }],
  };
  await shown.say({
    t: "events",
    v: 1,
    run,
    seq: seq + 1,
    ev: [
      { k: "head", head: busy },
      { k: "delta", path: "", index: 0, text: "Let me ", reasoning: "hm" },
    ],
  });
  await shown.say({ t: "events", v: 1, run, seq: seq + 2, ev: [{ k: "delta", path: "", index: 0, text: "see", reasoning: "" }] });
  expect(shown.root.querySelector(".ak-stream")?.textContent).toContain("Let me see");
  await shown.say({ t: "events", v: 1, run, seq: seq + 3, ev: [{ k: "undelta", path: "", index: 0 }] });
  expect(shown.root.querySelector(".ak-stream")).toBeNull();
});

test("a long trace has at most 300 entries in the page, and earlier ones are fetched when they are asked for", async () => {
  const shown = await show("long");
  expect(shown.reset.first).toBeGreaterThan(0);
  expect(shown.told.some((command) => command.cmd === "page")).toBe(true);
  expect(shown.root.querySelectorAll("[data-entry]").length).toBeLessThanOrEqual(300);
  expect(shown.root.textContent).toContain("Show earlier");
});

test("a card shows a thought with the actions that it asked for", async () => {
  const shown = await show("done");
  const cards = [...shown.root.querySelectorAll(".ak-card-of-think")];
  expect(cards[1]?.querySelectorAll("[data-entry]").length).toBe(3); // it asked for two tools at once
});

test("what follows a human edit wears a stripe, and the edit shows what was there before", async () => {
  const shown = await show("edited");
  const edited = shown.reset.cards.findIndex((card) => card.original > 0);
  const after = shown.reset.cards.slice(edited + 1).map((card) => card.id);
  expect([...shown.root.querySelectorAll<HTMLElement>(".ak-follows-edit")].map((entry) => Number(entry.dataset.entry))).toEqual(after);
  const entry = shown.entry(shown.reset.cards[edited]?.id ?? 0);
  const fold = entry.querySelector<HTMLDetailsElement>(".ak-original") as HTMLDetailsElement;
  await shown.unfold(fold);
  expect(fold.querySelector("del")?.textContent).toContain("rain");
  expect(fold.querySelector("ins")?.textContent).toContain("snow");
});

test("the state of a run is announced, not more than it has to be", async () => {
  vi.useFakeTimers();
  const shown = await show("paused");
  await shown.head({ status: "running" });
  await act(() => void vi.advanceTimersByTime(1_600));
  expect(shown.root.querySelector("[role=log]")?.textContent).toBe("running");
});
