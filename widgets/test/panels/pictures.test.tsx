import { expect, test, vi } from "vitest";
import samples from "../../dev/samples";
import { layout, type Thought } from "../../src/panels/layout";
import { PicturesPanel } from "../../src/panels/pictures";
import type { Pictures } from "../../src/protocol";
import { button, click, draw, HOSTILE, harmless, one, press, record, texts } from "./draw";
import { fake } from "./fake";

const NOTHING: Pictures = { plan: [], episodes: [], tree: [] };

async function panel(pictures: Partial<Pictures>) {
  const { store, pictures: say } = fake(record);
  say({ ...NOTHING, ...pictures });
  const go = vi.fn();
  return { go, page: await draw(<PicturesPanel store={store} go={go} />) };
}

function thought(node: string, parent = "", changes: Partial<Thought> = {}): Thought {
  return { node, parent, text: `thought ${node}`, score: null, pruned: false, chosen: false, entry: 1, ...changes };
}

test("nothing is drawn where there is nothing to draw", async () => {
  expect((await panel({})).page.innerHTML).toBe("");
});

test("a plan counts what is done, and says each state in words", async () => {
  const { page, go } = await panel({ plan: samples.pictures.plan });
  expect(one(page, "h3").textContent).toBe("Plan 1 of 5 done");
  expect(texts(page, ".ak-badge")).toEqual(["done", "skipped", "failed", "in progress", "to do"]);
  expect(texts(page, "[aria-current=step] .ak-link")[0]).toContain("Book the train");
  await click(button(page, "Reserve a table at the summit"));
  expect(go).toHaveBeenCalledWith(7);
});

test("a step without an entry leads nowhere", async () => {
  const { page } = await panel({ plan: samples.pictures.plan });
  expect(page.querySelectorAll(".ak-plan button").length).toBe(4);
});

test("episodes are in their order, with score and lesson", async () => {
  const { page, go } = await panel({ episodes: samples.pictures.episodes });
  expect(texts(page, ".ak-episodes li")[0]).toMatch(/^Episode 1not solved14 entries.*score 0.2Lesson: I went/);
  expect(texts(page, ".ak-episodes .ak-badge")).toEqual(["not solved", "not solved", "solved"]);
  await click(button(page, "Episode 3"));
  expect(go).toHaveBeenCalledWith(29);
});

test("a tree says scores, what was pruned and what was chosen", async () => {
  const { page, go } = await panel({ tree: samples.pictures.tree });
  const labels = [...page.querySelectorAll("[role=treeitem]")].map((item) => item.getAttribute("aria-label"));
  expect(labels[0]).toBe("4 9 10 13, chosen");
  expect(labels).toContain("6 + 9 = 15 (left: 13 15), score 1, pruned");
  expect(page.querySelectorAll("path").length).toBe(7);
  expect(page.querySelectorAll("path.ak-chosen").length).toBe(3);
  await click(button(page, /^4 × 6 = 24/));
  expect(go).toHaveBeenCalledWith(8);
});

test("arrow keys go through a tree", async () => {
  const { page } = await panel({ tree: samples.pictures.tree });
  const at = () => document.activeElement?.getAttribute("title");
  expect(page.querySelectorAll("[role=treeitem][tabindex='0']").length).toBe(1);
  await press(one(page, "[role=treeitem]"), "ArrowRight");
  expect(at()).toMatch(/^10 − 4 = 6/);
  await press(document.activeElement as Element, "ArrowDown");
  expect(at()).toMatch(/^13 − 9 = 4/);
  await press(document.activeElement as Element, "ArrowLeft");
  expect(at()).toMatch(/^10 − 4 = 6/);
  await press(document.activeElement as Element, "End");
  expect(at()).toMatch(/^13 × 10/);
});

test("pruned thoughts can be hidden", async () => {
  const { page } = await panel({ tree: samples.pictures.tree });
  await click(one(page, "input[type=checkbox]"));
  expect(page.querySelectorAll("[role=treeitem]").length).toBe(5);
});

test("of a large tree the pruned thoughts begin hidden, and it is an outline", async () => {
  const { page } = await panel({ tree: samples.forest(500) });
  expect(page.querySelectorAll("[role=treeitem]").length).toBe(334);
  expect(page.querySelector(".ak-outline")).toBeTruthy();
  await click(one(page, "input[type=checkbox]"));
  expect(page.querySelectorAll("[role=treeitem]").length).toBe(500);
});

test("a tree of ten thousand is drawn in part, and says so", async () => {
  const { page } = await panel({ tree: Array.from({ length: 10_000 }, (_, n) => thought(`${n}`, n ? "0" : "")) });
  expect(page.querySelectorAll("[role=treeitem]").length).toBe(1_000);
  expect(page.textContent).toContain("9,000 more thoughts not drawn");
});

test("a parent stands in the middle of its children, a column before them", () => {
  const { placed, rows, columns } = layout([thought("a"), thought("b", "a"), thought("c", "a"), thought("d", "a")]);
  expect([rows, columns]).toEqual([3, 2]);
  expect(placed.map(({ thought: { node }, depth, row }) => [node, depth, row])).toEqual([
    ["a", 0, 1],
    ["b", 1, 0],
    ["c", 1, 1],
    ["d", 1, 2],
  ]);
});

test.each([
  ["a circle", [thought("a", "b"), thought("b", "a"), thought("c", "c")], 3],
  ["a name that comes twice", [thought("a"), thought("a"), thought("b", "a")], 2],
  ["a parent that comes later", [thought("b", "a"), thought("a")], 2],
  ["a parent that is not there", [thought("b", "gone")], 1],
  ["a chain of twenty thousand", Array.from({ length: 20_000 }, (_, n) => thought(`${n}`, `${n - 1}`)), 20_000],
])("%s is laid out", (_, tree, size) => {
  expect(layout(tree).placed.length).toBe(size);
});

test("hostile text in plans, lessons and thoughts is text", async () => {
  const { page } = await panel({
    plan: [{ text: HOSTILE, state: "doing", entry: 1 }],
    episodes: [{ number: 1, label: HOSTILE, score: 1, ok: true, lesson: HOSTILE, entry: 1, entries: 1 }],
    tree: [thought(HOSTILE, "", { text: HOSTILE })],
  });
  harmless(page);
});

test("a state that nobody knows is drawn as words", async () => {
  const { page } = await panel({ plan: [{ text: "wait", state: "waiting" as "todo", entry: 0 }] });
  expect(texts(page, ".ak-badge")).toEqual(["waiting"]);
});
