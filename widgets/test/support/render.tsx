/** Helpers for tests of single components: draw them, look at them, and act on them. */

import { act, cleanup, render } from "@testing-library/preact";
import type { ComponentChild } from "preact";
import { afterEach, expect } from "vitest";
import edited from "../../dev/recorded/edited.json";
import type { Recording } from "./fakeKernel";
import { settled as answered } from "./liveView";

export const recording = edited as unknown as Recording;

afterEach(cleanup);

/** Draw a component, wait for its queries, and check that it leaks no key press. */
export async function draw(node: ComponentChild): Promise<HTMLElement> {
  const { container } = render(node as never);
  await settled();
  expectNoLeaks(container);
  return container as HTMLElement;
}

export async function settled(): Promise<void> {
  // an answer may be drawn, and what is drawn may send another query
  for (let turn = 0; turn < 2; turn++) await act(answered);
}

const FOCUSABLE =
  "button, input, select, textarea, a[href], summary, [tabindex], .ak-messages .ak-scroll, div.ak-cell:not(.ak-muted), .ak-lines, .ak-tree";

/** Expect that everything that can have the focus keeps JupyterLab's shortcuts away. */
export function expectNoLeaks(container: Element): void {
  for (const element of container.querySelectorAll(FOCUSABLE))
    expect(element.getAttribute("data-lm-suppress-shortcuts"), element.outerHTML).toBe("true");
}

export function one(container: Element, selector: string): HTMLElement {
  const found = container.querySelector<HTMLElement>(selector);
  if (!found) throw new Error(`nothing matches ${selector} in ${container.innerHTML}`);
  return found;
}

export function texts(container: Element, selector: string): string[] {
  return [...container.querySelectorAll(selector)].map((element) => (element.textContent ?? "").trim());
}

export function button(container: Element, name: string | RegExp): HTMLElement {
  for (const element of container.querySelectorAll<HTMLElement>("button")) {
    const label = element.getAttribute("aria-label") ?? element.textContent?.trim() ?? "";
    if (typeof name === "string" ? label === name : name.test(label)) return element;
  }
  throw new Error(`there is no button ${name} in ${container.innerHTML}`);
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

/** Text that would run, load and open things if it were taken for markup. */
export const HOSTILE =
  '<img src=x onerror="globalThis.hit=1"><script>globalThis.hit=1</script>[a](javascript:hit)</td></table>';

export function expectHarmless(container: Element): void {
  expect(container.querySelectorAll("img, script, iframe, a, object").length).toBe(0);
  expect(container.textContent).toContain(HOSTILE);
}
