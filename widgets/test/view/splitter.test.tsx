import { beforeEach, expect, test, vi } from "vitest";
import { Splitter, useSideWidth } from "../../src/view/splitter";
import { draw, settled } from "../support/render";

function Border() {
  const [percent, set] = useSideWidth();
  return <Splitter percent={percent} set={set} />;
}

async function drawn(): Promise<HTMLElement> {
  return (await draw(<Border />)).querySelector("[role=separator]") as HTMLElement;
}

async function press(border: Element, key: string): Promise<void> {
  border.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  await settled();
}

beforeEach(() => localStorage.clear());

test("arrow keys move the border, within bounds, and the next view opens with the same width", async () => {
  const border = await drawn();
  await press(border, "ArrowLeft");
  expect(border.getAttribute("aria-valuenow")).toBe("44");
  for (let count = 0; count < 30; count++) await press(border, "ArrowLeft");
  expect(border.getAttribute("aria-valuenow")).toBe("75");
  expect((await drawn()).getAttribute("aria-valuenow")).toBe("75");
});

test("a host that forbids to keep anything has the usual width", async () => {
  vi.stubGlobal("localStorage", {
    getItem: () => {
      throw new Error("denied");
    },
  });
  const border = await drawn();
  vi.unstubAllGlobals();
  expect(border.getAttribute("aria-valuenow")).toBe("42");
});
