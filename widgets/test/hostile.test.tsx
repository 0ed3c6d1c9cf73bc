import { act } from "@testing-library/preact";
import { expect, test } from "vitest";
import type { Recorded } from "../dev/model";
import { HOSTILE, NAMES, state } from "../dev/states";
import { plain } from "../src/plain";
import type { Card, FromKernel, Json } from "../src/protocol";
import { show } from "./shown";

const FOCUSABLE = "a[href],button,input,textarea,select,summary,iframe,[tabindex],[contenteditable]";

/** What a view may be made of; anything else came out of a message. */
const MADE_OF =
  /^(article|aside|b|button|caption|code|dd|del|details|div|dl|dt|em|fieldset|figcaption|figure|form|h2|h3|h4|header|i|iframe|img|input|ins|kbd|label|legend|li|main|nav|ol|option|p|path|pre|section|select|small|span|strong|summary|svg|table|tbody|td|textarea|tfoot|th|thead|tr|ul)$/;

function safe(root: HTMLElement): void {
  for (const element of root.querySelectorAll<HTMLElement>("*")) {
    const name = element.tagName.toLowerCase();
    expect(name).toMatch(MADE_OF);
    expect(element.className).not.toBe("hostile");
    for (const attribute of element.attributes) expect(attribute.name.startsWith("on"), `${name} ${attribute.name}`).toBe(false);
    for (const link of ["href", "action", "formaction", "data"]) expect(element.hasAttribute(link), `${name} ${link}`).toBe(false);
    if (name === "img") expect(element.getAttribute("src")).toMatch(/^data:image\/(png|jpeg|gif|webp|bmp|svg\+xml);base64,/);
    if (name === "iframe") {
      expect(element.getAttribute("sandbox")).toBe("");
      expect(element.hasAttribute("src")).toBe(false);
      expect(element.getAttribute("srcdoc")).toMatch(/^<meta http-equiv="Content-Security-Policy" content="default-src 'none'/);
    }
  }
  expect((globalThis as { hostile?: number }).hostile).toBeUndefined();
}

function quiet(root: HTMLElement): void {
  for (const element of root.querySelectorAll(FOCUSABLE)) {
    expect(element.getAttribute("data-lm-suppress-shortcuts"), element.outerHTML.slice(0, 200)).toBe("true");
  }
}

function labelled(root: HTMLElement): void {
  for (const button of root.querySelectorAll("button")) {
    expect(button.hasAttribute("type")).toBe(true);
    expect((button.getAttribute("aria-label") ?? button.textContent ?? "").trim(), button.outerHTML).not.toBe("");
  }
  for (const box of root.querySelectorAll(
    "input,textarea,select,iframe,[role=dialog],[role=region],[role=log],[role=toolbar],[role=tablist]",
  )) {
    const named = box.getAttribute("aria-label") ?? box.getAttribute("title") ?? box.getAttribute("aria-labelledby");
    expect(named || root.querySelector(`label[for="${box.id}"]`) || box.closest("label"), box.outerHTML.slice(0, 200)).toBeTruthy();
  }
}

const STATES = NAMES.filter((name) => !["connecting", "late", "gone"].includes(name));

test.each(STATES)("%s: nothing runs or loads, no shortcut leaks, all has a name", async (name) => {
  const shown = await show(name);
  if (name !== "long") for (const fold of shown.root.querySelectorAll("details")) await shown.unfold(fold);
  safe(shown.root);
  quiet(shown.root);
  labelled(shown.root);
});

test.each(["paused", "waiting", "hostile", "edited"])("%s: with every form, panel and overlay open as well", async (name) => {
  const shown = await show(name);
  const check = (): void => {
    safe(shown.root);
    quiet(shown.root);
    labelled(shown.root);
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
    await shown.press("edit", shown.entry(card.id));
    check();
  }
});

test("hostile answers to questions are drawn as text", async () => {
  const recorded = state("hostile");
  const original: Card = { ...((recorded.messages[0] as Extract<FromKernel, { t: "reset" }>).cards[1] as Card) };
  const answers: { [name: string]: Json } = {
    original: original as unknown as Json,
    text: { text: HOSTILE },
    source: { file: HOSTILE, first: 1, text: HOSTILE },
  };
  const shown = await show({ ...recorded, answers } as Recorded);
  for (const fold of shown.root.querySelectorAll<HTMLDetailsElement>("details")) await shown.unfold(fold);
  safe(shown.root);
  expect(shown.root.textContent).toContain(plain(HOSTILE));
});

test("what turns letters around or cannot be seen is written out, and a call is read as it will be made", async () => {
  const recorded = state("waiting");
  const reset = recorded.messages[0] as Extract<FromKernel, { t: "reset" }>;
  const [step] = reset.head.pending;
  const call = {
    id: "1",
    name: "delete",
    arguments: { path: "keep \u202eevil\u202c \u001b[8mhidden \u200b\u{e0041}", joined: "👩‍💻\tשלום" },
  };
  const head = { ...reset.head, task: "a \u202e b", pending: [{ ...step, call } as (typeof reset.head.pending)[0]] };
  const shown = await show({ ...recorded, messages: [{ ...reset, head }] });
  expect(shown.root.querySelector(".ak-pending .ak-arguments")?.textContent).toContain(
    "keep \\u{202e}evil\\u{202c} \\u{1b}[8mhidden \\u{200b}\\u{e0041}",
  );
  expect(shown.root.querySelector(".ak-pending .ak-arguments")?.textContent).toContain("👩‍💻\tשלום");
  expect(shown.root.innerHTML).not.toMatch(/[\u202a-\u202e]/);
});

test("labels write it out too, and a box whose text cannot be seen as it is has it written out below", async () => {
  const recorded = state("waiting");
  const reset = recorded.messages[0] as Extract<FromKernel, { t: "reset" }>;
  const [step] = reset.head.pending;
  const call = { id: "1", name: "pay", arguments: { "to\u202eyou": "3\u202e.2", plainly: "\u05e9\n" } };
  const pending = [{ ...step, schema: {}, call } as (typeof reset.head.pending)[0]];
  const cards = reset.cards.map((card) => ({ ...card, role: "wri\u202eter", tags: { "no\u202ete": "a\u202eb" } }));
  const shown = await show({ ...recorded, messages: [{ ...reset, cards, head: { ...reset.head, task: "a \u202e b", pending } }] });
  await shown.press("Edit…");
  const form = shown.root.querySelector("[aria-label=Approval]") as HTMLElement;
  expect([...form.querySelectorAll("textarea")].map((box) => box.value)).toEqual(["3\u202e.2", "\u05e9\n"]);
  expect([...form.querySelectorAll("textarea + p")].map((text) => text.textContent)).toEqual(["3\\u{202e}.2"]);
  for (const element of shown.root.querySelectorAll("*"))
    for (const { name, value } of element.attributes) expect(value, `${element.tagName} ${name}`).not.toMatch(/[\u202a-\u202e]/);
});

test("a picture of an unknown kind is not shown", async () => {
  const recorded = state("full");
  const reset = recorded.messages[0] as Extract<FromKernel, { t: "reset" }>;
  for (const mime of ["image/png,x", "text/html", 'image/png" onload="x', "https://example.org/a.png"]) {
    const cards = reset.cards.map((card) =>
      card.kind === "act" ? { ...card, items: [{ type: "image" as const, mime, data: "" }] } : card,
    );
    const shown = await show({ ...recorded, messages: [{ ...reset, cards }] });
    expect(shown.root.querySelector("img")).toBeNull();
    safe(shown.root);
  }
});

test("what is typed in a box is no shortcut, and leaves the view no more than any other key", async () => {
  const shown = await show("paused");
  await shown.key("i");
  const before = shown.told.length;
  let leaked = 0;
  document.body.addEventListener("keydown", () => leaked++);
  const box = shown.root.querySelector("textarea") as HTMLTextAreaElement;
  for (const key of ["r", " ", "Enter", "x", "b"]) await shown.key(key, box);
  await shown.key("j");
  expect([shown.told.length, leaked]).toEqual([before, 0]);
});
