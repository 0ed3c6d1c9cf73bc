import { expect, test } from "vitest";
import { state } from "../dev/states";
import type { ActEntry, Card, FromKernel, ThinkEntry } from "../src/protocol";
import { editedFrom, iterations, Trace } from "../src/trace";

const { cards } = state("done").messages[0] as Extract<FromKernel, { t: "reset" }>;
const thought = cards.find((card) => card.kind === "think") as ThinkEntry;
const act = cards.find((card) => card.kind === "act") as ActEntry;

test("actions stand with the thought that asked for them, also where lanes come in between", () => {
  const line: Card[] = [
    { ...thought, id: 1, calls: [{ ...act.call, id: "a" }] },
    { ...thought, id: 2, calls: [{ ...act.call, id: "b" }] },
    { ...act, id: 3, call: { ...act.call, id: "b" } },
    { ...act, id: 4, call: { ...act.call, id: "a" } },
  ];
  expect(iterations(line).map(({ head, acts }) => [head.id, ...acts.map((each) => each.id)])).toEqual([
    [1, 4],
    [2, 3],
  ]);
});

test("an action that no thought asked for stands alone, and holes are passed over", () => {
  const alone = { ...act, id: 9, call: { ...act.call, id: "nobody" } };
  expect(iterations([undefined, thought, undefined, alone]).map(({ head }) => head.id)).toEqual([thought.id, 9]);
});

test("what follows an edit is known from the map where the cards are not here, and from the author", () => {
  const trace = new Trace();
  trace.reset(3, 4, cards.slice(3, 4), "btTa");
  expect(editedFrom(trace)).toBe(2);
  trace.reset(0, 2, [cards[0] as Card, { ...thought, author: "human" }], "bt");
  expect(editedFrom(trace)).toBe(1);
  trace.reset(0, 2, cards.slice(0, 2), "bt");
  expect(editedFrom(trace)).toBe(-1); // the task is written by a human, and is no edit
});

test("a page does not overwrite what has come since it was asked for", () => {
  const trace = new Trace();
  trace.reset(1, 2, [{ ...thought, id: 5 }], "bt");
  trace.page(0, [
    { ...thought, id: 1 },
    { ...thought, id: 2 },
    { ...thought, id: 3 },
  ]);
  expect(trace.cards.map((card) => card?.id)).toEqual([1, 5]);
});
