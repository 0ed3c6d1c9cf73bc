import { act, fireEvent } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import { state } from "../dev/states";
import type { ActEntry, FromKernel, Pending, ThinkEntry } from "../src/protocol";
import { type Shown, show } from "./shown";

function thought(shown: Shown): ThinkEntry {
  return shown.reset.cards.find((card) => card.kind === "think") as ThinkEntry;
}

function action(shown: Shown): ActEntry {
  return shown.reset.cards.find((card) => card.kind === "act") as ActEntry;
}

function last(shown: Shown): unknown {
  return shown.told[shown.told.length - 1];
}

test("a thought is edited, with a reason and what the view knew last", async () => {
  const shown = await show("paused");
  const { id } = thought(shown);
  const entry = shown.entry(id);
  await shown.press("edit", entry);
  await shown.type("Thought", "Look at Basel instead.", entry);
  await shown.type("Reason", "closer", entry);
  await shown.press("Save edit", entry);
  const base = shown.reset.cards[shown.reset.cards.length - 1]?.id;
  expect(last(shown)).toEqual({ cmd: "edit", entry: id, base, change: { text: "Look at Basel instead." }, reason: "closer" });
  expect(shown.root.querySelector("form")).toBeNull();
});

test("the arguments of a call are edited through a form that keeps their types", async () => {
  const shown = await show("paused");
  const { id } = action(shown);
  await shown.press("edit", shown.entry(id));
  await shown.press("Arguments", shown.entry(id));
  await shown.type("city", "Genève", shown.entry(id));
  await shown.key("Enter", shown.entry(id).querySelector("form") as Element, { ctrlKey: true });
  expect(last(shown)).toMatchObject({ cmd: "edit", entry: id, change: { arguments: { city: "Genève", days: 3 } } });
});

test("an observation is edited, and Escape leaves it as it was", async () => {
  const shown = await show("paused");
  const { id } = action(shown);
  await shown.press("edit", shown.entry(id));
  await shown.type("Observation", "snow", shown.entry(id));
  await shown.key("Escape", shown.entry(id).querySelector("textarea") as Element);
  expect(shown.root.querySelector("form")).toBeNull();
  expect(shown.told.some((command) => command.cmd === "edit")).toBe(false);
});

test("an edit that is refused says why and keeps what was written", async () => {
  const shown = await show("paused");
  const { id } = action(shown);
  await shown.press("edit", shown.entry(id));
  await shown.type("Observation", "snow", shown.entry(id));
  shown.model.answer = ({ cid }) => ({ t: "nak", v: 1, cid, error: "the run has moved on", type: "UsageError" });
  await shown.press("Save edit", shown.entry(id));
  expect(shown.entry(id).querySelector("[role=alert]")?.textContent).toBe("the run has moved on");
  expect(shown.entry(id).querySelector("textarea")?.value).toBe("snow");
});

test("whoever edits what another view has replaced is told, and keeps their words", async () => {
  const shown = await show("paused", 2);
  const { id, n } = action(shown);
  const [mine, theirs] = shown.views as [HTMLElement, HTMLElement];
  await shown.press("edit", shown.entry(id));
  await shown.type("Observation", "my snow", shown.entry(id));
  const { run, seq } = shown.reset;
  const fresh = { ...action(shown), id: 900, original: id, text: "their snow", author: "human" };
  await shown.say({ t: "events", v: 1, run, seq: seq + 1, ev: [{ k: "line", keep: n, cards: [fresh], total: n + 1, map: "A" }] });
  expect(mine.querySelector(".ak-lost-edit")?.textContent).toContain("my snow");
  expect(theirs.querySelector(".ak-lost-edit")).toBeNull();
  await shown.press("Discard");
  expect(mine.querySelector(".ak-lost-edit")).toBeNull();
});

test("the next step is answered in its place before it runs", async () => {
  const shown = await show("paused");
  await shown.press("answer in its place");
  await shown.type("In the model's place: the final answer", "Stay at home.");
  await shown.press("Use this");
  expect(last(shown)).toMatchObject({ cmd: "edit", entry: null, change: { text: "Stay at home." } });
});

