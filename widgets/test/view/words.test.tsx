import { act, fireEvent } from "@testing-library/preact";
import { expect, test } from "vitest";
import { state } from "../../dev/states";
import type { Card, FromKernel, Head, ThinkEntry } from "../../src/protocol";
import { type LiveView, show as open, settled } from "../support/liveView";

type Reset = Extract<FromKernel, { t: "reset" }>;

function show(name: string, head: Partial<Head> = {}, change = (cards: Card[]): Card[] => cards): Promise<LiveView> {
  const recording = state(name);
  const reset = recording.messages.find((message) => message.t === "reset") as Reset;
  const cards = change(reset.cards);
  const changed = { ...reset, cards, total: cards.length, head: { ...reset.head, ...head } };
  return open({ messages: [changed], answers: recording.answers });
}

function titles(shown: LiveView): string[] {
  return [...shown.root.querySelectorAll(".ak-is-thought .ak-title, .ak-is-answer .ak-title")].map(
    (title) => title.textContent ?? "",
  );
}

async function hover(element: Element): Promise<void> {
  await act(async () => {
    fireEvent.pointerEnter(element);
    await settled();
  });
  await act(settled);
}

test("a thought is the answer only if the run ends with it", async () => {
  const done = await show("done");
  expect(titles(done).filter((title) => title === "Answer").length).toBe(1);
  const [task, thought] = done.reset.cards as [Card, ThinkEntry];
  const reply = { ...thought, calls: [], answer: "Perhaps.", text: "Perhaps." };
  const again = { ...reply, id: 90, n: 2 };
  const pending = [{ kind: "think" as const, role: "thought", path: "", index: 3, lane: "" }];
  const going = await show("done", { answer: null, status: "paused", pending }, () => [task, reply, again]);
  expect(titles(going)).toEqual(["Thought", "Thought"]);
  await going.head({ answer: null, status: "paused", pending: [{ ...pending[0], kind: "conclude" } as never] });
  expect(titles(going)).toEqual(["Thought", "Answer"]);
});

test("no technical name of a lane, a role or a tag is in sight; tooltips have it", async () => {
  const shown = await show("full");
  expect(shown.root.textContent).toContain("in parallel, 1 of 2");
  expect(shown.root.textContent).toContain("step 2 of the plan");
  expect(shown.root.textContent).not.toMatch(/lane|\[3\.0\]|plan_step/);
  expect(shown.root.querySelector("[title='Frame [3.0]']")).not.toBeNull();
});

test("each verb tells, before the click, what it would keep and perform again", async () => {
  const shown = await show("done");
  const forecast = shown.model.recording.answers.forecast as { [verb: string]: string };
  const entry = shown.entry(shown.reset.cards[1]?.id as number);
  for (const [verb, label] of [
    ["rewind", "Go back"],
    ["retry", "Try again"],
    ["fork", "Try another way"],
  ] as const) {
    const button = shown.button(label, entry);
    await hover(button);
    const tooltip = entry.querySelector("[role=tooltip]");
    expect(tooltip?.textContent).toContain(forecast[verb]);
    expect(button.getAttribute("aria-describedby")).toBe(tooltip?.id);
    await act(() => void fireEvent.pointerLeave(button));
  }
  expect(entry.querySelector("[role=tooltip]")).toBeNull();
  expect(shown.commands.filter(({ cmd }) => !["source", "forecast"].includes(cmd))).toEqual([]);
});

test("the menu of the toolbar does the same for the selected entry, by keyboard", async () => {
  const shown = await show("done");
  const forecast = shown.model.recording.answers.forecast as { [verb: string]: string };
  const card = shown.reset.cards[1] as Card;
  await act(() => shown.entry(card.id).focus());
  await shown.key("g", shown.entry(card.id));
  await act(settled);
  const items = [...shown.root.querySelectorAll<HTMLElement>("[role=menuitem]")];
  expect(items.map((item) => item.firstChild?.textContent)).toEqual([
    "Go back: undo the last change",
    "Go back to entry 1",
    "Try again, from entry 1",
    "Try another way, from entry 1",
  ]);
  expect(items.map((item) => item.querySelector("small")?.textContent)).toEqual([
    forecast.undo,
    forecast.rewind,
    forecast.retry,
    forecast.fork,
  ]);
  expect(document.activeElement).toBe(items[0]);
  await act(() => void items[1]?.click());
  expect(shown.lastCommand).toEqual({ cmd: "rewind", entry: card.id });
});

test("the counts are those of this branch, and say so if there are several", async () => {
  const one = await show("done");
  expect(one.root.querySelector(".ak-run-totals")?.textContent).not.toContain("branch");
  const several = await show("done", { branches: 3, spent: { model_calls: 20, tool_calls: 30 } });
  const scope = several.root.querySelector(".ak-run-totals span") as HTMLElement;
  expect(scope.textContent).toBe("this branch");
  expect(scope.title).toContain("On all 3 branches, this run made 20 model calls, 30 tool calls");
});

test("a fork has another title than the run that it was forked from", async () => {
  const shown = await show("paused", { forked: { run: "abc", n: 3 } });
  expect(shown.root.querySelector("h2")?.textContent).toContain("fork from entry 3 Plan a dry day");
});

test("a comparison takes the full width and names the branch by what differs", async () => {
  const shown = await show("edited");
  await shown.press("Branches2");
  await act(settled);
  expect(shown.root.querySelector(".ak-branches")?.textContent).toContain(
    "Branch 1: observation of step 2 before the edit",
  );
  await shown.press("Compare with branch 1");
  await act(settled);
  expect(shown.root.querySelector(".ak-side")).toBeNull();
  expect(shown.root.querySelector(".ak-compare h3")?.textContent).toContain("observation of step 2 before the edit");
  await shown.key("Escape");
  expect(shown.root.querySelector(".ak-side")).not.toBeNull();
});
