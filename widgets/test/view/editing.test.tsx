import { act, fireEvent } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import { state } from "../../dev/states";
import type { ActEntry, FromKernel, PendingStep, ThinkEntry } from "../../src/protocol";
import { type LiveView, show } from "../support/liveView";

function thought(shown: LiveView): ThinkEntry {
  return shown.reset.cards.find((card) => card.kind === "think") as ThinkEntry;
}

function pendingOf(message: FromKernel): PendingStep[] {
  return message.t === "reset" ? message.head.pending : [];
}

function action(shown: LiveView): ActEntry {
  return shown.reset.cards.find((card) => card.kind === "act") as ActEntry;
}

test("a thought is edited, with a reason and the last known entry", async () => {
  const shown = await show("paused");
  const { id } = thought(shown);
  const entry = shown.entry(id);
  await shown.press("Edit", entry);
  await shown.type("Thought", "Look at Basel instead.", entry);
  await shown.type("Reason", "closer", entry);
  await shown.press("Save edit", entry);
  const base = shown.reset.cards[shown.reset.cards.length - 1]?.id;
  expect(shown.lastCommand).toEqual({
    cmd: "edit",
    entry: id,
    base,
    change: { text: "Look at Basel instead." },
    reason: "closer",
  });
  expect(shown.root.querySelector("form")).toBeNull();
});

test("the arguments of a call are edited through a form that keeps their types", async () => {
  const shown = await show("paused");
  const { id } = action(shown);
  await shown.press("Edit", shown.entry(id));
  await shown.press("Arguments", shown.entry(id));
  await shown.type("city", "Genève", shown.entry(id));
  await shown.key("Enter", shown.entry(id).querySelector("form") as Element, { ctrlKey: true });
  expect(shown.lastCommand).toMatchObject({
    cmd: "edit",
    entry: id,
    change: { arguments: { city: "Genève", days: 3 } },
  });
});

test("Escape cancels the edit of an observation", async () => {
  const shown = await show("paused");
  const { id } = action(shown);
  await shown.press("Edit", shown.entry(id));
  await shown.type("Observation", "snow", shown.entry(id));
  await shown.key("Escape", shown.entry(id).querySelector("textarea") as Element);
  expect(shown.root.querySelector("form")).toBeNull();
  expect(shown.commands.some((command) => command.cmd === "edit")).toBe(false);
});

test("a refused edit shows the reason and keeps the draft", async () => {
  const shown = await show("paused");
  const { id } = action(shown);
  await shown.press("Edit", shown.entry(id));
  await shown.type("Observation", "snow", shown.entry(id));
  shown.model.answer = ({ cid }) => ({ t: "nak", v: 1, cid, error: "the run has moved on", type: "UsageError" });
  await shown.press("Save edit", shown.entry(id));
  expect(shown.entry(id).querySelector("[role=alert]")?.textContent).toBe("the run has moved on");
  expect(shown.entry(id).querySelector("textarea")?.value).toBe("snow");
});

test("an edit of an entry that another view has replaced is reported, with its draft", async () => {
  const shown = await show("paused", 2);
  const { id, n } = action(shown);
  const [mine, theirs] = shown.views as [HTMLElement, HTMLElement];
  await shown.press("Edit", shown.entry(id));
  await shown.type("Observation", "my snow", shown.entry(id));
  const { run, seq } = shown.reset;
  const fresh = { ...action(shown), id: 900, original: id, text: "their snow", author: "human" };
  await shown.receive({
    t: "events",
    v: 1,
    run,
    seq: seq + 1,
    ev: [{ k: "line", keep: n, first: n, cards: [fresh], total: n + 1, map: "A" }],
  });
  expect(mine.querySelector(".ak-lost-edit")?.textContent).toContain("my snow");
  expect(theirs.querySelector(".ak-lost-edit")).toBeNull();
  await shown.press("Discard");
  expect(mine.querySelector(".ak-lost-edit")).toBeNull();
});

test("the result of the next step is entered instead of running it", async () => {
  const shown = await show("paused");
  await shown.press("You");
  await shown.type("Reply, as the model would write it", "FINAL_ANSWER: Stay at home.");
  await shown.press("Use this result");
  expect(shown.lastCommand).toMatchObject({
    cmd: "edit",
    entry: null,
    change: { reply: "FINAL_ANSWER: Stay at home." },
  });
});