/** A call that is pending beside others. */
function beside(index: number): Pending {
  return {
    kind: "act",
    role: "action",
    path: `[1.${index}]`,
    index: 0,
    lane: `[1.${index}]`,
    call: { id: `${index}`, name: "book", arguments: { seats: index + 1 } },
    schema: { properties: { seats: { type: "integer" } }, required: ["seats"] },
  };
}

/** A paused run before two calls side by side. */
async function sideBySide(): Promise<Shown> {
  const shown = await show("paused");
  await shown.head({ pending: [beside(0), beside(1)] });
  return shown;
}

test("any of several pending calls is edited, beginning in its first box", async () => {
  const shown = await sideBySide();
  const second = shown.root.querySelector("[data-pending='1']") as HTMLElement;
  await shown.press("edit", second);
  const box = second.querySelector("input") as HTMLInputElement;
  expect([document.activeElement, box.value]).toEqual([box, "2"]);
  await act(() => void fireEvent.input(box, { target: { value: "7" } }));
  await shown.press("Use this", second);
  expect(last(shown)).toMatchObject({ entry: null, step: { path: "[1.1]", index: 0 }, change: { arguments: { seats: 7 } } });
});

test.each([
  ["paused", {}, "answer in its place", "edit"],
  ["waiting", { why: "it needs a yes", which: "x" }, "Respond…", "Edit…"],
] as const)("no arguments are asked for of a call that the engine makes by itself: %s", async (status, more, offered, not) => {
  const shown = await show("paused");
  await shown.head({ status, pending: [{ ...beside(0), own: true, ...more }] });
  const labels = [...shown.root.querySelectorAll(".ak-next-steps button")].map((button) => button.textContent);
  expect(labels).toContain(offered);
  expect(labels).not.toContain(not);
  await shown.press(offered);
  expect(shown.root.querySelector(".ak-edit-target")).toBeNull();
});

test("whoever edits a pending call that has run meanwhile is told, and keeps their words", async () => {
  const shown = await sideBySide();
  await shown.press("answer in its place", shown.root.querySelector("[data-pending='1']") as HTMLElement);
  await shown.type("In the tool's place: the observation", "sold out");
  const { run, seq, head } = shown.reset;
  await shown.say({ t: "events", v: 1, run, seq: seq + 2, ev: [{ k: "head", head: { ...head, pending: [] } }] });
  expect(shown.root.querySelector(".ak-lost-edit")?.textContent).toContain("sold out");
});

test("what was begun is not lost to another edit", async () => {
  const shown = await sideBySide();
  await shown.press("answer in its place", shown.root.querySelector("[data-pending='0']") as HTMLElement);
  await shown.type("In the tool's place: the observation", "sold out");
  await shown.press("edit", shown.entry(thought(shown).id));
  expect(shown.root.querySelector("[data-pending='0'] textarea")).toHaveProperty("value", "sold out");
  expect(shown.root.querySelector(".ak-notices")?.textContent).toContain("Save or cancel");
});

test("what is being written to the model outlives its box", async () => {
  const shown = await show("paused");
  await shown.key("i");
  await shown.type("Message to the model", "half a sentence");
  await shown.key("Escape", shown.root.querySelector(".ak-inject textarea") as Element);
  expect(shown.root.querySelector(".ak-inject textarea")).toBeNull();
  await shown.key("i");
  expect(shown.root.querySelector(".ak-inject textarea")).toHaveProperty("value", "half a sentence");
});

test("the key of the message box goes back into it, and never closes it under somebody's words", async () => {
  const shown = await show("paused");
  await shown.key("i");
  shown.button("Step").focus();
  await shown.key("i");
  expect(document.activeElement).toBe(shown.root.querySelector("[aria-label='Message to the model']"));
  await shown.press("Inject");
  expect(shown.root.querySelector("[aria-label='Message to the model']")).toBeNull();
});

