import { act, fireEvent } from "@testing-library/preact";
import { expect, test } from "vitest";
import { state } from "../../dev/states";
import type { Card, ThinkEntry } from "../../src/protocol";
import { type LiveView, settled, show } from "../support/liveView";
import { expectNoLeaks } from "../support/render";

const LABEL = "Your guess: the next action";

function select(shown: LiveView): HTMLSelectElement | null {
  return shown.root.querySelector(`[aria-label="${LABEL}"]`);
}

function steps(shown: LiveView): number {
  return shown.commands.filter(({ cmd }) => cmd === "step").length;
}

async function predicting(): Promise<LiveView> {
  const recording = state("paused");
  const judge = { question: "?", guess: "weather", actual: "book_train", right: false };
  const shown = await show({ ...recording, answers: { ...recording.answers, judge } });
  await shown.press("Predict");
  return shown;
}

test("in predict mode, a step waits for a guess", async () => {
  const shown = await predicting();
  await shown.press("Step");
  expect(steps(shown)).toBe(0);
  expect(document.activeElement).toBe(select(shown));
  await shown.press("Commit and step");
  expect(steps(shown)).toBe(0);
  expectNoLeaks(shown.root);
  await shown.press("Predict");
  expect(select(shown)).toBeNull();
  await shown.press("Step");
  expect(steps(shown)).toBe(1);
});

test("after the step, the guess is shown beside what happened", async () => {
  const shown = await predicting();
  await act(() => void fireEvent.change(select(shown) as HTMLSelectElement, { target: { value: "weather" } }));
  await shown.press("Commit and step");
  expect(steps(shown)).toBe(1);
  const { run, seq, cards, head } = shown.reset;
  const step = head.pending[0] as { path: string; index: number };
  const thought = cards.find((card) => card.kind === "think") as ThinkEntry;
  const fresh: Card = { ...thought, id: 900, n: cards.length, path: step.path, index: step.index };
  const line = { k: "line" as const, keep: fresh.n, first: fresh.n, cards: [fresh], total: fresh.n + 1, map: "t" };
  await shown.receive({ t: "events", v: 1, run, seq: seq + 1, ev: [line] });
  await act(settled);
  expect(shown.commands.filter(({ cmd }) => cmd === "judge")).toEqual([{ cmd: "judge", entry: 900, guess: "weather" }]);
  const texts = [...shown.entry(900).querySelectorAll(".ak-guess dd")].map((each) => each.textContent);
  expect(texts).toEqual(["weather", "book_train (not this time)"]);
  expect(shown.root.querySelectorAll(".ak-guess")).toHaveLength(1);
});
