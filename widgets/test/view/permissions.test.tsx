import { act } from "@testing-library/preact";
import { expect, test } from "vitest";
import { state } from "../../dev/states";
import type { ActEntry, Card } from "../../src/protocol";
import { type LiveView, settled, show } from "../support/liveView";
import { texts } from "../support/render";

/** Show a state, with answers to some queries. */
function showing(name: string, answers: object): Promise<LiveView> {
  const recording = state(name);
  return show({ ...recording, answers: { ...recording.answers, ...answers } });
}

test.each([
  ["Once", false],
  ["This run", true],
  ["Always", "always"],
])("an approval holds %s", async (label, remember) => {
  const shown = await show("waiting");
  await shown.press(label);
  expect(shown.button(label).getAttribute("aria-pressed")).toBe("true");
  const group = shown.root.querySelector("[aria-label='How long this holds']")?.textContent ?? "";
  expect(group.includes("is added to your settings file")).toBe(remember === "always");
  expect(group.includes("is not asked about again in this run")).toBe(remember === true);
  await shown.press("Approve and stay paused");
  expect(shown.lastCommand).toMatchObject({ cmd: "approve", remember });
});

test("a page that changes no settings offers no decision about all later runs", async () => {
  const { messages, answers } = state("waiting");
  const refusing = messages.map((message) =>
    message.t === "reset" ? { ...message, head: { ...message.head, refused: ["settings" as const] } } : message,
  );
  const shown = await show({ messages: refusing, answers });
  const group = shown.root.querySelector("[aria-label='How long this holds']")?.textContent ?? "";
  expect(group).toContain("This run");
  expect(group).not.toContain("Always");
});

test("a rejection that holds always is sent as one, and the choice ends with its form", async () => {
  const shown = await show("waiting");
  await shown.press("Reject…");
  await shown.press("Always");
  await shown.press("Reject and stay paused");
  expect(shown.lastCommand).toMatchObject({ cmd: "reject", remember: "always" });
  await shown.press("Edit…");
  expect(shown.button("Once").getAttribute("aria-pressed")).toBe("true");
});

test("what a call would do is shown as its tool says, as text", async () => {
  const shown = await showing("waiting", { preview: { text: "--- a\n+++ a\n-old\n+<b>new</b>" } });
  const pending = shown.reset.head.pending.map((step) => ({ ...step, has_preview: true }));
  await shown.head({ pending });
  expect(texts(shown.root, ".ak-preview .ak-added")).toEqual(["+<b>new</b>"]);
  expect(texts(shown.root, ".ak-preview .ak-removed")).toEqual(["-old"]);
  expect((shown.root.querySelector(".ak-preview pre") as HTMLElement).tabIndex).toBe(0);
});

test.each([
  ["tool", "failed", false],
  ["host", "failed", false],
  ["gate", "not run", false],
  ["hook", "not run", false],
  ["human", "not run", true],
])("a call that %s ended without a result %s", async (author, label, isByHand) => {
  const recording = state("paused");
  const items = [{ type: "source", mime: "text/x-python-traceback", text: "Traceback" }];
  const refused = { author, ok: false, text: "It is forbidden.", items };
  const change = (card: Card): Card => (card.kind === "act" ? ({ ...card, ...refused } as ActEntry) : card);
  const messages = recording.messages.map((message) =>
    message.t === "reset" ? { ...message, cards: message.cards.map(change) } : message,
  );
  const shown = await show({ ...recording, messages });
  expect(texts(shown.root, ".ak-error-label")).toEqual([label]);
  const observation = shown.root.querySelector(".ak-observation.ak-error") as HTMLElement;
  const folded = [...observation.querySelectorAll("details")].map((part) => part.textContent).join();
  expect(observation.textContent).toContain("It is forbidden.");
  expect(folded).not.toContain("It is forbidden.");
  expect(shown.root.textContent?.includes("decided by hand")).toBe(isByHand);
});

test("a bypass is shown in red", async () => {
  const shown = await show("paused");
  expect(shown.root.querySelector(".ak-bypassed")).toBeNull();
  await shown.head({ bypassed: true });
  expect(shown.root.querySelector(".ak-notice.ak-error")?.textContent).toContain("Permissions are bypassed");
});

test("the audit trail has a tab if there is an audit log, and says what is wrong with it", async () => {
  const lines = [{ number: 7, at: "2026-01-02T03:04:05.006Z", kind: "call", text: "pay(5)", why: "approved by Ada" }];
  const shown = await showing("paused", { audit: { lines, total: 9, problems: ["line 3 was removed"] } });
  expect(texts(shown.root, "[role=tab]").join()).not.toContain("Audit");
  await shown.head({ audit: "/home/ada/audit.jsonl" });
  await shown.press("Audit");
  await act(settled);
  const panel = shown.root.querySelector("[role=tabpanel]")?.textContent;
  for (const part of ["pay(5)", "approved by Ada", "03:04:05, line 7", "1 problem in /home/ada", "line 3 was removed"])
    expect(panel).toContain(part);
});
