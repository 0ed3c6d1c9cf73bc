import { expect, test } from "vitest";
import type { Command } from "../../src/protocol";
import { show } from "../support/liveView";
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
