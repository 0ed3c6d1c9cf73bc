import { expect, test } from "vitest";
import { diff, type Hunk, words } from "../../src/elements/diff";

function random(): () => number {
  let seed = 7;
  return () => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return seed / 0x7fffffff;
  };
}

function side<T>(hunks: Hunk<T>[], without: string): T[] {
  return hunks.filter((hunk) => hunk.op !== without).flatMap((hunk) => hunk.items);
}

function longest(a: number[], b: number[]): number {
  let row = new Array<number>(b.length + 1).fill(0);
  for (const x of a) {
    const next = [0];
    b.forEach((y, j) => {
      next.push(x === y ? (row[j] ?? 0) + 1 : Math.max(row[j + 1] ?? 0, next[j] ?? 0));
    });
    row = next;
  }
  return row[b.length] ?? 0;
}

test("a diff contains both sides, and their longest common subsequence", () => {
  const next = random();
  const sequence = () => Array.from({ length: Math.floor(next() * 12) }, () => Math.floor(next() * 4));
  for (let round = 0; round < 2_000; round++) {
    const [a, b] = [sequence(), sequence()];
    const hunks = diff(a, b);
    expect(side(hunks, "+")).toEqual(a);
    expect(side(hunks, "-")).toEqual(b);
    expect(hunks.filter((hunk) => hunk.op === "=").flatMap((hunk) => hunk.items).length).toBe(longest(a, b));
  }
});

test("deletions come before the insertions that replace them", () => {
  expect(
    diff(words("the quick brown fox"), words("the slow brown fox")).map(({ op, items }) => op + items.join("")),
  ).toEqual(["=the ", "-quick", "+slow", "= brown fox"]);
});

test("two long texts without anything in common count as replaced, without a full search", () => {
  const a = Array.from({ length: 30_000 }, (_, n) => `a${n}`);
  const b = Array.from({ length: 30_000 }, (_, n) => `b${n}`);
  expect(diff(a, b).map(({ op, items }) => [op, items.length])).toEqual([
    ["-", 30_000],
    ["+", 30_000],
  ]);
});

test("words of any script stay whole", () => {
  expect(words("naïve 東京, 19 °C")).toEqual(["naïve", " ", "東京", ",", " ", "19", " ", "°", "C"]);
});
