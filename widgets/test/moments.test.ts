import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Places } from "../src/moments";

let newest: number;
let inNotebook: number[];
let isReady: boolean;
let drawn: number;
let shown: boolean[];
let places: Places;

beforeEach(() => {
  vi.useFakeTimers();
  [newest, inNotebook, isReady, drawn, shown] = [1, [1], true, 0, []];
  document.body.innerHTML = '<main class="jp-Notebook"></main><aside></aside>';
  places = new Places(
    () => "run",
    () => newest,
    () => inNotebook.includes(newest),
    () => isReady,
    (el) => {
      drawn++;
      el.innerHTML = "<input>";
      return () => {
        drawn--;
      };
    },
    (isShown) => void shown.push(isShown),
  );
});

afterEach(() => {
  places.close();
  vi.useRealTimers();
});

/** Add the output of a moment to an element. */
function output(moment: number, parent = "main"): HTMLElement {
  const child = document.createElement("div");
  child.innerHTML = `<div class="jp-OutputArea-output"><div class="ak-moment ak-moment-run-${moment}">static</div></div>`;
  document.querySelector(parent)?.append(child);
  return child;
}

function look(): void {
  places.update([...document.querySelectorAll<HTMLElement>(".ak-moment")]);
}

/** Whether an output shows its view, or else its static form; both at once would be a mistake. */
function isLive(child: HTMLElement): boolean {
  const isHidden = child.querySelector<HTMLElement>(".jp-OutputArea-output")?.style.display === "none";
  expect(child.querySelector(".ak-live") !== null).toBe(isHidden);
  return isHidden;
}

test("only the newest moment is live, and the view moves with what was typed in it", () => {
  const first = output(1);
  look();
  expect(isLive(first)).toBe(true);
  const input = first.querySelector("input") as HTMLInputElement;
  input.value = "typed";
  newest = 2;
  const second = output(2);
  look();
  expect([isLive(first), isLive(second), drawn]).toEqual([false, true, 1]);
  expect(second.querySelector("input")).toBe(input);
});

test("the static form is shown until there is something to draw", () => {
  isReady = false;
  const child = output(1);
  look();
  expect([isLive(child), shown]).toEqual([false, [true]]);
  isReady = true;
  look();
  expect(isLive(child)).toBe(true);
});

test("a copy outside of the notebook is live whatever its moment", () => {
  newest = 2;
  const [old, copy] = [output(1), output(1, "aside")];
  look();
  expect([isLive(old), isLive(copy)]).toEqual([false, true]);
});

test("an output that is made anew gets the same view", () => {
  output(1);
  look();
  const input = document.querySelector("input");
  document.querySelector("main")?.replaceChildren();
  look();
  const anew = output(1);
  look();
  expect([isLive(anew), anew.querySelector("input") === input, drawn]).toEqual([true, true, 1]);
});

test("what is only out of sight keeps its view, and comes back with it", () => {
  const child = output(1);
  look();
  child.remove();
  look();
  expect([drawn, shown]).toEqual([1, [true]]);
  document.querySelector("main")?.append(child);
  look();
  expect([isLive(child), drawn]).toEqual([true, 1]);
});

test("when the notebook no longer contains the moment, nothing is left", () => {
  const child = output(1);
  look();
  child.remove();
  inNotebook = [];
  look();
  expect([drawn, shown]).toEqual([0, [true, false]]);
});

test("a moment of another run is left alone", () => {
  const child = output(1);
  child.innerHTML = child.innerHTML.replace("ak-moment-run-1", "ak-moment-running-1");
  look();
  expect([isLive(child), drawn]).toEqual([false, 0]);
  newest = 0; // of a run that is only in a layout
  look();
  expect([isLive(child), drawn]).toEqual([false, 0]);
});

test("a view that the host draws again at once is the same one, and otherwise it is removed", () => {
  const [first, second] = [document.createElement("div"), document.createElement("div")];
  document.body.append(first, second);
  const remove = places.render(first);
  const input = first.querySelector("input");
  remove();
  const removeSecond = places.render(second);
  vi.advanceTimersByTime(10_000);
  expect([second.querySelector("input") === input, drawn]).toEqual([true, 1]);
  removeSecond();
  vi.advanceTimersByTime(10_000);
  expect(drawn).toBe(0);
});
