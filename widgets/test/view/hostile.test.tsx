import { act } from "@testing-library/preact";
import { expect, test } from "vitest";
import characters from "../../../tests/hidden_characters.json";
import type { Recording } from "../../dev/model";
import { HOSTILE, NAMES, state, UNREACHABLE } from "../../dev/states";
import { escapeInvisible } from "../../src/elements/escape";
import type { Card, FromKernel, Json } from "../../src/protocol";
import { show } from "../support/liveView";

const FOCUSABLE = "a[href],button,input,textarea,select,summary,iframe,[tabindex],[contenteditable]";

/** The elements of a view; any other one came out of a message. */
const ELEMENTS =
  /^(a|article|aside|b|blockquote|br|button|caption|code|dd|del|details|div|dl|dt|em|fieldset|figcaption|figure|form|h2|h3|h4|header|hr|i|iframe|img|input|ins|kbd|label|legend|li|main|nav|ol|option|p|path|pre|s|section|select|small|span|strong|summary|svg|table|tbody|td|textarea|tfoot|th|thead|tr|ul)$/;

function expectSafe(root: HTMLElement): void {
  for (const element of root.querySelectorAll<HTMLElement>("*")) {
    const name = element.tagName.toLowerCase();
    expect(name).toMatch(ELEMENTS);
    expect(element.className).not.toBe("hostile");
    for (const attribute of element.attributes)
      expect(attribute.name.startsWith("on"), `${name} ${attribute.name}`).toBe(false);
    if (name === "a") {
      expect(element.getAttribute("href")).toMatch(/^(https?:\/\/|mailto:)/);
      expect(element.getAttribute("rel")).toBe("noopener noreferrer");
    }
    for (const link of [...(name === "a" ? [] : ["href"]), "action", "formaction", "data", "srcset", "background"])
      expect(element.hasAttribute(link), `${name} ${link}`).toBe(false);
    if (name === "img")
      expect(element.getAttribute("src")).toMatch(/^data:image\/(png|jpeg|gif|webp|bmp|svg\+xml);base64,/);
    if (name === "iframe") {
      expect(element.getAttribute("sandbox")).toBe("");
      expect(element.hasAttribute("src")).toBe(false);
      expect(element.getAttribute("srcdoc")).toMatch(
        /^<meta http-equiv="Content-Security-Policy" content="default-src 'none'/,
      );
    }
  }
  expect((globalThis as { hostile?: number }).hostile).toBeUndefined();
}

function expectNoLeaks(root: HTMLElement): void {
  for (const element of root.querySelectorAll(FOCUSABLE)) {
    expect(element.getAttribute("data-lm-suppress-shortcuts"), element.outerHTML.slice(0, 200)).toBe("true");
  }
}

function expectLabels(root: HTMLElement): void {
  for (const button of root.querySelectorAll("button")) {
    expect(button.hasAttribute("type")).toBe(true);
    expect((button.getAttribute("aria-label") ?? button.textContent ?? "").trim(), button.outerHTML).not.toBe("");
  }
  for (const field of root.querySelectorAll(
    "input,textarea,select,iframe,[role=dialog],[role=region],[role=log],[role=toolbar],[role=tablist]",
  )) {
    const label =
      field.getAttribute("aria-label") ?? field.getAttribute("title") ?? field.getAttribute("aria-labelledby");
    expect(
      label || root.querySelector(`label[for="${field.id}"]`) || field.closest("label"),
      field.outerHTML.slice(0, 200),
    ).toBeTruthy();
  }
}

const STATES = NAMES.filter((name) => !UNREACHABLE.includes(name));

test.each(STATES)("%s: nothing runs or loads, no shortcut leaks, and everything has a label", async (name) => {
  const shown = await show(name);
  if (name !== "long") for (const fold of shown.root.querySelectorAll("details")) await shown.unfold(fold);
  expectSafe(shown.root);
  expectNoLeaks(shown.root);
  expectLabels(shown.root);
});

test.each(["paused", "waiting", "hostile", "edited"])(
  "%s: with every form, panel and overlay open as well",
  async (name) => {
    const shown = await show(name);
    const check = (): void => {
      expectSafe(shown.root);
      expectNoLeaks(shown.root);
      expectLabels(shown.root);
    };
    await shown.key("i");
    await shown.key("?");
    check();
    await shown.key("Escape", shown.root.querySelector("[role=dialog]") as Element);
    expect(shown.root.querySelector("[role=dialog]")).toBeNull();
    for (const tab of shown.root.querySelectorAll<HTMLElement>(".ak-side-tabs [role=tab]")) {
      await act(() => tab.click());
      check();
    }
    for (const card of shown.reset.cards.filter((each) => ["think", "act"].includes(each.kind))) {
      await shown.press("Edit", shown.entry(card.id));
      check();
    }
  },
);

