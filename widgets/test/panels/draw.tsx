/** What the tests of the panels share: recorded runs, and ways to look at and act on what was drawn. */

import { act, cleanup, render } from "@testing-library/preact";
import type { ComponentChild } from "preact";
import { afterEach, expect } from "vitest";
import edited from "../../dev/recorded/edited.json";
import { settled as answered } from "../shown";
import type { Recorded } from "./fake";

export const record = edited as unknown as Recorded;

afterEach(cleanup);

/** Draw, wait until what was asked for is there, and see that no key press can leak out of what can have the focus. */
export async function draw(node: ComponentChild): Promise<HTMLElement> {
  const { container } = render(node as never);
  await settled();
  unleaked(container);
  return container as HTMLElement;
}

export async function settled(): Promise<void> {
  // an answer may be drawn, and what is drawn may ask again
  for (let turn = 0; turn < 2; turn++) await act(answered);
}

export function unleaked(container: Element): void {
  for (const each of container.querySelectorAll(
    "button, input, select, textarea, a[href], summary, [tabindex], .ak-messages .ak-text, div.ak-cell:not(.ak-muted), .ak-lines, .ak-tree",
  )) {
    expect(each.getAttribute("data-lm-suppress-shortcuts"), each.outerHTML).toBe("true");
  }
}

export function one(container: Element, selector: string): HTMLElement {
  const found = container.querySelector<HTMLElement>(selector);
  if (!found) throw new Error(`nothing is ${selector} in ${container.innerHTML}`);
  return found;
}

export function texts(container: Element, selector: string): string[] {
  return [...container.querySelectorAll(selector)].map((each) => (each.textContent ?? "").trim());
}

export function button(container: Element, name: string | RegExp): HTMLElement {
  for (const each of container.querySelectorAll<HTMLElement>("button")) {
    const label = each.getAttribute("aria-label") ?? each.textContent?.trim() ?? "";
    if (typeof name === "string" ? label === name : name.test(label)) return each;
  }
  throw new Error(`no button is named ${name} in ${container.innerHTML}`);
}

export async function press(element: Element, key: string): Promise<void> {
  element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  await settled();
}

export async function click(element: HTMLElement): Promise<void> {
  element.click();
  await settled();
}

export async function type(element: Element, value: string): Promise<void> {
  (element as HTMLInputElement).value = value;
  element.dispatchEvent(new Event("input", { bubbles: true }));
  element.dispatchEvent(new Event("change", { bubbles: true }));
  await settled();
}

/** Runs, loads and opens things when it is taken for markup. */
export const HOSTILE = '<img src=x onerror="globalThis.hit=1"><script>globalThis.hit=1</script>[a](javascript:hit)</td></table>';

export function harmless(container: Element): void {
  expect(container.querySelectorAll("img, script, iframe, a, object").length).toBe(0);
  expect(container.textContent).toContain(HOSTILE);
}
