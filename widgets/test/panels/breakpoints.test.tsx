import { expect, test } from "vitest";
import samples from "../../dev/samples";
import { Breakpoints } from "../../src/panels/breakpoints";
import type { Head } from "../../src/protocol";
import { fakeKernel } from "../support/fakeKernel";
import {
  button,
  click,
  draw,
  expectHarmless,
  expectNoLeaks,
  HOSTILE,
  one,
  recording,
  settled,
  texts,
  type,
} from "../support/render";

function panel(head: Partial<Head> = samples.head, answers = {}) {
  const kernel = fakeKernel(recording, { break: {}, ...answers }, head);
  return { ...kernel, drawn: draw(<Breakpoints store={kernel.store} />) };
}

test("each breakpoint is listed with its hits", async () => {
  const page = await panel().drawn;
  expect(texts(page, ".ak-list li")).toEqual([
    "Tool book_train2 hits×",
    "Line 2214 hits×",
    "Line 25 in react.py0 hits×",
    "Tool failure 1 hit×",
    'Condition entry.kind == "act" and "snow" in entry.result[0].text0 hits×',
  ]);
});

test("a breakpoint is disabled, enabled and removed", async () => {
  const { drawn, commands } = panel();
  const page = await drawn;
  const [first, , third] = page.querySelectorAll<HTMLInputElement>("input[type=checkbox]");
  await click(first as HTMLElement);
  await click(third as HTMLElement);
  await click(button(page, "Remove breakpoint: Tool failure"));
  expect(commands).toEqual([
    { cmd: "enable", id: 0, enabled: false },
    { cmd: "enable", id: 2, enabled: true },
    { cmd: "unbreak", id: 3 },
  ]);
});

test("a tool is selected from those of the run", async () => {
  const { drawn, commands } = panel();
  const page = await drawn;
  expect(texts(page, "form select:nth-of-type(2) option")).toEqual(["weather", "book_train"]);
  await click(button(page, "Add"));
  expect(commands).toEqual([{ cmd: "break", kind: "tool", value: "weather" }]);
});

test.each([
  ["role", "reflect"],
  ["line", "22"],
  ["when", 'entry.kind == "think"'],
])("a breakpoint of kind %s takes a value", async (kind, value) => {
  const { drawn, commands } = panel();
  const page = await drawn;
  await type(one(page, "form select"), kind);
  expectNoLeaks(page);
  const field = one(page, "form input");
  expect(page.querySelector(`label[for="${field.id}"]`)).toBeTruthy();
  await type(field, value);
  await click(button(page, "Add"));
  expect(commands).toEqual([{ cmd: "break", kind, value }]);
  expect((one(page, "form input") as HTMLInputElement).value).toBe("");
});

test.each(["error", "repeat"])("a breakpoint of kind %s needs no value", async (kind) => {
  const { drawn, commands } = panel();
  const page = await drawn;
  await type(one(page, "form select"), kind);
  expect(page.querySelector("form input")).toBeNull();
  await click(button(page, "Add"));
  expect(commands).toEqual([{ cmd: "break", kind, value: "" }]);
});

test("a refused condition stays in its field, with the error beside it", async () => {
  const refuse = () => {
    throw new Error("invalid syntax: entry.kind =");
  };
  const page = await panel(samples.head, { break: refuse }).drawn;
  await type(one(page, "form select"), "when");
  await type(one(page, "form input"), "entry.kind =");
  await click(button(page, "Add"));
  expect((one(page, "form input") as HTMLInputElement).value).toBe("entry.kind =");
  expect(one(page, "form [role=alert]").textContent).toBe("invalid syntax: entry.kind =");
  expect(
    one(page, `#${CSS.escape(one(page, "form input").getAttribute("aria-describedby") ?? "")}`).textContent,
  ).toContain("invalid");
});

test("in a run without tools, the name of a tool is entered", async () => {
  const { drawn, commands } = panel({ breakpoints: [], tools: [] });
  const page = await drawn;
  expect(page.textContent).toContain("No breakpoints.");
  await type(one(page, "form input"), "search");
  await click(button(page, "Add"));
  expect(commands).toEqual([{ cmd: "break", kind: "tool", value: "search" }]);
});

test("a selected tool that the run has lost is not added", async () => {
  const { drawn, commands, head } = panel();
  const page = await drawn;
  await type(one(page, "form select:nth-of-type(2)"), "book_train");
  head({ tools: ["weather"] });
  await settled();
  await click(button(page, "Add"));
  expect(commands).toEqual([{ cmd: "break", kind: "tool", value: "weather" }]);
});

test("hostile text in names and conditions is drawn as text", async () => {
  expectHarmless(
    await panel({
      breakpoints: [{ id: 0, kind: "when", value: HOSTILE, enabled: true, hits: 0 }],
      tools: [HOSTILE],
      roles: [HOSTILE],
    }).drawn,
  );
});
