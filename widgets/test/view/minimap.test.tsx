import { expect, test, vi } from "vitest";
import samples from "../../dev/samples";
import { describeEntry, Minimap, minimapImage } from "../../src/view/minimap";
import { fakeKernel } from "../support/fakeKernel";
import { draw, one, press, recording } from "../support/render";

async function map(letters: string, first = 10, last = 19) {
  const { store } = fakeKernel(recording);
  store.trace.reset(0, letters.length, [], letters);
  const goTo = vi.fn();
  const page = await draw(<Minimap store={store} first={first} last={last} goTo={goTo} />);
  return { page, goTo };
}

test("an entry is described by its kind", () => {
  expect(describeEntry("btXc", 0)).toBe("entry 0 of 3, task");
  expect(describeEntry("btXc", 2)).toBe("entry 2 of 3, failed tool call, edited");
});

test("it is a slider that describes the current entry", async () => {
  const { page } = await map(samples.map(100));
  const slider = one(page, "[role=slider]");
  expect(slider.getAttribute("aria-valuenow")).toBe("10");
  expect(slider.getAttribute("aria-valuemax")).toBe("99");
  expect(slider.getAttribute("aria-valuetext")).toBe("entry 10 of 99, tool call");
  expect(one(page, "i").style.cssText).toMatch(/left: ?10%; ?width: ?10%/);
});

test.each([
  ["ArrowRight", 11],
  ["ArrowLeft", 9],
  ["PageDown", 15],
  ["Home", 0],
  ["End", 99],
])("%s goes to an entry", async (key, to) => {
  const { page, goTo } = await map(samples.map(100));
  await press(one(page, "[role=slider]"), key);
  expect(goTo).toHaveBeenCalledWith(to);
});

test("other keys are ignored", async () => {
  const { page, goTo } = await map(samples.map(100));
  await press(one(page, "[role=slider]"), "b");
  expect(goTo).not.toHaveBeenCalled();
});

test("pressing and dragging go to the entry under the pointer", async () => {
  const { page, goTo } = await map(samples.map(200));
  const slider = one(page, "[role=slider]");
  slider.getBoundingClientRect = () => ({ left: 100, width: 400 }) as DOMRect;
  slider.setPointerCapture = () => undefined;
  slider.dispatchEvent(new PointerEvent("pointerdown", { clientX: 200, buttons: 1 }));
  slider.dispatchEvent(new PointerEvent("pointermove", { clientX: 900, buttons: 1 }));
  slider.dispatchEvent(new PointerEvent("pointermove", { clientX: 150, buttons: 0 }));
  expect(goTo.mock.calls).toEqual([[50], [199]]);
});

test("ten thousand entries are two gradients of bounded size, and a single failure is visible", () => {
  const letters = "b".padEnd(10_000, "ta");
  const image = minimapImage(letters);
  expect(image.length).toBeLessThan(40_000);
  expect(image).not.toContain("--ak-map-x");
  expect(minimapImage(`${letters.slice(0, 5_000)}x${letters.slice(5_001)}`)).toContain("--ak-map-x");
  expect(minimapImage(`${letters.slice(0, 5_000)}T${letters.slice(5_001)}`)).toContain("--ak-map-e");
});

test("a trace of one entry has no minimap", async () => {
  expect((await map("b", 0, 0)).page.innerHTML).toBe("");
});