/** A pending call that is one of several in parallel. */
function parallelCall(index: number): PendingStep {
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

/** A run paused before two parallel calls. */
async function twoPending(): Promise<LiveView> {
  const shown = await show("paused");
  await shown.head({ pending: [parallelCall(0), parallelCall(1)] });
  return shown;
}

test("any of several pending calls can be edited, with the focus in its first field", async () => {
  const shown = await twoPending();
  const second = shown.root.querySelector("[data-pending='1']") as HTMLElement;
  await shown.press("Edit", second);
  const field = second.querySelector("input") as HTMLInputElement;
  expect([document.activeElement, field.value]).toEqual([field, "2"]);
  await act(() => void fireEvent.input(field, { target: { value: "7" } }));
  await shown.press("Use these arguments", second);
  expect(shown.lastCommand).toMatchObject({
    entry: null,
    step: { path: "[1.1]", index: 0 },
    change: { arguments: { seats: 7 } },
  });
});

test.each([
  ["paused", {}, "You", "Edit"],
  ["waiting", { why: "needs approval", which: "x" }, "Respond…", "Edit…"],
] as const)(
  "the arguments of a call that the engine makes by itself cannot be edited: %s",
  async (status, more, offered, missing) => {
    const shown = await show("paused");
    await shown.head({ status, pending: [{ ...parallelCall(0), own: true, ...more }] });
    const labels = [...shown.root.querySelectorAll(".ak-next-steps button")].map((button) => button.textContent);
    expect(labels).toContain(offered);
    expect(labels).not.toContain(missing);
    await shown.press(offered);
    expect(shown.root.querySelector(".ak-edit-target")).toBeNull();
  },
);

test("an edit of a pending call that has run in the meantime is reported, with its draft", async () => {
  const shown = await twoPending();
  await shown.press("You", shown.root.querySelector("[data-pending='1']") as HTMLElement);
  await shown.type("Observation, instead of calling the tool", "sold out");
  const { run, seq, head } = shown.reset;
  await shown.receive({ t: "events", v: 1, run, seq: seq + 2, ev: [{ k: "head", head: { ...head, pending: [] } }] });
  expect(shown.root.querySelector(".ak-lost-edit")?.textContent).toContain("sold out");
});

test("a draft is not discarded by another edit", async () => {
  const shown = await twoPending();
  await shown.press("You", shown.root.querySelector("[data-pending='0']") as HTMLElement);
  await shown.type("Observation, instead of calling the tool", "sold out");
  await shown.press("Edit", shown.entry(thought(shown).id));
  expect(shown.root.querySelector("[data-pending='0'] textarea")).toHaveProperty("value", "sold out");
  expect(shown.root.querySelector(".ak-notices")?.textContent).toContain("Save or cancel");
});

test("the draft of a message outlives its box", async () => {
  const shown = await show("paused");
  await shown.key("i");
  await shown.type("Message to the model", "half a sentence");
  await shown.key("Escape", shown.root.querySelector(".ak-inject textarea") as Element);
  expect(shown.root.querySelector(".ak-inject textarea")).toBeNull();
  await shown.key("i");
  expect(shown.root.querySelector(".ak-inject textarea")).toHaveProperty("value", "half a sentence");
});

test("the shortcut of the message box goes back into it, and never closes it", async () => {
  const shown = await show("paused");
  await shown.key("i");
  shown.button("Step").focus();
  await shown.key("i");
  expect(document.activeElement).toBe(shown.root.querySelector("[aria-label='Message to the model']"));
  await shown.press("Inject");
  expect(shown.root.querySelector("[aria-label='Message to the model']")).toBeNull();
});

test("a truncated text is edited and copied in full", async () => {
  const copied: string[] = [];
  vi.stubGlobal("navigator", { clipboard: { writeText: async (text: string) => void copied.push(text) } });
  const recording = state("paused");
  const reset = recording.messages[0] as Extract<FromKernel, { t: "reset" }>;
  const cards = reset.cards.map((card) => (card.kind === "act" ? { ...card, text: "snow", long: { text: 8 } } : card));
  const shown = await show({
    messages: [{ ...reset, cards }],
    answers: { ...recording.answers, text: { text: "snowfall" } },
  });
  const entry = shown.entry(action(shown).id);
  await shown.press("Copy", entry);
  expect(copied[0]).toContain("→ snowfall");
  await shown.press("Edit", entry);
  expect(entry.querySelector("textarea")?.value).toBe("snowfall");
  await shown.type("Observation", "snowfalls", entry);
  await shown.press("Save edit", entry);
  expect(shown.lastCommand).toMatchObject({ change: { text: "snowfalls" } });
});

test("a waiting call is approved unchanged, and remembered", async () => {
  const shown = await show("waiting");
  await shown.press("This run");
  await shown.press("Approve and stay paused");
  expect(shown.lastCommand).toEqual({ cmd: "approve", which: "a", arguments: null, remember: true });
});

test.each([
  [true, "Approve", "Approve and stay paused"],
  [false, "Approve and run", "Approve"],
])("the first button lets a run play on if it was playing: %s", async (was_playing, playing, staying) => {
  const shown = await show("waiting");
  await shown.head({ was_playing });
  const approval = { cmd: "approve", which: "a", arguments: null, remember: false };
  expect(shown.root.querySelector("form .ak-primary")?.textContent).toBe("Approve");
  await shown.press(staying);
  expect(shown.lastCommand).toEqual(approval);
  await shown.press(playing);
  expect(shown.commands.slice(-2)).toEqual([approval, { cmd: "play" }]);
});

test("a waiting call is approved with changed arguments, without an empty optional one", async () => {
  const shown = await show("waiting");
  await shown.press("Edit…");
  await shown.type("destination", "Chur");
  await shown.press("Approve with changes");
  expect(shown.commands.slice(-2)[0]).toEqual({
    cmd: "approve",
    which: "a",
    arguments: { origin: "Bern", destination: "Chur" },
    remember: false,
  });
});

test("a waiting call is rejected with a comment, or answered instead of the tool", async () => {
  const shown = await show("waiting");
  await shown.press("Reject…");
  await shown.type("Comment", "too far");
  await shown.press("Reject and stay paused");
  expect(shown.lastCommand).toEqual({ cmd: "reject", which: "a", comment: "too far", remember: false });
  await shown.press("Respond…");
  await shown.type("Observation", "sold out");
  await shown.press("Respond");
  expect(shown.commands.slice(-2)).toEqual([{ cmd: "respond", which: "a", value: "sold out" }, { cmd: "play" }]);
});

test("the earlier result is the default answer to a repeated call", async () => {
  const shown = await show("repeated");
  const form = shown.root.querySelector("form") as HTMLElement;
  expect(form.textContent).toContain("it would be called again");
  expect(form.textContent).toContain("use the earlier result");
  expect(form.querySelector(".ak-earlier-result")?.textContent).toContain("seat 41");
  const description = shown.root.querySelector(`[id="${form.getAttribute("aria-describedby")}"]`);
  expect(description?.textContent).toContain("was performed at 12:03");
  expect(form.querySelector(".ak-buttons button")?.textContent).toBe("Use the earlier result");
  await shown.key("Enter", form, { ctrlKey: true });
  expect(shown.lastCommand).toEqual({ cmd: "reuse", which: "a" });
});

test("a tool is called again only after a second click", async () => {
  const shown = await show("repeated");
  await shown.press("Call again…");
  expect(shown.commands.some(({ cmd }) => cmd === "approve")).toBe(false);
  await shown.press("Call again");
  expect(shown.lastCommand).toEqual({ cmd: "approve", which: "a", arguments: null, remember: false });
});

test("there is no default answer about a call that may have run", async () => {
  const shown = await show("uncertain");
  const form = shown.root.querySelector("form") as HTMLElement;
  expect(form.textContent).toContain("Check whether it had an effect");
  expect(form.querySelector(".ak-primary")).toBeNull();
  await shown.key("Enter", form, { ctrlKey: true });
  expect(shown.commands.some(({ cmd }) => cmd === "approve" || cmd === "reuse")).toBe(false);
  await shown.press("Call again…");
  await shown.press("Call again");
  expect(shown.lastCommand).toMatchObject({ cmd: "approve", which: "a" });
});

test("what was chosen for one decision does not apply to the next one at the same step", async () => {
  const shown = await show("repeated");
  await shown.press("Call again…");
  const [step] = shown.reset.head.pending;
  await shown.head({ pending: [{ ...(step as PendingStep), which: "b" }] });
  await shown.key("Enter", shown.root.querySelector("form") as Element, { ctrlKey: true });
  expect(shown.lastCommand).toEqual({ cmd: "reuse", which: "b" });
});

test("a decision takes the focus only in the view that has it", async () => {
  const shown = await show("paused", 2);
  const [first, second] = shown.views as [HTMLElement, HTMLElement];
  shown.button("Run", first).focus();
  await shown.head({ status: "waiting", pending: state("repeated").messages.flatMap(pendingOf) });
  expect(first.contains(document.activeElement)).toBe(true);
  expect(document.activeElement?.textContent).toBe("Use the earlier result");
  expect(second.textContent).toContain("Use the earlier result");
});

test("an entry says that it is the result of an earlier call", async () => {
  const shown = await show("full");
  const text = shown.entry(107).textContent;
  expect(text).toContain("earlier result");
  expect(text).toContain("Not performed again: book_train");
  expect(text).not.toContain("entered by hand");
});

test("a question is answered by a choice or by text", async () => {
  const shown = await show("question");
  await shown.press("Saturday");
  expect(shown.lastCommand).toEqual({ cmd: "respond", which: "a", value: "Saturday" });
  await shown.type("Answer", "Neither.");
  await shown.press("Answer");
  expect(shown.lastCommand).toEqual({ cmd: "respond", which: "a", value: "Neither." });
});

test("a question is shown once", async () => {
  const shown = await show("question");
  const text = shown.root.querySelector(".ak-waiting")?.textContent ?? "";
  expect(text.split(shown.reset.head.pending[0]?.question ?? "none").length).toBe(2);
});

test("a message is injected, shown as seen or not, and recalled while no model has seen it", async () => {
  const shown = await show("injected");
  expect([...shown.root.querySelectorAll(".ak-injections li")].map((item) => item.firstChild?.textContent)).toEqual([
    "seen by the model",
    "not seen yet",
  ]);
  await shown.press("Recall");
  expect(shown.lastCommand).toEqual({ cmd: "recall", id: "b" });
  await shown.key("i");
  await shown.type("Message to the model", "Hurry.");
  await shown.press("Send");
  expect(shown.lastCommand).toEqual({ cmd: "inject", text: "Hurry.", to: "" });
});

test("a failed step is retried", async () => {
  const shown = await show("failed");
  expect(shown.root.querySelector(".ak-failure")?.textContent).toContain("the model is gone");
  await shown.press("Retry and run");
  expect(shown.lastCommand).toEqual({ cmd: "play" });
});

test("a step that failed before its command was answered can be retried after that", async () => {
  const shown = await show("paused");
  const { seq, run, head } = shown.reset;
  const error = { type: "RuntimeError", text: "overloaded" };
  let cid = "";
  shown.model.answer = (command) => {
    cid = command.cid;
    return undefined;
  };
  await shown.press("Step");
  await shown.receive({
    t: "events",
    v: 1,
    run,
    seq: seq + 1,
    ev: [{ k: "head", head: { ...head, status: "failed", error } }],
  });
  expect(shown.button("Retry and run").getAttribute("aria-disabled")).toBe("true");
  await shown.receive({ t: "ack", v: 1, cid, result: null });
  expect(shown.button("Retry and run").getAttribute("aria-disabled")).not.toBe("true");
});

test("after an error in the engine there is no step to retry", async () => {
  const shown = await show("failed");
  await shown.head({ pending: [] });
  const text = shown.root.querySelector(".ak-failure")?.textContent;
  expect(text).toContain("Fix the engine and resume the run, or edit an entry.");
  expect(text).not.toContain("Retry and run");
});

test("the actions on an entry are buttons, and shortcuts while it has the focus", async () => {
  const shown = await show("paused");
  const { id } = action(shown);
  for (const name of ["Try again", "Go back", "Try another way", "Break"]) await shown.press(name, shown.entry(id));
  shown.entry(id).focus();
  for (const key of ["t", "w", "f", "b"]) await shown.key(key, shown.entry(id));
  const commands = [
    { cmd: "retry", entry: id },
    { cmd: "rewind", entry: id },
    { cmd: "fork", entry: id },
    { cmd: "break", kind: "tool", value: "weather" },
  ];
  expect(shown.commands.filter((command) => !["source", "at"].includes(command.cmd))).toEqual([
    ...commands,
    ...commands,
  ]);
});

test("j and k move the selection and the focus", async () => {
  const shown = await show("paused");
  await shown.key("k");
  const ids = shown.reset.cards.map((card) => String(card.id));
  expect((document.activeElement as HTMLElement).dataset.entry).toBe(ids[ids.length - 1]);
  await shown.key("k", document.activeElement as Element);
  expect((document.activeElement as HTMLElement).dataset.entry).toBe(ids[ids.length - 2]);
  await shown.key("j", document.activeElement as Element);
  expect((document.activeElement as HTMLElement).dataset.entry).toBe(ids[ids.length - 1]);
});

test("no event of the kernel moves the focus", async () => {
  const shown = await show("running");
  shown.button("Pause").focus();
  await shown.head({ status: "waiting", pending: [] });
  expect(document.activeElement).toBe(shown.button("Pause"));
});

test("the view keeps the focus when the focused element is removed", async () => {
  const shown = await show("waiting");
  shown.button("Approve").focus();
  await shown.head({ status: "running", pending: [] });
  await act(() => Promise.resolve());
  expect(document.activeElement).toBe(shown.root.querySelector(".ak-root"));
});

test("the view keeps the focus when a form closes, even if its button still exists", async () => {
  const shown = await show("paused");
  const { id } = action(shown);
  shown.button("Edit", shown.entry(id)).focus();
  await shown.press("Edit", shown.entry(id));
  const field = shown.entry(id).querySelector("textarea") as HTMLTextAreaElement;
  expect(document.activeElement).toBe(field);
  await shown.key("Escape", field);
  await act(() => Promise.resolve());
  expect(document.activeElement).toBe(shown.root.querySelector(".ak-root"));
});

test("a view that has lost the focus does not take it back", async () => {
  const shown = await show("waiting");
  const outside = document.body.appendChild(document.createElement("button"));
  shown.button("Approve").focus();
  outside.focus();
  await shown.head({ status: "running", pending: [] });
  expect(document.activeElement).toBe(outside);
});

test("the answer of a nested engine is a thought, not the answer of the run", async () => {
  const recording = state("done");
  const reset = recording.messages[0] as Extract<FromKernel, { t: "reset" }>;
  const titles = async (path: string): Promise<string[]> => {
    const cards = reset.cards.map((card) => (card.kind === "think" ? { ...card, path } : card));
    const shown = await show({ ...recording, messages: [{ ...reset, cards }] });
    return [...shown.root.querySelectorAll(".ak-entry[aria-label*=', answer']")].map((card) => card.ariaLabel ?? "");
  };
  expect((await titles("")).length).toBeGreaterThan((await titles(".1")).length);
});

test("after an edit is saved, the edited entry is selected and has the focus, and the keys go on from there", async () => {
  const shown = await show("paused");
  const edited = action(shown);
  const { run, seq, cards } = shown.reset;
  const fresh = { ...edited, id: 77, original: edited.id, text: "snow", author: "human" };
  shown.model.recording.answers.edit = 77;
  await shown.press("Edit", shown.entry(edited.id));
  await shown.type("Observation", "snow", shown.entry(edited.id));
  await shown.press("Save edit", shown.entry(edited.id));
  await shown.receive({
    t: "events",
    v: 1,
    run,
    seq: seq + 1,
    ev: [{ k: "line", keep: edited.n, first: edited.n, cards: [fresh], total: edited.n + 1, map: "A" }],
  });
  expect(document.activeElement).toBe(shown.entry(77));
  expect(shown.entry(77).className).toContain("ak-current");
  await shown.key("k", document.activeElement as Element);
  expect((document.activeElement as HTMLElement).dataset.entry).toBe(String(cards[edited.n - 1]?.id));
});

test("keys that edit a text stay in the view, and others with Ctrl reach the notebook", async () => {
  const shown = await show("paused");
  const { id } = thought(shown);
  await shown.press("Edit", shown.entry(id));
  const field = shown.entry(id).querySelector("textarea") as Element;
  const reached: string[] = [];
  const listener = ({ key }: KeyboardEvent): void => void reached.push(key);
  document.addEventListener("keydown", listener);
  for (const key of ["z", "v", "Backspace", "ArrowLeft", "s", "p"]) await shown.key(key, field, { ctrlKey: true });
  await shown.key("z", shown.root, { ctrlKey: true });
  document.removeEventListener("keydown", listener);
  expect(reached).toEqual(["s", "p", "z"]);
});
