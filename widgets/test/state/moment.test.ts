import { expect, test } from "vitest";
import type { Command, Json } from "../../src/protocol";
import { Moments } from "../../src/state/moment";
import { fakeKernel } from "../support/fakeKernel";
import { recording } from "../support/render";

function moments() {
  const at = (command: Command): Json => ({ entry: (command as { entry: number }).entry, where: [], problem: "" });
  const kernel = fakeKernel(recording, { at });
  const asked = () => kernel.commands.flatMap((command) => (command.cmd === "at" ? [command.entry] : []));
  const ids = kernel.store.cards.map((card) => card?.id as number);
  return { ...kernel, moments: new Moments(kernel.store), asked, ids };
}

test("of one step after the other, the next moments are there before somebody gets to them", async () => {
  const { moments: at, asked, ids } = moments();
  const last = ids.length - 1;
  await at.at(ids[last] as number);
  expect(asked()).toEqual([ids[last]]);
  expect((await at.at(ids[last - 1] as number)).entry).toBe(ids[last - 1]);
  expect(asked()).toEqual([1, 2, 3, 4, 5, 6].slice(0, last + 1).map((_, n) => ids[last - n]));
  const before = asked().length;
  expect((await at.at(ids[last - 2] as number)).entry).toBe(ids[last - 2]);
  expect(asked().filter((entry) => entry === ids[last - 2]).length).toBe(1);
  expect(asked().length).toBeLessThanOrEqual(before + 1);
});

test("somebody who jumps gets the moments that they look at, and no others", async () => {
  const { moments: at, asked, ids } = moments();
  for (const n of [5, 1, 4]) await at.at(ids[n] as number);
  expect(asked()).toEqual([5, 1, 4].map((n) => ids[n]));
});

test("once the trace has changed, a moment is asked for again", async () => {
  const { moments: at, asked, ids, store } = moments();
  await at.at(ids[3] as number);
  await at.at(ids[3] as number);
  expect(asked().length).toBe(1);
  store.version++;
  await at.at(ids[3] as number);
  expect(asked().length).toBe(2);
});

test("a moment that the kernel refused says why, and is asked for again", async () => {
  const kernel = fakeKernel(recording, {
    at: () => {
      throw new Error("the engine is busy");
    },
  });
  const at = new Moments(kernel.store);
  expect((await at.at(2)).problem).toBe("the engine is busy");
  await at.at(2);
  expect(kernel.commands.length).toBe(2);
});
