import { expect, test, vi } from "vitest";
import samples from "../../dev/samples";
import { ProgressPanel } from "../../src/panels/progress";
import { layout, type Thought } from "../../src/panels/treeLayout";
import type { Pictures } from "../../src/protocol";
import { fakeKernel } from "../support/fakeKernel";
import { button, click, draw, expectHarmless, HOSTILE, one, press, recording, texts } from "../support/render";

const EMPTY: Pictures = { plan: [], episodes: [], tree: [] };

async function panel(pictures: Partial<Pictures>) {
  const { store, pictures: send } = fakeKernel(recording);
  send({ ...EMPTY, ...pictures });
  const goTo = vi.fn();
  return { goTo, page: await draw(<ProgressPanel store={store} goTo={goTo} />) };
}

function thought(node: string, parent = "", changes: Partial<Thought> = {}): Thought {
  return { node, parent, text: `thought ${node}`, score: null, pruned: false, chosen: false, entry: 1, ...changes };
}

test("without tags nothing is drawn", async () => {
  expect((await panel({})).page.innerHTML).toBe("");
});

test("a plan counts the steps that are done, and labels each with its state", async () => {
  const { page, goTo } = await panel({ plan: samples.pictures.plan });
  expect(one(page, "h3").textContent).toBe("Plan 1 of 5 done");
  expect(texts(page, ".ak-badge")).toEqual(["done", "skipped", "failed", "in progress", "to do"]);
  expect(texts(page, "[aria-current=step] .ak-link")[0]).toContain("Book the train");
  await click(button(page, "Reserve a table at the summit"));
  expect(goTo).toHaveBeenCalledWith(7);
});

test("a step without an entry is not a link", async () => {
  const { page } = await panel({ plan: samples.pictures.plan });
  expect(page.querySelectorAll(".ak-plan button").length).toBe(4);
});

test("a plan whose steps need each other is drawn as a graph with a line for each need", async () => {
  const step = (text: string, place: [number, number], needs: number[]) =>
    ({ text, state: "todo", entry: 0, place, needs }) as const;
  const plan = [step("look", [0, 0], []), step("ask", [0, 1], []), step("a very long name of a step", [1, 0], [1, 2])];
  const { page } = await panel({ plan });
  expect(texts(page, ".ak-plan-graph svg text")).toEqual(["○ look", "○ ask", "○ a very long name of…"]);
  expect([...page.querySelectorAll(".ak-plan-graph path")].map((path) => path.getAttribute("d"))).toEqual([
    "M164 20H179V20H194",
    "M164 64H179V20H194",
  ]);
  expect(texts(page, ".ak-plan li")[2]).toContain("step 3, after 1, 2");
});

test("a plan in which no step needs another is only a list", async () => {
  const { page } = await panel({ plan: samples.pictures.plan });
  expect(page.querySelector(".ak-plan-graph")).toBeNull();
});

test("episodes are listed in order, with score and lesson", async () => {
  const { page, goTo } = await panel({ episodes: samples.pictures.episodes });
  expect(texts(page, ".ak-episodes li")[0]).toMatch(/^Episode 1not solved14 entries.*score 0.2Lesson: I went/);
  expect(texts(page, ".ak-episodes .ak-badge")).toEqual(["not solved", "not solved", "solved"]);
  await click(button(page, "Episode 3"));
  expect(goTo).toHaveBeenCalledWith(29);
});

test("a tree shows scores, and which thoughts were pruned and chosen", async () => {
  const { page, goTo } = await panel({ tree: samples.pictures.tree });
  const labels = [...page.querySelectorAll("[role=treeitem]")].map((item) => item.textContent);
  expect(labels[0]).toBe("4 9 10 13, ✓ chosen");
  expect(labels).toContain("6 + 9 = 15 (left: 13 15), score 1, pruned");
  expect(page.querySelectorAll("path").length).toBe(7);
  expect(page.querySelectorAll("path.ak-chosen").length).toBe(3);
  await click(button(page, /^4 × 6 = 24/));
  expect(goTo).toHaveBeenCalledWith(8);
});

