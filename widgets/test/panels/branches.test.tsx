import { expect, test, vi } from "vitest";
import { BranchChips, BranchList } from "../../src/panels/branches";
import { Compare } from "../../src/panels/compare";
import type { ActEntry, Card, Comparison, Json, ThinkEntry } from "../../src/protocol";
import { button, click, draw, HOSTILE, harmless, one, record, settled, texts } from "./draw";
import { fake } from "./fake";

const { store: known } = fake(record);
const thought = known.cards.find((card) => card?.kind === "think") as ThinkEntry;
const action = known.cards.find((card) => card?.kind === "act") as ActEntry;
const spent = { input: 900, output: 60, cached: 0, reasoning: 0, cost: 0.002, calls: 0 };

test("chips lead to the branch before and to the next", async () => {
  const { store, told } = fake(record);
  const page = await draw(<BranchChips store={store} entry={{ ...thought, id: 8, siblings: [3, 8, 11] }} />);
  expect(one(page, "[role=group]").getAttribute("aria-label")).toBe("Branch 2 of 3");
  expect(page.textContent).toBe("‹2/3›");
  await click(button(page, "Next branch"));
  await click(button(page, "Branch before"));
  expect(told).toEqual([
    { cmd: "switch", entry: 11 },
    { cmd: "switch", entry: 3 },
  ]);
});

test("there are no chips without a choice, and none beyond the ends", async () => {
  const { store } = fake(record);
  expect((await draw(<BranchChips store={store} entry={{ ...thought, siblings: [thought.id] }} />)).innerHTML).toBe("");
  const page = await draw(<BranchChips store={store} entry={{ ...thought, id: 3, siblings: [3, 8] }} />);
  expect((button(page, "Branch before") as HTMLButtonElement).disabled).toBe(true);
});

test("the list knows every line, and switches and compares", async () => {
  const { store, told } = fake(record);
  const compared = vi.fn();
  const page = await draw(<BranchList store={store} onCompare={compared} />);
  expect(texts(page, "li b")).toEqual(["Here", "Branch 1", "Branch 2", "Branch 3"]);
  expect(one(page, "li").getAttribute("aria-current")).toBe("true");
  await click(button(page, "Compare with branch 2"));
  expect(compared).toHaveBeenCalledWith(2);
  await click(button(page, "Switch to branch 1"));
  expect(told).toEqual([{ cmd: "branches" }, { cmd: "switch", entry: 9 }]);
});

test("the list is asked for again when there is another branch", async () => {
  const { store, told, head } = fake(record);
  await draw(<BranchList store={store} onCompare={() => undefined} />);
  head({ branches: 9 });
  await settled();
  expect(told).toEqual([{ cmd: "branches" }, { cmd: "branches" }]);
});

function compared(changes: Partial<Comparison>) {
  const found = { branch: 1, first: 2, here: [], there: [], totals: { here: spent, there: spent }, ...changes };
  const onClose = vi.fn();
  const { store } = fake(record, { compare: found as unknown as Json });
  return { onClose, drawn: draw(<Compare store={store} branch={1} onClose={onClose} />) };
}

test("two lines stand side by side from the first difference on, their words compared", async () => {
  const { drawn, onClose } = compared({
    here: [{ ...action, text: "snow in Bern", original: 4 }, thought],
    there: [{ ...action, text: "rain in Bern", original: 0 }],
  });
  const page = await drawn;
  expect(texts(page, "h4")).toEqual(["2first difference", "3"]);
  expect(texts(page, "mark")).toEqual(["snow", "rain"]);
  expect(texts(page, ".ak-cell .ak-badge")).toEqual(["edited"]);
  expect(page.textContent).toContain("branch 1: ends before");
  expect(texts(page, ".ak-totals > div")[0]).toBe("here: 3 steps · 900 tokens in · 60 out · $0.0020");
  await click(button(page, "Close the comparison"));
  expect(onClose).toHaveBeenCalled();
});

test("what was done again and gave the same is no difference", async () => {
  const again = { ...action, id: 99 };
  const page = await compared({ here: [action], there: [again, thought] }).drawn;
  expect(texts(page, "h4")).toEqual(["2", "3first difference"]);
  const same = await compared({ here: [action], there: [again] }).drawn;
  expect(same.querySelector(".ak-first-difference")).toBeNull();
});

test("entries of different kinds are not compared by words", async () => {
  const page = await compared({ here: [action], there: [thought] }).drawn;
  expect(page.querySelectorAll("mark").length).toBe(0);
  expect(page.textContent).toContain(thought.text);
});

test("lines that do not differ say so", async () => {
  expect((await compared({}).drawn).textContent).toContain("Both lines are the same");
});

test("a branch that is not there says so", async () => {
  const { store } = fake(record, {
    compare: () => {
      throw new Error("there is no branch 1");
    },
  });
  const page = await draw(<Compare store={store} branch={1} onClose={() => undefined} />);
  expect(one(page, "[role=alert]").textContent).toBe("there is no branch 1");
});

test.each<[string, Partial<Card>]>([
  ["a task", { kind: "begin", messages: [{ role: "user", text: HOSTILE }] }],
  ["a question", { kind: "ask", question: HOSTILE, choices: [], text: HOSTILE }],
  ["a conclusion", { kind: "conclude", answer: HOSTILE, more: null }],
  ["an action", { kind: "act", call: { name: HOSTILE, arguments: { [HOSTILE]: HOSTILE }, id: "" }, text: HOSTILE }],
])("hostile text in %s is text", async (_, changes) => {
  const card = { ...action, ...changes } as Card;
  harmless(await compared({ here: [card], there: [card] }).drawn);
  const { store } = fake(record, { branches: [{ branch: 0, steps: 1, parts: 1, last: HOSTILE, entry: 1 }] });
  harmless(await draw(<BranchList store={store} onCompare={() => undefined} />));
});
