import { expect, test, vi } from "vitest";
import samples from "../../dev/samples";
import { drawn, Minimap, named } from "../../src/panels/minimap";
import { draw, one, press, record } from "./draw";
import { fake } from "./fake";

async function map(letters: string, first = 10, last = 19) {
  const { store } = fake(record);
  store.trace.reset(0, letters.length, [], letters);
  const go = vi.fn();
  const page = await draw(<Minimap store={store} first={first} last={last} go={go} />);
  return { page, go };
}

test("an entry is named by what it is", () => {
  expect(named("btXc", 0)).toBe("entry 0 of 3, task");
  expect(named("btXc", 2)).toBe("entry 2 of 3, action that failed, edited");
});

test("it is a slider that says where one is", async () => {
  const { page } = await map(samples.map(100));
  const slider = one(page, "[role=slider]");
  expect(slider.getAttribute("aria-valuenow")).toBe("10");
  expect(slider.getAttribute("aria-valuemax")).toBe("99");
  expect(slider.getAttribute("aria-valuetext")).toBe("entry 10 of 99, action");
  expect(one(page, "i").style.cssText).toMatch(/left: ?10%; ?width: ?10%/);
});

test.each([
  ["ArrowRight", 11],
  ["ArrowLeft", 9],
  ["PageDown", 15],
  ["Home", 0],
  ["End", 99],
])("%s leads to an entry", async (key, to) => {
  const { page, go } = await map(samples.map(100));
  await press(one(page, "[role=slider]"), key);
  expect(go).toHaveBeenCalledWith(to);
});

test("other keys are left to others", async () => {
  const { page, go } = await map(samples.map(100));
  await press(one(page, "[role=slider]"), "b");
  expect(go).not.toHaveBeenCalled();
});

test("a press leads to the entry under the pointer, and so does a drag", async () => {
  const { page, go } = await map(samples.map(200));
  const slider = one(page, "[role=slider]");
  slider.getBoundingClientRect = () => ({ left: 100, width: 400 }) as DOMRect;
  slider.setPointerCapture = () => undefined;
  slider.dispatchEvent(new PointerEvent("pointerdown", { clientX: 200, buttons: 1 }));
  slider.dispatchEvent(new PointerEvent("pointermove", { clientX: 900, buttons: 1 }));
  slider.dispatchEvent(new PointerEvent("pointermove", { clientX: 150, buttons: 0 }));
  expect(go.mock.calls).toEqual([[50], [199]]);
});

test("ten thousand entries are two gradients of a bounded size, and one failure among them is seen", () => {
  const letters = "b".padEnd(10_000, "ta");
  const calm = drawn(letters);
  expect(calm.length).toBeLessThan(40_000);
  expect(calm).not.toContain("--ak-map-x");
  expect(drawn(`${letters.slice(0, 5_000)}x${letters.slice(5_001)}`)).toContain("--ak-map-x");
  expect(drawn(`${letters.slice(0, 5_000)}T${letters.slice(5_001)}`)).toContain("--ak-map-e");
});

test("a trace of one entry needs no map", async () => {
  expect((await map("b", 0, 0)).page.innerHTML).toBe("");
});
