import { expect, test } from "vitest";
import { state } from "../../dev/states";
import type { ActEntry, Card, FromKernel, ThinkEntry } from "../../src/protocol";
import { firstEdit, groupIterations, Trace } from "../../src/state/trace";

const { cards } = state("done").messages[0] as Extract<FromKernel, { t: "reset" }>;
const thought = cards.find((card) => card.kind === "think") as ThinkEntry;
const act = cards.find((card) => card.kind === "act") as ActEntry;

test("tool calls are grouped with the thought that asked for them, even if lanes come in between", () => {
  const line: Card[] = [
    { ...thought, id: 1, calls: [{ ...act.call, id: "a" }] },
    { ...thought, id: 2, calls: [{ ...act.call, id: "b" }] },
    { ...act, id: 3, call: { ...act.call, id: "b" } },
    { ...act, id: 4, call: { ...act.call, id: "a" } },
  ];
  expect(groupIterations(line).map(({ head, acts }) => [head.id, ...acts.map((each) => each.id)])).toEqual([
    [1, 4],
    [2, 3],
  ]);
});

test("a tool call that no thought asked for is a card by itself, and gaps are skipped", () => {
  const alone = { ...act, id: 9, call: { ...act.call, id: "nobody" } };
  expect(groupIterations([undefined, thought, undefined, alone]).map(({ head }) => head.id)).toEqual([thought.id, 9]);
});

test("the first edit is found in the map where no cards are loaded, and by the author of a card", () => {
  const trace = new Trace();
  trace.reset(3, 4, cards.slice(3, 4), "btTa");
  expect(firstEdit(trace)).toBe(2);
  trace.reset(0, 2, [cards[0] as Card, { ...thought, author: "human" }], "bt");
  expect(firstEdit(trace)).toBe(1);
  trace.reset(0, 2, [cards[0] as Card, { ...act, author: "human", repeats: true }], "ba");
  expect(firstEdit(trace)).toBe(-1); // the result of an earlier call is not an edit
  trace.reset(0, 2, cards.slice(0, 2), "bt");
  expect(firstEdit(trace)).toBe(-1); // the task is written by a human, but is not an edit
});

test("a page of older cards replaces nothing that has arrived since it was requested", () => {
  const trace = new Trace();
  trace.reset(1, 2, [{ ...thought, id: 5 }], "bt");
  trace.fillGaps(0, [
    { ...thought, id: 1 },
    { ...thought, id: 2 },
    { ...thought, id: 3 },
  ]);
  expect(trace.cards.map((card) => card?.id)).toEqual([1, 5]);
});
