import { act } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import type { Card, ViewEvent } from "../../src/protocol";
import { type LiveView, show } from "../support/liveView";

/** Deliver more entries in one message, as a run does at full speed. */
async function grow(view: LiveView, from: number, count: number, seq: number): Promise<void> {
  const { run, cards } = view.reset;
  const like = cards.find((card) => card.kind === "think") as Card;
  const ev = Array.from({ length: count }, (_, index): ViewEvent => {
    const n = from + index;
    return { k: "line", keep: n, first: n, cards: [{ ...like, id: 1_000 + n, n }], total: n + 1, map: "t" };
  });
  await view.receive({ t: "events", v: 1, run, seq, ev });
}

function drawn(view: LiveView): string[] {
  return [...view.root.querySelectorAll<HTMLElement>("[data-n]")].map((entry) => entry.dataset.n ?? "");
}

test("in a rush only the last entries are drawn, and a moment later all of them", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const view = await show("paused");
  const { total, seq } = view.reset;
  await grow(view, total, 100, seq + 1);
  expect(drawn(view).length).toBe(24);
  expect(drawn(view).at(-1)).toBe(String(total + 99));
  for (let n = 0; n < 5; n++) await act(() => void vi.advanceTimersByTime(200));
  expect(drawn(view).length).toBe(total + 100);
});

test("a step at a time leaves all entries drawn", async () => {
  const view = await show("paused");
  const { total, seq } = view.reset;
  for (let n = 0; n < 30; n++) await grow(view, total + n, 1, seq + 1 + n);
  expect(drawn(view).length).toBe(total + 30);
});

test("a click on Pause is shown before the kernel has answered", async () => {
  const view = await show("running");
  view.model.isDeaf = true;
  await view.press("Pause");
  expect(view.root.querySelector("[role=status]")?.textContent).toBe("pausing…");
});

test("in a narrow view, the last group of the toolbar is a menu that Escape closes", async () => {
  const view = await show("paused");
  const more = view.button("More");
  const menu = view.root.querySelector(`[id="${more.getAttribute("aria-controls")}"]`) as HTMLElement;
  expect(more.getAttribute("aria-expanded")).toBe("false");
  await view.press("More");
  expect(more.getAttribute("aria-expanded")).toBe("true");
  expect(menu.classList.contains("ak-open")).toBe(true);
  await view.key("Escape", menu.querySelector("button") as Element);
  expect(more.getAttribute("aria-expanded")).toBe("false");
  expect(document.activeElement).toBe(more);
});