test("a text that was cut is edited and copied whole", async () => {
  const copied: string[] = [];
  vi.stubGlobal("navigator", { clipboard: { writeText: async (text: string) => void copied.push(text) } });
  const recorded = state("paused");
  const reset = recorded.messages[0] as Extract<FromKernel, { t: "reset" }>;
  const cards = reset.cards.map((card) => (card.kind === "act" ? { ...card, text: "snow", long: { text: 8 } } : card));
  const shown = await show({ messages: [{ ...reset, cards }], answers: { ...recorded.answers, text: { text: "snowfall" } } });
  const entry = shown.entry(action(shown).id);
  await shown.press("copy", entry);
  expect(copied[0]).toContain("→ snowfall");
  await shown.press("edit", entry);
  expect(entry.querySelector("textarea")?.value).toBe("snowfall");
  await shown.type("Observation", "snowfalls", entry);
  await shown.press("Save edit", entry);
  expect(last(shown)).toMatchObject({ change: { text: "snowfalls" } });
});

test("a waiting call is approved as it is, and remembered", async () => {
  const shown = await show("waiting");
  await act(() => void fireEvent.click(shown.root.querySelector("[type=checkbox]") as Element));
  await shown.press("Approve");
  expect(last(shown)).toEqual({ cmd: "approve", which: "a", arguments: null, remember: true });
});

test("a decision can let the run go on", async () => {
  const shown = await show("waiting");
  await shown.press("and run on");
  expect(shown.told.slice(-2)).toEqual([{ cmd: "approve", which: "a", arguments: null, remember: false }, { cmd: "play" }]);
});

test("a waiting call is approved with other arguments; an optional one that is left empty is left out", async () => {
  const shown = await show("waiting");
  await shown.press("Edit…");
  await shown.type("destination", "Chur");
  await shown.press("Approve with these");
  expect(last(shown)).toEqual({ cmd: "approve", which: "a", arguments: { origin: "Bern", destination: "Chur" }, remember: false });
});

test("a waiting call is rejected with a comment, or answered in the tool's place", async () => {
  const shown = await show("waiting");
  await shown.press("Reject…");
  await shown.type("Comment", "too far");
  await shown.press("Reject");
  expect(last(shown)).toEqual({ cmd: "reject", which: "a", comment: "too far" });
  await shown.press("Respond…");
  await shown.type("Observation", "sold out");
  await shown.press("Give this answer");
  expect(last(shown)).toEqual({ cmd: "respond", which: "a", value: "sold out" });
});

test("a question is answered by a choice or in words", async () => {
  const shown = await show("question");
  await shown.press("Saturday");
  expect(last(shown)).toEqual({ cmd: "respond", which: "a", value: "Saturday" });
  await shown.type("Answer", "Neither.");
  await shown.press("Answer");
  expect(last(shown)).toEqual({ cmd: "respond", which: "a", value: "Neither." });
});

test("a question stands on its card once", async () => {
  const shown = await show("question");
  const waits = shown.root.querySelector(".ak-waiting")?.textContent ?? "";
  expect(waits.split(shown.reset.head.pending[0]?.question ?? "none").length).toBe(2);
});

test("a message is injected, its receipt shown, and taken back while no model has seen it", async () => {
  const shown = await show("injected");
  expect([...shown.root.querySelectorAll(".ak-injections li")].map((each) => each.firstChild?.textContent)).toEqual([
    "seen by the model",
    "sent, not seen yet",
  ]);
  await shown.press("recall");
  expect(last(shown)).toEqual({ cmd: "recall", id: "b" });
  await shown.key("i");
  await shown.type("Message to the model", "Hurry.");
  await shown.press("Send");
  expect(last(shown)).toEqual({ cmd: "inject", text: "Hurry.", to: "" });
});

test("a failed step is tried again", async () => {
  const shown = await show("failed");
  expect(shown.root.querySelector(".ak-failure")?.textContent).toContain("the model is gone");
  await shown.press("Try again");
  expect(last(shown)).toEqual({ cmd: "play" });
});

