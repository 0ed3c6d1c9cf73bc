import { act, fireEvent } from "@testing-library/preact";
import { expect, test } from "vitest";
import { HOSTILE, state } from "../../dev/states";
import type { Json } from "../../src/protocol";
import { type LiveView, settled, show } from "../support/liveView";
import { expectNoLeaks } from "../support/render";

function disclosure(shown: LiveView): HTMLDetailsElement {
  const all = [...shown.root.querySelectorAll<HTMLDetailsElement>("article details")];
  return all.find((details) => details.textContent?.startsWith("Token probabilities")) as HTMLDetailsElement;
}

function detail(shown: LiveView): string {
  return shown.root.querySelector(".ak-token-detail")?.textContent ?? "";
}

test("token probabilities are loaded only when they are opened", async () => {
  const shown = await show("tokens");
  expect(shown.commands.some(({ cmd }) => cmd === "tokens")).toBe(false);
  await shown.unfold(disclosure(shown));
  expect(shown.commands.filter(({ cmd }) => cmd === "tokens")).toHaveLength(1);
  expect(shown.root.querySelectorAll(".ak-token")).toHaveLength(17);
  expectNoLeaks(shown.root);
});

test("the less likely a token was, the stronger is its colour", async () => {
  const shown = await show("tokens");
  await shown.unfold(disclosure(shown));
  const levels = [...shown.root.querySelectorAll(".ak-token")].map((token) => token.className.slice(-1));
  expect([levels[0], levels[1], levels[10], levels[15], levels[13]]).toEqual(["0", "1", "2", "3", "4"]);
});

test("the pointer and the arrow keys show what else could have stood there", async () => {
  const shown = await show("tokens");
  await shown.unfold(disclosure(shown));
  const tokens = [...shown.root.querySelectorAll<HTMLElement>(".ak-token")];
  await act(() => void fireEvent.pointerEnter(tokens[13] as HTMLElement));
  expect(detail(shown)).toBe("“Delete”: less than 0.1 %. Instead: “item” 91 %, “thing” 4.2 %, “product” 1.2 %.");
  await act(() => void fireEvent.pointerLeave(tokens[13] as HTMLElement));
  await act(() => tokens[0]?.focus());
  expect(detail(shown)).toBe("“⏎Thought:␣”: 99.9 %.");
  const selected = shown.root.querySelector(".ak-current")?.getAttribute("data-entry");
  await shown.key("ArrowRight", tokens[0]);
  expect(document.activeElement).toBe(tokens[1]);
  expect(tokens[1]?.getAttribute("aria-label")).toBe("“I”: 81 %. Instead: “The” 16 %, “No” 2.1 %.");
  expect(shown.root.querySelector(".ak-current")?.getAttribute("data-entry")).toBe(selected);
  expect(tokens.filter((token) => token.tabIndex === 0)).toEqual([tokens[1]]);
});

test("a hostile token stays text", async () => {
  const recording = state("tokens");
  const tokens = [[HOSTILE, 0.5, { [HOSTILE]: 0.4 }]];
  const shown = await show({ ...recording, answers: { ...recording.answers, tokens: { tokens, total: 2 } as Json } });
  await shown.unfold(disclosure(shown));
  await act(settled);
  await act(() => shown.root.querySelector<HTMLElement>(".ak-token")?.focus());
  expect(shown.root.querySelector(".hostile, article img, article script")).toBeNull();
  expect(detail(shown)).toContain("onerror");
  expect(shown.root.textContent).toContain("The first 1 token.");
});
