import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import type { Head } from "../../src/protocol";
import { ExportMenu } from "../../src/view/exportMenu";
import { fakeKernel } from "../support/fakeKernel";
import { button, click, draw, expectNoLeaks, press, recording, settled, texts } from "../support/render";

afterEach(() => vi.restoreAllMocks());

async function menu(answers: Parameters<typeof fakeKernel>[1] = {}, head: Partial<Head> = { answer: "Chur" }) {
  const { store, commands } = fakeKernel(recording, answers, head);
  let notice = "";
  const onNotice = (text: string): void => {
    notice = text;
  };
  const page = await draw(<ExportMenu store={store} onNotice={onNotice} />);
  const opener = button(page, /Export/);
  await click(opener);
  expectNoLeaks(page);
  return { page, commands, opener, notice: () => notice };
}

function clipboard(writeText: (text: string) => Promise<void>): void {
  vi.spyOn(navigator, "clipboard", "get").mockReturnValue({ writeText } as unknown as Clipboard);
}

/** Listen to clicks on links as a notebook around the view does. */
function onLinkClicked(listener: (link: HTMLAnchorElement, event: Event) => void): void {
  const onClick = (event: Event): void => {
    if (event.target instanceof HTMLAnchorElement) listener(event.target, event);
  };
  document.body.addEventListener("click", onClick);
  onTestFinished(() => document.body.removeEventListener("click", onClick));
}

test("the menu opens on its first item, the arrow keys go around, and Escape gives the focus back", async () => {
  const { page, opener } = await menu();
  expect(opener.getAttribute("aria-expanded")).toBe("true");
  expect(texts(page, "[role=menuitem]")).toEqual([
    "Insert cells below",
    "Notebook (.ipynb)",
    "Markdown",
    "HTML",
    "JSON",
    "Copy as Markdown",
    "Copy answer",
  ]);
  expect(document.activeElement).toBe(button(page, "Insert cells below"));
  await press(document.activeElement as Element, "ArrowUp");
  expect(document.activeElement).toBe(button(page, "Copy answer"));
  await press(document.activeElement as Element, "ArrowDown");
  expect(document.activeElement).toBe(button(page, "Insert cells below"));
  await press(document.activeElement as Element, "Escape");
  expect(page.querySelector("[role=menu]")).toBeNull();
  expect(document.activeElement).toBe(opener);
  await press(opener, "ArrowDown");
  expect(document.activeElement).toBe(button(page, "Insert cells below"));
});

test("the arrow keys work in shadow roots, such as marimo's, where the page does not see the focus", async () => {
  const { page } = await menu();
  vi.spyOn(document, "activeElement", "get").mockReturnValue(document.body);
  const focused = vi.spyOn(button(page, "Markdown"), "focus");
  await press(button(page, "Notebook (.ipynb)"), "ArrowDown");
  expect(focused).toHaveBeenCalled();
});

test("the menu closes when it loses the focus", async () => {
  const { page } = await menu();
  button(page, "JSON").dispatchEvent(new FocusEvent("focusout", { bubbles: true, relatedTarget: document.body }));
  await settled();
  expect(page.querySelector("[role=menu]")).toBeNull();
});

test("inserted cells are counted", async () => {
  const { page, commands, notice } = await menu({ export: { inserted: 12 } });
  await click(button(page, "Insert cells below"));
  expect(commands).toEqual([{ cmd: "export", format: "cells" }]);
  expect(notice()).toBe("Inserted 12 cells below");
});

test("if cells cannot be inserted, the notice names the file", async () => {
  const { page, notice } = await menu({ export: { inserted: 0, fallback: "run-7.ipynb" } });
  await click(button(page, "Insert cells below"));
  expect(notice()).toBe("Cells cannot be inserted in this notebook. They were saved as run-7.ipynb");
});

test.each([
  ["Notebook (.ipynb)", "ipynb"],
  ["Markdown", "markdown"],
  ["HTML", "html"],
  ["JSON", "json"],
])("%s is downloaded as a file", async (label, format) => {
  const blobs: Blob[] = [];
  const names: string[] = [];
  vi.spyOn(URL, "createObjectURL").mockImplementation((blob) => `blob:${blobs.push(blob as Blob)}`);
  onLinkClicked((link) => names.push(link.download));
  const { page, commands, notice } = await menu({ export: { name: "run-7.txt", mime: "text/markdown", text: "# é" } });
  await click(button(page, label));
  expect(commands).toEqual([{ cmd: "export", format }]);
  expect(await blobs[0]?.text()).toBe("# é");
  expect(names).toEqual(["run-7.txt"]);
  expect(notice()).toBe("Saved as run-7.txt");
});

test("in a frame, the notice says what to do if downloads are blocked", async () => {
  vi.spyOn(URL, "createObjectURL").mockReturnValue("blob:1");
  vi.spyOn(window, "top", "get").mockReturnValue({} as Window);
  const { page, notice } = await menu({ export: { name: "run-7.json", mime: "application/json", text: "" } });
  await click(button(page, "JSON"));
  expect(notice()).toBe(
    'Saved as run-7.json. If there is no such file, this notebook blocks downloads: use run.to_json("run-7.json") in a cell.',
  );
});

test("a notebook that takes over downloads asks where to save the file", async () => {
  vi.spyOn(URL, "createObjectURL").mockReturnValue("blob:1");
  onLinkClicked((_, event) => event.preventDefault());
  const { page, notice } = await menu({ export: { name: "run-7.html", mime: "text/html", text: "" } });
  await click(button(page, "HTML"));
  expect(notice()).toContain("The notebook asks where to save run-7.html.");
  expect(document.querySelector("a[download]")).toBeNull();
});

test("Markdown and the answer are copied to the clipboard", async () => {
  const copied: string[] = [];
  clipboard(async (text) => void copied.push(text));
  const { page, opener, notice } = await menu({ export: { name: "n", mime: "m", text: "# run" } });
  await click(button(page, "Copy as Markdown"));
  expect(notice()).toBe("Copied");
  await click(opener);
  await click(button(page, "Copy answer"));
  expect(copied).toEqual(["# run", "Chur"]);
});

test("without a clipboard the old way is tried, and a failure is reported", async () => {
  clipboard(() => Promise.reject(new Error("denied")));
  const old = vi.fn(() => true);
  document.execCommand = old;
  const { page, opener, notice } = await menu();
  await click(button(page, "Copy answer"));
  expect(old).toHaveBeenCalledWith("copy");
  expect(notice()).toBe("Copied");
  expect(document.querySelector("textarea")).toBeNull();
  old.mockReturnValue(false);
  await click(opener);
  await click(button(page, "Copy answer"));
  expect(notice()).toContain("The browser blocked copying. Select the text and press Ctrl+C, or run");
});

test("the answer cannot be copied before there is one", async () => {
  const { page, commands } = await menu({}, { answer: null });
  expect(button(page, "Copy answer").getAttribute("aria-disabled")).toBe("true");
  await click(button(page, "Copy answer"));
  expect(commands).toEqual([]);
});

test("a refusal is reported", async () => {
  const { page, notice } = await menu({
    export: () => {
      throw new Error("the run is empty");
    },
  });
  await click(button(page, "HTML"));
  expect(notice()).toBe("the run is empty");
});
