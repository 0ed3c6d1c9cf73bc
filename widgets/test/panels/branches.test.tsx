import { expect, test, vi } from "vitest";
import { BranchSwitcher } from "../../src/cards/branchSwitcher";
import { BranchList } from "../../src/panels/branches";
import { Compare } from "../../src/panels/compare";
import type { ActEntry, Card, Comparison, Json, ThinkEntry } from "../../src/protocol";
import { fakeKernel } from "../support/fakeKernel";
import { button, click, draw, expectHarmless, HOSTILE, one, recording, settled, texts } from "../support/render";

const { store: known } = fakeKernel(recording);
const thought = known.cards.find((card) => card?.kind === "think") as ThinkEntry;
const action = known.cards.find((card) => card?.kind === "act") as ActEntry;
const spent = { input: 900, output: 60, cached: 0, reasoning: 0, cost: 0.002, calls: 0 };

test("the switcher leads to the previous branch and to the next", async () => {
  const { store, commands } = fakeKernel(recording);
  const page = await draw(<BranchSwitcher store={store} card={{ ...thought, id: 8, siblings: [3, 8, 11] }} />);
  expect(one(page, "[role=group]").getAttribute("aria-label")).toBe("Branch 2 of 3");
  expect(page.textContent).toBe("‹2/3›");
  await click(button(page, "Next branch"));
  await click(button(page, "Previous branch"));
  expect(commands).toEqual([
    { cmd: "switch", entry: 11 },
    { cmd: "switch", entry: 3 },
  ]);
});

test("there is no switcher without a choice, and no branch beyond the ends", async () => {
  const { store } = fakeKernel(recording);
  expect((await draw(<BranchSwitcher store={store} card={{ ...thought, siblings: [thought.id] }} />)).innerHTML).toBe(
    "",
  );
  const page = await draw(<BranchSwitcher store={store} card={{ ...thought, id: 3, siblings: [3, 8] }} />);
  expect((button(page, "Previous branch") as HTMLButtonElement).disabled).toBe(true);
});

test("the list shows every branch, and switches and compares", async () => {
  const { store, commands } = fakeKernel(recording);
  const onCompare = vi.fn();
  const page = await draw(<BranchList store={store} onCompare={onCompare} />);
  expect(texts(page, "li b")).toEqual(["Current branch", "Branch 1"]);
  expect(one(page, "li").getAttribute("aria-current")).toBe("true");
  await click(button(page, "Compare with branch 1"));
  expect(onCompare).toHaveBeenCalledWith(1);
  await click(button(page, "Switch to branch 1"));
  expect(commands).toEqual([{ cmd: "branches" }, { cmd: "switch", entry: 14 }]);
});

test("the list is loaded again when there is another branch", async () => {
  const { store, commands, head } = fakeKernel(recording);
  await draw(<BranchList store={store} onCompare={() => undefined} />);
  head({ branches: 9 });
  await settled();
  expect(commands).toEqual([{ cmd: "branches" }, { cmd: "branches" }]);
});

function compare(changes: Partial<Comparison>) {
  const comparison = { branch: 1, first: 2, here: [], there: [], totals: { here: spent, there: spent }, ...changes };
  const onClose = vi.fn();
  const { store } = fakeKernel(recording, { compare: comparison as unknown as Json });
  return { onClose, drawn: draw(<Compare store={store} branch={1} onClose={onClose} />) };
}

test("two branches are shown side by side from their divergence on, compared by words", async () => {
  const { drawn, onClose } = compare({
    here: [{ ...action, text: "snow in Bern", original: 4 }, thought],
    there: [{ ...action, text: "rain in Bern", original: 0 }],
  });
  const page = await drawn;
  expect(texts(page, "h4")).toEqual(["2first difference", "3"]);
  expect(texts(page, "mark")).toEqual(["snow", "rain"]);
  expect(texts(page, ".ak-cell .ak-badge")).toEqual(["edited"]);
  expect(page.textContent).toContain("branch 1: no entry");
  expect(texts(page, ".ak-totals > div")[0]).toBe("current: 3 steps · 900 tokens in · 60 out · $0.0020");
  await click(button(page, "Close comparison"));
  expect(onClose).toHaveBeenCalled();
});

test("a step that was repeated with the same result is not a difference", async () => {
  const again = { ...action, id: 99 };
  const page = await compare({ here: [action], there: [again, thought] }).drawn;
  expect(texts(page, "h4")).toEqual(["2", "3first difference"]);
  const same = await compare({ here: [action], there: [again] }).drawn;
  expect(same.querySelector(".ak-first-difference")).toBeNull();
});

test("entries of different kinds are not compared by words", async () => {
  const page = await compare({ here: [action], there: [thought] }).drawn;
  expect(page.querySelectorAll("mark").length).toBe(0);
  expect(page.textContent).toContain(thought.text);
});

test("identical branches are reported as such", async () => {
  expect((await compare({}).drawn).textContent).toContain("Both branches are identical");
});

test("an unknown branch is an error", async () => {
  const { store } = fakeKernel(recording, {
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
])("hostile text in %s is drawn as text", async (_, changes) => {
  const card = { ...action, ...changes } as Card;
  expectHarmless(await compare({ here: [card], there: [card] }).drawn);
  const { store } = fakeKernel(recording, { branches: [{ branch: 0, steps: 1, parts: 1, last: HOSTILE, entry: 1 }] });
  expectHarmless(await draw(<BranchList store={store} onCompare={() => undefined} />));
});
