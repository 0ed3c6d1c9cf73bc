import { expect, test } from "vitest";
import type { Card, Command, Json } from "../../src/protocol";
import { PastMoments } from "../../src/state/pastMoments";
import { fakeKernel } from "../support/fakeKernel";
import { recording } from "../support/render";

/** A trace of ten entries, whose id is ten times their position, and the moments that the kernel was asked for. */
function shown() {
  const at = (command: Command): Json => ({ entry: (command as { entry: number }).entry, where: [], problem: "" });
  const kernel = fakeKernel(recording, { at });
  const cards = Array.from({ length: 10 }, (_, n) => ({ ...(kernel.store.cards[1] as Card), id: 10 * n, n }));
  kernel.store.trace.reset(0, cards.length, cards, "t".repeat(cards.length));
  const asked = () => kernel.commands.flatMap((command) => (command.cmd === "at" ? [command.entry] : []));
  return { ...kernel, moments: new PastMoments(kernel.store), asked };
}

test("of one step after the other, the next moments are there before somebody gets to them", async () => {
  const { moments, asked } = shown();
  await moments.at(90);
  expect(asked()).toEqual([90]);
  await moments.at(80);
  expect(asked()).toEqual([90, 80, 70, 60, 50, 40]);
  expect((await moments.at(70)).entry).toBe(70);
  expect(asked()).toEqual([90, 80, 70, 60, 50, 40, 30]);
});

test("somebody who jumps gets the moments that they look at, and no others", async () => {
  const { moments, asked } = shown();
  for (const entry of [50, 10, 40]) await moments.at(entry);
  expect(asked()).toEqual([50, 10, 40]);
});

test("once the trace has changed, a moment is asked for again", async () => {
  const { moments, asked, store } = shown();
  await moments.at(30);
  await moments.at(30);
  expect(asked()).toEqual([30]);
  store.version++;
  await moments.at(30);
  expect(asked()).toEqual([30, 30]);
});

test("a moment that the kernel refused says why, and is asked for again", async () => {
  const kernel = fakeKernel(recording, {
    at: () => {
      throw new Error("the engine is busy");
    },
  });
  const at = new PastMoments(kernel.store);
  expect((await at.at(2)).problem).toBe("the engine is busy");
  await at.at(2);
  expect(kernel.commands.length).toBe(2);
});