test("the arrow keys move within a tree", async () => {
  const { page } = await panel({ tree: samples.pictures.tree });
  const focused = () => document.activeElement?.getAttribute("title");
  expect(page.querySelectorAll("[role=treeitem][tabindex='0']").length).toBe(1);
  await press(one(page, "[role=treeitem]"), "ArrowRight");
  expect(focused()).toMatch(/^10 − 4 = 6/);
  await press(document.activeElement as Element, "ArrowDown");
  expect(focused()).toMatch(/^13 − 9 = 4/);
  await press(document.activeElement as Element, "ArrowLeft");
  expect(focused()).toMatch(/^10 − 4 = 6/);
  await press(document.activeElement as Element, "End");
  expect(focused()).toMatch(/^13 × 10/);
});

test("pruned thoughts can be hidden", async () => {
  const { page } = await panel({ tree: samples.pictures.tree });
  await click(one(page, "input[type=checkbox]"));
  expect(page.querySelectorAll("[role=treeitem]").length).toBe(5);
});

test("a large tree is an outline, with its pruned thoughts hidden at first", async () => {
  const { page } = await panel({ tree: samples.forest(500) });
  expect(page.querySelectorAll("[role=treeitem]").length).toBe(334);
  expect(page.querySelector(".ak-outline")).toBeTruthy();
  await click(one(page, "input[type=checkbox]"));
  expect(page.querySelectorAll("[role=treeitem]").length).toBe(500);
});

test("a tree of ten thousand is drawn in part, with a note", async () => {
  const { page } = await panel({ tree: Array.from({ length: 10_000 }, (_, n) => thought(`${n}`, n ? "0" : "")) });
  expect(page.querySelectorAll("[role=treeitem]").length).toBe(1_000);
  expect(page.textContent).toContain("9,000 more thoughts not shown");
});

test("a parent is centered on its children, a column to the left", () => {
  const { nodes, rows, columns } = layout([thought("a"), thought("b", "a"), thought("c", "a"), thought("d", "a")]);
  expect([rows, columns]).toEqual([3, 2]);
  expect(nodes.map(({ thought: { node }, depth, row }) => [node, depth, row])).toEqual([
    ["a", 0, 1],
    ["b", 1, 0],
    ["c", 1, 1],
    ["d", 1, 2],
  ]);
});

// what the kernel makes of circles, duplicates and parents that come later is tested with the kernel
test("a parent that does not come before its child is ignored", () => {
  const { nodes } = layout([thought("a", "b"), thought("b", "a"), thought("c", "c"), thought("d", "gone")]);
  expect(nodes.map(({ thought: { node }, parent }) => [node, parent?.thought.node])).toEqual([
    ["a", undefined],
    ["b", "a"],
    ["c", undefined],
    ["d", undefined],
  ]);
});

test("a chain of twenty thousand is laid out in a moment", () => {
  const chain = Array.from({ length: 20_000 }, (_, n) => thought(`${n}`, `${n - 1}`));
  expect(layout(chain).nodes.at(-1)?.depth).toBe(19_999);
});

test("hostile text in plans, lessons and thoughts is drawn as text", async () => {
  const { page } = await panel({
    plan: [{ text: HOSTILE, state: "doing", entry: 1 }],
    episodes: [{ number: 1, label: HOSTILE, score: 1, ok: true, lesson: HOSTILE, entry: 1, entries: 1 }],
    tree: [thought(HOSTILE, "", { text: HOSTILE })],
  });
  expectHarmless(page);
});

test("an unknown state is its own label", async () => {
  const { page } = await panel({ plan: [{ text: "wait", state: "waiting" as "todo", entry: 0 }] });
  expect(texts(page, ".ak-badge")).toEqual(["waiting"]);
});
