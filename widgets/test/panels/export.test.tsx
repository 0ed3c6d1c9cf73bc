import { afterEach, expect, test, vi } from "vitest";
import { ExportMenu } from "../../src/panels/export";
import type { Head } from "../../src/protocol";
import { button, click, draw, press, record, settled, texts, unleaked } from "./draw";
import { fake } from "./fake";

afterEach(() => vi.restoreAllMocks());

async function menu(answers: Parameters<typeof fake>[1] = {}, head: Partial<Head> = { answer: "Chur" }) {
  const { store, told } = fake(record, answers, head);
  let heard = "";
  const say = (what: string): void => {
    heard = what;
  };
  const page = await draw(<ExportMenu store={store} say={say} />);
  const opener = button(page, /Export/);
  await click(opener);
  unleaked(page);
  return { page, told, opener, said: () => heard };
}

function clipboard(writeText: (text: string) => Promise<void>): void {
  vi.spyOn(navigator, "clipboard", "get").mockReturnValue({ writeText } as unknown as Clipboard);
}

test("the menu opens on its first item, goes round by arrows, and Escape gives the focus back", async () => {
  const { page, opener } = await menu();
  expect(opener.getAttribute("aria-expanded")).toBe("true");
  expect(texts(page, "[role=menuitem]")).toEqual([
    "Cells below",
    "Notebook (.ipynb)",
    "Markdown",
    "HTML",
    "JSON",
    "Copy as Markdown",
    "Copy answer",
  ]);
  expect(document.activeElement).toBe(button(page, "Cells below"));
  await press(document.activeElement as Element, "ArrowUp");
  expect(document.activeElement).toBe(button(page, "Copy answer"));
  await press(document.activeElement as Element, "ArrowDown");
  expect(document.activeElement).toBe(button(page, "Cells below"));
  await press(document.activeElement as Element, "Escape");
  expect(page.querySelector("[role=menu]")).toBeNull();
  expect(document.activeElement).toBe(opener);
  await press(opener, "ArrowDown");
  expect(document.activeElement).toBe(button(page, "Cells below"));
});

test("arrows go round where a page does not see what has the focus, as in marimo's shadow roots", async () => {
  const { page } = await menu();
  vi.spyOn(document, "activeElement", "get").mockReturnValue(document.body);
  const focused = vi.spyOn(button(page, "Markdown"), "focus");
  await press(button(page, "Notebook (.ipynb)"), "ArrowDown");
  expect(focused).toHaveBeenCalled();
});

test("the menu closes when the focus goes elsewhere", async () => {
  const { page } = await menu();
  button(page, "JSON").dispatchEvent(new FocusEvent("focusout", { bubbles: true, relatedTarget: document.body }));
  await settled();
  expect(page.querySelector("[role=menu]")).toBeNull();
});

test("cells that were added are counted", async () => {
  const { page, told, said } = await menu({ export: { inserted: 12 } });
  await click(button(page, "Cells below"));
  expect(told).toEqual([{ cmd: "export", format: "cells" }]);
  expect(said()).toBe("12 cells were added below");
});

test("where a notebook takes no cells, the file is named", async () => {
  const { page, said } = await menu({ export: { inserted: 0, fallback: "run-7.ipynb" } });
  await click(button(page, "Cells below"));
  expect(said()).toBe("This notebook takes no cells from a view. They were written to run-7.ipynb");
});

test.each([
  ["Notebook (.ipynb)", "ipynb"],
  ["Markdown", "markdown"],
  ["HTML", "html"],
  ["JSON", "json"],
])("%s is a file to be saved", async (label, format) => {
  const made: Blob[] = [];
  const names: string[] = [];
  vi.spyOn(URL, "createObjectURL").mockImplementation((blob) => `blob:${made.push(blob as Blob)}`);
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
    names.push(this.download);
  });
  const { page, told, said } = await menu({ export: { name: "run-7.txt", mime: "text/markdown", text: "# é" } });
  await click(button(page, label));
  expect(told).toEqual([{ cmd: "export", format }]);
  expect(await made[0]?.text()).toBe("# é");
  expect(names).toEqual(["run-7.txt"]);
  expect(said()).toBe("Saved as run-7.txt");
});

test("Markdown and the answer go to the clipboard", async () => {
  const copied: string[] = [];
  clipboard(async (text) => void copied.push(text));
  const { page, opener, said } = await menu({ export: { name: "n", mime: "m", text: "# run" } });
  await click(button(page, "Copy as Markdown"));
  expect(said()).toBe("Copied");
  await click(opener);
  await click(button(page, "Copy answer"));
  expect(copied).toEqual(["# run", "Chur"]);
});

test("without a clipboard the old way is tried, and a failure is said", async () => {
  clipboard(() => Promise.reject(new Error("denied")));
  const old = vi.fn(() => true);
  document.execCommand = old;
  const { page, opener, said } = await menu();
  await click(button(page, "Copy answer"));
  expect(old).toHaveBeenCalledWith("copy");
  expect(said()).toBe("Copied");
  expect(document.querySelector("textarea")).toBeNull();
  old.mockReturnValue(false);
  await click(opener);
  await click(button(page, "Copy answer"));
  expect(said()).toBe("The browser does not allow it");
});

test("there is no answer to copy before there is one", async () => {
  const { page, told } = await menu({}, { answer: null });
  expect(button(page, "Copy answer").getAttribute("aria-disabled")).toBe("true");
  await click(button(page, "Copy answer"));
  expect(told).toEqual([]);
});

test("a refusal is said", async () => {
  const { page, said } = await menu({
    export: () => {
      throw new Error("the run is empty");
    },
  });
  await click(button(page, "HTML"));
  expect(said()).toBe("the run is empty");
});
