import { act, fireEvent } from "@testing-library/preact";
import { expect, test } from "vitest";
import { state } from "../../dev/states";
import type { Refusable } from "../../src/protocol";
import { SHORTCUTS } from "../../src/state/shortcuts";
import { type LiveView, settled, show } from "../support/liveView";

/** What a page that may only watch may ask for, as in agentkit/serve/page.py, and what its server refuses in silence. */
const WATCHED = "page text original request tokens profile branches compare forecast samples at".split(" ");
const STATES = ["paused", "waiting", "failed", "edited", "done", "running", "tree", "question"];

async function refusing(name: string, ...refused: Refusable[]): Promise<LiveView> {
  const { messages, answers } = state(name);
  const change = (message: (typeof messages)[number]): (typeof messages)[number] =>
    message.t === "reset"
      ? { ...message, head: { ...message.head, ...(refused.includes("inside") && { where: [] }), refused } }
      : message;
  return show({ messages: messages.map(change), answers });
}

test.each(STATES)("who may only watch a run that is %s changes nothing, whatever is pressed", async (name) => {
  const shown = await refusing(name, "change", "inside", "notebook", "python");
  const view = shown.root.querySelector(".ak-root") as HTMLElement;
  const pressAll = async (): Promise<void> => {
    for (const button of [...view.querySelectorAll<HTMLElement>("button, [role=menuitem], select, input")])
      await act(async () => {
        fireEvent.click(button);
        await settled();
      });
  };
  await pressAll();
  for (const entry of view.querySelectorAll("[data-entry]"))
    for (const { keys } of SHORTCUTS) for (const key of keys) await shown.key(key, entry);
  await pressAll();
  expect(shown.commands.filter(({ cmd }) => !WATCHED.includes(cmd))).toEqual([]);
});

test("who may only watch is shown what is decided about, and no way to decide", async () => {
  const shown = await refusing("waiting", "change", "inside", "notebook", "python");
  const steps = shown.root.querySelector("[aria-label='Next steps']") as HTMLElement;
  expect([...steps.querySelectorAll("button, textarea, input")].map(({ textContent }) => textContent)).toEqual([
    "JSON",
  ]);
  expect(steps.textContent).toContain("book_train");
  for (const name of ["Step", "Run", "Inject", "Freeze", "Undo"]) expect(() => shown.button(name)).toThrow();
});

test("outside of a notebook, all is offered but what needs one", async () => {
  const shown = await refusing("paused", "notebook", "python");
  for (const name of ["Step", "Run", "Inject", "Undo"]) expect(shown.button(name)).toBeTruthy();
  expect(() => shown.button("Freeze")).toThrow();
  await shown.press("Breakpoints");
  const kinds = [...shown.root.querySelectorAll("option")].map(({ value }) => value);
  expect(kinds).toContain("error");
  expect(kinds).not.toContain("when");
});
