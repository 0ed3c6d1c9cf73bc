import { act } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import samples from "../../dev/samples";
import type { Card, Command, Json } from "../../src/protocol";
import { newest } from "../../src/state/newest";
import { ViewState } from "../../src/state/viewState";
import { describeMoment, marksOf, Slider, stripImage } from "../../src/view/slider";
import { fakeKernel } from "../support/fakeKernel";
import { show } from "../support/liveView";
import { button, click, draw, one, recording, settled } from "../support/render";

async function slider(letters: string, first = 10, last = 19) {
  const kernel = fakeKernel(recording);
  kernel.store.trace.reset(0, letters.length, [], letters);
  const view = new ViewState(kernel.store);
  const goToPosition = vi.spyOn(view, "goToPosition").mockResolvedValue();
  const page = await draw(<Slider store={kernel.store} view={view} first={first} last={last} />);
  return { page, view, goToPosition, input: one(page, "input[type=range]") as HTMLInputElement };
}

async function moveTo(input: HTMLInputElement, ...positions: number[]): Promise<void> {
  await act(() => {
    for (const position of positions) {
      input.value = String(position);
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }
  });
  await settled();
}

test("a moment is described by its step, its kind and its marks", () => {
  expect(describeMoment("btXc", [], 0)).toBe("step 0 of 3: task");
  expect(describeMoment("btXc", [2], 2)).toBe("step 2 of 3: failed tool call, edited, another branch begins here");
  expect(describeMoment("bth", [], 2)).toBe("step 2 of 2: thought, read an injected message");
  expect(describeMoment("btx", [], 3)).toBe("now, after step 2 of 2");
  const card = { kind: "act", n: 2, call: { name: "search" }, ok: false } as Card;
  expect(describeMoment("btx", [], 2, card)).toBe("step 2 of 2: Action search, failed");
});

test("it is a native slider that stands at now until somebody looks at the past", async () => {
  const { page, input } = await slider(samples.map(100));
  expect([input.min, input.max, input.value]).toEqual(["0", "100", "100"]);
  expect(input.getAttribute("aria-label")).toBe("Time");
  expect(input.getAttribute("aria-valuetext")).toBe("now, after step 99 of 99");
  expect(one(page, ".ak-strip i").style.cssText).toMatch(/left: ?10%; ?width: ?10%/);
});

test("moving it goes to that entry, and to now at its end", async () => {
  const { view, goToPosition, input } = await slider(samples.map(100));
  const backToNow = vi.spyOn(view, "backToNow");
  await moveTo(input, 40);
  expect(goToPosition.mock.calls).toEqual([[40]]);
  await moveTo(input, 100);
  expect(backToNow).toHaveBeenCalledOnce();
});

test("while it moves fast, only the newest position is gone to", async () => {
  const { goToPosition, input } = await slider(samples.map(100));
  let arrive = (): void => undefined;
  goToPosition.mockImplementation(() => new Promise((resolve) => (arrive = resolve)));
  await moveTo(input, 1, 2, 3, 4, 50);
  expect(goToPosition.mock.calls).toEqual([[1]]);
  expect(input.value).toBe("50");
  arrive();
  await settled();
  expect(goToPosition.mock.calls).toEqual([[1], [50]]);
});

test("work that fails does not keep newer work waiting", async () => {
  const done: number[] = [];
  const work = newest(async (value: number) => {
    if (value === 1) throw new Error("lost");
    done.push(value);
  });
  await expect(work(1)).rejects.toThrow("lost");
  await work(2);
  expect(done).toEqual([2]);
});

test("edits, failures, messages and branches have marks of different shapes, with a legend", async () => {
  expect(marksOf("btXhT", [3])).toEqual([
    ["failed", 2],
    ["edited", 2],
    ["message", 3],
    ["edited", 4],
    ["fork", 3],
  ]);
  const { page } = await slider("btXhT");
  expect(one(page, ".ak-moment").textContent).toBe("Now, after step 4 failed edited message");
});

test("ten thousand entries are one gradient of bounded size and few marks, and a single failure is visible", () => {
  const letters = "b".padEnd(10_000, "ta");
  const image = stripImage(letters);
  expect(image.length).toBeLessThan(40_000);
  expect(image).not.toContain("--ak-map-x");
  expect(stripImage(`${letters.slice(0, 5_000)}x${letters.slice(5_001)}`)).toContain("--ak-map-x");
  expect(marksOf("X".repeat(10_000), []).length).toBe(120);
});