test("hostile answers to questions are drawn as text", async () => {
  const recording = state("hostile");
  const original: Card = { ...((recording.messages[0] as Extract<FromKernel, { t: "reset" }>).cards[1] as Card) };
  const answers: { [name: string]: Json } = {
    original: original as unknown as Json,
    text: { text: HOSTILE },
    source: { file: HOSTILE, first: 1, text: HOSTILE },
  };
  const shown = await show({ ...recording, answers } as Recording);
  for (const fold of shown.root.querySelectorAll<HTMLDetailsElement>("details")) await shown.unfold(fold);
  expectSafe(shown.root);
  expect(shown.root.textContent).toContain(escapeInvisible(HOSTILE));
});

test("invisible and text-reversing characters are escaped, so that a call reads as it will be made", async () => {
  const recording = state("waiting");
  const reset = recording.messages[0] as Extract<FromKernel, { t: "reset" }>;
  const [step] = reset.head.pending;
  const call = {
    id: "1",
    name: "delete",
    arguments: { path: "keep \u202eevil\u202c \u001b[8mhidden \u200b\u{e0041}", joined: "👩‍💻\tשלום" },
  };
  const head = { ...reset.head, task: "a \u202e b", pending: [{ ...step, call } as (typeof reset.head.pending)[0]] };
  const shown = await show({ ...recording, messages: [{ ...reset, head }] });
  expect(shown.root.querySelector(".ak-pending .ak-arguments")?.textContent).toContain(
    "keep \\u202eevil\\u202c \\x1b[8mhidden \\u200b\\U000e0041",
  );
  expect(shown.root.querySelector(".ak-pending .ak-arguments")?.textContent).toContain("👩‍💻\tשלום");
  expect(shown.root.innerHTML).not.toMatch(/[\u202a-\u202e]/);
});

test("the same characters are shown as escapes as in every other format", () => {
  for (const [name, text = "", shown] of characters) expect(escapeInvisible(text), name).toBe(shown);
});

test("they are escaped in labels too, and below a field that contains them", async () => {
  const recording = state("waiting");
  const reset = recording.messages[0] as Extract<FromKernel, { t: "reset" }>;
  const [step] = reset.head.pending;
  const call = { id: "1", name: "pay", arguments: { "to\u202eyou": "3\u202e.2", plainly: "\u05e9\n" } };
  const pending = [{ ...step, schema: {}, call } as (typeof reset.head.pending)[0]];
  const cards = reset.cards.map((card) => ({
    ...card,
    role: "wri\u202eter",
    title: "wri\u202eter",
    tags: [{ text: "no\u202ete", title: "a\u202eb" }],
  }));
  const shown = await show({
    ...recording,
    messages: [{ ...reset, cards, head: { ...reset.head, task: "a \u202e b", pending } }],
  });
  await shown.press("Edit…");
  const form = shown.root.querySelector("[aria-label=Approval]") as HTMLElement;
  expect([...form.querySelectorAll("textarea")].map((field) => field.value)).toEqual(["3\u202e.2", "\u05e9\n"]);
  expect([...form.querySelectorAll("textarea + p")].map((text) => text.textContent)).toEqual(["3\\u202e.2"]);
  for (const element of shown.root.querySelectorAll("*"))
    for (const { name, value } of element.attributes)
      expect(value, `${element.tagName} ${name}`).not.toMatch(/[\u202a-\u202e]/);
});

test("an image of an unknown type is not shown", async () => {
  const recording = state("full");
  const reset = recording.messages[0] as Extract<FromKernel, { t: "reset" }>;
  for (const mime of ["image/png,x", "text/html", 'image/png" onload="x', "https://example.org/a.png"]) {
    const cards = reset.cards.map((card) =>
      card.kind === "act" ? { ...card, items: [{ type: "image" as const, mime, data: "" }] } : card,
    );
    const shown = await show({ ...recording, messages: [{ ...reset, cards }] });
    expect(shown.root.querySelector("img")).toBeNull();
    expectSafe(shown.root);
  }
});

test("keys typed into a field are not shortcuts, and no key leaves the view", async () => {
  const shown = await show("paused");
  await shown.key("i");
  const sent = (): string[] => shown.commands.map(({ cmd }) => cmd).filter((cmd) => cmd !== "at"); // a query
  const before = sent();
  let leaked = 0;
  document.body.addEventListener("keydown", () => leaked++);
  const field = shown.root.querySelector("textarea") as HTMLTextAreaElement;
  for (const key of ["r", " ", "Enter", "x", "b"]) await shown.key(key, field);
  await shown.key("j");
  expect([sent(), leaked]).toEqual([before, 0]);
});
