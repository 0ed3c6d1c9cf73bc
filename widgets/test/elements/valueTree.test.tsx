import { expect, test } from "vitest";
import { openJson, previewJson } from "../../src/elements/jsonValue";
import { sortRows } from "../../src/elements/recordTable";
import { type OpenValue, ValueTree } from "../../src/elements/valueTree";
import type { Json, OpenedValue, ValuePreview } from "../../src/protocol";
import { button, click, draw, expectHarmless, HOSTILE, settled, texts } from "../support/render";

const RECORDS = Array.from({ length: 60 }, (_, n) => ({ item: `tea ${n}`, price: 60 - n }));

async function tree(value: Json): Promise<HTMLElement> {
  return draw(<ValueTree name="value" value={previewJson(value)} open={openJson(value)} isOpen />);
}

async function unfold(details: Element | null | undefined): Promise<void> {
  (details as HTMLDetailsElement).open = true;
  details?.dispatchEvent(new Event("toggle"));
  await settled();
}

test.each([
  [null, "null"],
  ["text", '"text"'],
  [[], "[]"],
  [{}, "{}"],
  [[1, "two", [3], { a: 1 }], '[1, "two", [1 item], {1 field}]'],
  [{ a: 1, b: [1, 2] }, "{a: 1, b: [2 items]}"],
  [RECORDS, "60 records"],
  [Array.from({ length: 100 }, (_, n) => n), "[0, 1, 2, 3, 4, 5, 6, 7, … 92 more]"],
])("%j is previewed as %s", (value, text) => {
  expect(previewJson(value).text).toBe(text);
});

test("records are a table: the first 50 rows, then the rest, sorted by any column", async () => {
  const root = await tree(RECORDS);
  expect(texts(root, "th")).toEqual(["item", "price"]);
  expect(root.querySelectorAll("tbody tr").length).toBe(50);
  await click(button(root, /price/));
  expect(root.querySelector("th:last-child")?.getAttribute("aria-sort")).toBe("ascending");
  expect(texts(root, "tbody tr:first-child td")).toEqual(["tea 59", "1"]);
  await click(button(root, /price/));
  expect(texts(root, "tbody tr:first-child td")).toEqual(["tea 0", "60"]);
  await click(button(root, "Show more (10 left)"));
  expect(texts(root, "tbody tr:last-child td")).toEqual(["tea 59", "1"]);
});

test("a deep value opens one level at a time, and a long text whole", async () => {
  const root = await tree({ deep: { text: "x".repeat(300) } });
  const deep = root.querySelector("details details");
  expect(deep?.querySelector("details")).toBeNull();
  await unfold(deep);
  await unfold(deep?.querySelector("details"));
  expect(root.textContent).toContain("x".repeat(300));
});

const LIST: ValuePreview = { text: "[1]", kind: "list", size: 1 };

test("what the kernel holds is asked for when it is opened, and an error is shown in its place", async () => {
  const asked: unknown[] = [];
  const open: OpenValue = async (path, first) => {
    asked.push([path, first]);
    if (path.length) throw new Error("this value has changed");
    return { total: 1, first: 0, members: [["0", LIST]] };
  };
  const root = await draw(<ValueTree name="plan" value={LIST} open={open} />);
  expect(asked).toEqual([]);
  await unfold(root.querySelector("details"));
  expect(asked).toEqual([[[], 0]]);
  await unfold(root.querySelector("details details"));
  expect(texts(root, "[role=alert]")).toEqual(["this value has changed"]);
});

test("an error that comes after the answer to a newer question is dropped", async () => {
  let fail = (): void => undefined;
  const table = { total: 2, first: 0, members: [], header: ["a"] };
  const open: OpenValue = (_path, _first, order) =>
    order?.[1] === 0
      ? new Promise((_, reject) => {
          fail = () => reject(new Error("this value has changed"));
        })
      : { ...table, rows: [[0, ["1"]]] };
  const root = await draw(<ValueTree name="plan" value={LIST} open={open} isOpen />);
  await click(button(root, /a/));
  await click(button(root, /a/));
  fail();
  await settled();
  expect(texts(root, "[role=alert]")).toEqual([]);
  expect(texts(root, "td")).toEqual(["1"]);
});

test("empty cells are last, whichever way a column is sorted", () => {
  const rows: [number, string[]][] = [["2"], [""], ["10"], ["x"]].map((cells, number) => [number, cells]);
  const order = (descending: 0 | 1) => sortRows(rows, [0, descending]).map(([number]) => number);
  expect(order(0)).toEqual([0, 2, 3, 1]);
  expect(order(1)).toEqual([3, 2, 0, 1]);
  const open = openJson([{ a: 2, b: 1 }, { b: 2 }, { a: null, b: 3 }, { a: 10, b: 4 }]);
  const opened = (descending: 0 | 1) => (open([], 0, [0, descending]) as OpenedValue).rows?.map(([number]) => number);
  expect(opened(0)).toEqual([0, 3, 1, 2]);
  expect(opened(1)).toEqual([3, 0, 1, 2]);
});

test("what a step changed is marked with what it was before", async () => {
  const open: OpenValue = () => ({ total: 0, first: 0, members: [] });
  const value: ValuePreview = { text: "3", kind: "scalar", size: 0 };
  for (const [before, mark] of [
    ["2", "was 2"],
    ["3", "changed inside"],
    ["", "new"],
  ])
    expect(texts(await draw(<ValueTree name="n" value={value} open={open} before={before} />), "mark").pop()).toBe(
      mark,
    );
  expect((await draw(<ValueTree name="n" value={value} open={open} />)).querySelector("mark")).toBeNull();
});

test("hostile names, values and columns are text", async () => {
  expectHarmless(await tree({ [HOSTILE]: HOSTILE, list: [HOSTILE] }));
  expectHarmless(await tree([{ [HOSTILE]: HOSTILE }, { [HOSTILE]: 1, __proto__: 1, constructor: 2 }]));
});