test("a step that failed before its click was answered can be tried again once it is", async () => {
  const shown = await show("paused");
  const { seq, run, head } = shown.reset;
  const error = { type: "RuntimeError", text: "overloaded" };
  let cid = "";
  shown.model.answer = (command) => {
    cid = command.cid;
    return undefined;
  };
  await shown.press("Step");
  await shown.say({ t: "events", v: 1, run, seq: seq + 1, ev: [{ k: "head", head: { ...head, status: "failed", error } }] });
  expect(shown.button("Try again").getAttribute("aria-disabled")).toBe("true");
  await shown.say({ t: "ack", v: 1, cid, result: null });
  expect(shown.button("Try again").getAttribute("aria-disabled")).not.toBe("true");
});

test("where an engine raised there is no step to try again", async () => {
  const shown = await show("failed");
  await shown.head({ pending: [] });
  const said = shown.root.querySelector(".ak-failure")?.textContent;
  expect(said).toContain("Mend the engine and resume the run, or edit an entry.");
  expect(said).not.toContain("Try again");
});

test("the verbs of an entry are buttons on it, and keys while it has the focus", async () => {
  const shown = await show("paused");
  const { id } = action(shown);
  for (const name of ["retry", "rewind", "fork", "break"]) await shown.press(name, shown.entry(id));
  shown.entry(id).focus();
  for (const key of ["t", "w", "f", "b"]) await shown.key(key, shown.entry(id));
  const commands = [
    { cmd: "retry", entry: id },
    { cmd: "rewind", entry: id },
    { cmd: "fork", entry: id },
    { cmd: "break", kind: "tool", value: "weather" },
  ];
  expect(shown.told.filter((command) => command.cmd !== "source")).toEqual([...commands, ...commands]);
});

test("j and k go from entry to entry, and the focus goes with them", async () => {
  const shown = await show("paused");
  await shown.key("k");
  const ids = shown.reset.cards.map((card) => String(card.id));
  expect((document.activeElement as HTMLElement).dataset.entry).toBe(ids[ids.length - 1]);
  await shown.key("k", document.activeElement as Element);
  expect((document.activeElement as HTMLElement).dataset.entry).toBe(ids[ids.length - 2]);
  await shown.key("j", document.activeElement as Element);
  expect((document.activeElement as HTMLElement).dataset.entry).toBe(ids[ids.length - 1]);
});

test("no event of the kernel takes the focus", async () => {
  const shown = await show("running");
  shown.button("Pause").focus();
  await shown.head({ status: "waiting", pending: [] });
  expect(document.activeElement).toBe(shown.button("Pause"));
});

test("when what had the focus goes away, the view keeps it", async () => {
  const shown = await show("waiting");
  shown.button("Approve").focus();
  await shown.head({ status: "running", pending: [] });
  await act(() => Promise.resolve());
  expect(document.activeElement).toBe(shown.root.querySelector(".ak-root"));
});

test("a form that goes away leaves the focus in the view, though it was opened by a button that stays", async () => {
  const shown = await show("paused");
  const { id } = action(shown);
  shown.button("edit", shown.entry(id)).focus();
  await shown.press("edit", shown.entry(id));
  const box = shown.entry(id).querySelector("textarea") as HTMLTextAreaElement;
  expect(document.activeElement).toBe(box);
  await shown.key("Escape", box);
  await act(() => Promise.resolve());
  expect(document.activeElement).toBe(shown.root.querySelector(".ak-root"));
});

test("whoever has left the view is not called back", async () => {
  const shown = await show("waiting");
  const outside = document.body.appendChild(document.createElement("button"));
  shown.button("Approve").focus();
  outside.focus();
  await shown.head({ status: "running", pending: [] });
  expect(document.activeElement).toBe(outside);
});

test("what an engine within another one answers is a thought on the way, and no green answer", async () => {
  const recorded = state("done");
  const reset = recorded.messages[0] as Extract<FromKernel, { t: "reset" }>;
  const titles = async (path: string): Promise<string[]> => {
    const cards = reset.cards.map((card) => (card.kind === "think" ? { ...card, path } : card));
    const shown = await show({ ...recorded, messages: [{ ...reset, cards }] });
    return [...shown.root.querySelectorAll(".ak-entry[aria-label*=', answer']")].map((card) => card.ariaLabel ?? "");
  };
  expect((await titles("")).length).toBeGreaterThan((await titles(".1")).length);
});