test("selecting a card looks at that moment, says so, and Back to now leaves it", async () => {
  const shown = await show("paused");
  const [, thought] = shown.reset.cards as [Card, Card];
  const where = [{ ...shown.reset.head.where[0], line: 3, before: { chat: "1 message" } }] as unknown as Json;
  answer(shown, { at: { entry: thought.id, where, problem: "" } });
  await act(() => shown.entry(thought.id).focus());
  await settled();
  const steps = shown.reset.total - 1;
  expect(shown.commands).toContainEqual({ cmd: "at", entry: thought.id });
  const text = one(shown.root, ".ak-moment");
  expect(text.textContent).toContain(`You are looking at step ${thought.n}; the run is at step ${steps}.`);
  expect(one(shown.root, ".ak-side-panel").textContent).toContain(`As it was at step ${thought.n}`);
  expect(one(shown.root, ".ak-past .ak-current-line").textContent).toMatch(/^3/);
  expect((one(shown.root, ".ak-track input") as HTMLInputElement).value).toBe(String(thought.n));
  await click(button(shown.root, "Back to now"));
  expect(shown.root.querySelector(".ak-past")).toBeNull();
  expect((one(shown.root, ".ak-track input") as HTMLInputElement).value).toBe(String(steps + 1));
});

test("at the last step, the place of the run is not said twice", async () => {
  const shown = await show("paused");
  const last = shown.reset.cards.at(-1) as Card;
  await act(() => shown.entry(last.id).focus());
  expect(one(shown.root, ".ak-moment").textContent).toContain(`You are looking at step ${last.n}, the last one.`);
});

test("steps that arrive while one looks at the past do not move one away", async () => {
  const shown = await show("paused");
  const [, thought] = shown.reset.cards as [Card, Card];
  await act(() => shown.entry(thought.id).focus());
  const { run, seq, total, map, cards } = shown.reset;
  const next = { ...(cards[1] as Card), id: 9_999, n: total } as Card;
  await shown.receive({
    t: "events",
    v: 1,
    run,
    seq: seq + 1,
    ev: [{ k: "line", keep: total, first: total, cards: [next], total: total + 1, map: "t" }],
  });
  expect(map.length + 1).toBe(Number((one(shown.root, ".ak-track input") as HTMLInputElement).max));
  expect(one(shown.root, ".ak-moment").textContent).toContain(
    `You are looking at step ${thought.n}; the run is at step ${total}.`,
  );
});

test("Step and Run go back to now, because one wants to see what they do", async () => {
  const shown = await show("paused");
  const [, thought] = shown.reset.cards as [Card, Card];
  await act(() => shown.entry(thought.id).focus());
  await shown.press("Step");
  expect(shown.root.textContent).not.toContain("You are looking at");
  expect(shown.lastCommand).toEqual({ cmd: "step" });
});

test("left and right move through the steps, also to now, but not in what scrolls sideways", async () => {
  const shown = await show("paused");
  const { cards } = shown.reset;
  const focused = (): Element => document.activeElement as Element;
  await shown.key("ArrowLeft");
  expect((focused() as HTMLElement).dataset.entry).toBe(String(cards[cards.length - 1]?.id));
  await shown.key("ArrowRight", focused());
  expect(focused()).toBe(one(shown.root, ".ak-root"));
  expect(shown.root.textContent).not.toContain("You are looking at");
  await shown.key("ArrowLeft", one(shown.root, ".ak-locals"));
  expect(shown.root.textContent).not.toContain("You are looking at");
});

test("what keeps the variables of a moment from being shown is said in their place", async () => {
  const shown = await show("paused");
  const [, thought] = shown.reset.cards as [Card, Card];
  answer(shown, { at: { entry: thought.id, where: [], problem: "the engine now ends" } });
  await act(() => shown.entry(thought.id).focus());
  await settled();
  expect(one(shown.root, ".ak-side-panel").textContent).toContain(
    `The variables at step ${thought.n} cannot be shown: the engine now ends.`,
  );
});

function answer(shown: Awaited<ReturnType<typeof show>>, answers: { [command: string]: Json }): void {
  const before = shown.model.answer;
  shown.model.answer = (command) => {
    const result = answers[(command as Command).cmd];
    return result === undefined ? before(command) : { t: "ack", v: 1, cid: command.cid, result };
  };
}
