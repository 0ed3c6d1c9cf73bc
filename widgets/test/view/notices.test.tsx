import { expect, test } from "vitest";
import { state } from "../../dev/states";
import type { Command, FromKernel, Head, Refusable } from "../../src/protocol";
import { type LiveView, show } from "../support/liveView";
import { button, click, settled, texts } from "../support/render";

test("if the kernel refuses cards, a notice says what to do, and the kernel is asked only once and on request", async () => {
  const shown = await show("paused");
  const { cards, seq } = shown.reset;
  const before = shown.model.answer;
  shown.model.answer = (command) =>
    (command as Command).cmd === "page"
      ? { t: "nak", v: 1, cid: command.cid, error: "the journal is gone", type: "UsageError" }
      : before(command);
  const asked = (): number => shown.commands.filter(({ cmd }) => cmd === "page").length;
  const total = 100 + cards.length;
  await shown.receive({
    ...shown.reset,
    seq: seq + 1,
    first: 100,
    total,
    cards: cards.map((card) => ({ ...card, n: card.n + 100 })),
    map: "t".repeat(total),
  });
  await settled();
  expect(texts(shown.root, "[role=alert]")[0]).toMatch(/^Some entries could not be loaded: the journal is gone\. Try/);
  expect(asked()).toBe(1);
  await click(button(shown.root, "Try again"));
  await settled();
  expect(asked()).toBe(2);
});

async function heldElsewhere(held: Partial<NonNullable<Head["held"]>>, refused: Refusable[] = []): Promise<LiveView> {
  const { messages, answers } = state("paused");
  const head = {
    status: "readonly",
    can: { undo: false, redo: false },
    refused,
    held: { by: "process 12 on <b>", status: "running", asked: "", ...held },
    injections: [{ id: "1", text: "In dollars.", to: "", to_text: "", seen: false }],
  };
  const change = (message: FromKernel): FromKernel =>
    message.t === "reset" ? ({ ...message, head: { ...message.head, ...head } } as FromKernel) : message;
  return show({ messages: messages.map(change), answers });
}

function isOffered(shown: LiveView, name: string): boolean {
  return shown.button(name).getAttribute("aria-disabled") !== "true";
}

test("a run that another process drives says who holds it, and only what that process can be asked is offered", async () => {
  const shown = await heldElsewhere({});
  expect(shown.root.querySelector(".ak-status")?.textContent).toBe("running, elsewhere");
  expect(shown.root.querySelector(".ak-notice")?.textContent).toMatch(
    /another process \(process 12 on <b>\).* Pause, Stop and Inject ask that process/,
  );
  const offered = ["Step", "Run", "Pause", "Stop", "Undo", "Inject"].filter((name) => isOffered(shown, name));
  expect(offered).toEqual(["Pause", "Stop", "Inject"]);
  expect(shown.root.querySelector(".ak-injections")?.textContent).toBe("not seen yetIn dollars.");
  await shown.press("Pause");
  expect(shown.commands.map(({ cmd }) => cmd)).toContain("pause");
});

test("a run that rests in another process says what that was asked, and cannot be paused again", async () => {
  const shown = await heldElsewhere({ status: "paused", asked: "send a message to the model" });
  expect(shown.root.querySelector(".ak-status")?.textContent).toBe("paused, elsewhere");
  expect(shown.root.querySelector(".ak-notice")?.textContent).toMatch(
    /Only that process can continue it\. It was asked to send a message to the model, and has not done so yet\.$/,
  );
  const offered = ["Step", "Run", "Pause", "Stop", "Inject"].filter((name) => isOffered(shown, name));
  expect(offered).toEqual(["Inject"]);
});

test("who may only watch is told who holds a run, and not what could be asked", async () => {
  const shown = await heldElsewhere({}, ["change"]);
  expect(shown.root.querySelector(".ak-notice")?.textContent).toMatch(/shown here as it goes on\.\s*$/);
  expect(() => shown.button("Pause")).toThrow();
});
