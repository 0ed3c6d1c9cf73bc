/** The difference between two sequences, independent of how it is drawn. */

export type Op = "=" | "-" | "+";

/** A run of items that both sequences have ("="), that only the first has ("-"), or only the second ("+"). */
export interface Hunk<T> {
  op: Op;
  items: T[];
}

/** Beyond this many differences, the rest counts as replaced as a whole, so that time and memory stay bounded. */
const MAX_DIFFERENCES = 800;

/** Return the shortest edit script from `a` to `b` (Myers 1986), with deletions before insertions. */
export function diff<T>(a: readonly T[], b: readonly T[]): Hunk<T>[] {
  let start = 0;
  let aEnd = a.length;
  let bEnd = b.length;
  while (start < aEnd && start < bEnd && a[start] === b[start]) start++;
  while (aEnd > start && bEnd > start && a[aEnd - 1] === b[bEnd - 1]) {
    aEnd--;
    bEnd--;
  }
  const hunks: Hunk<T>[] = [];
  add(hunks, "=", a.slice(0, start));
  addDifferences(hunks, a.slice(start, aEnd), b.slice(start, bEnd));
  add(hunks, "=", a.slice(aEnd));
  return hunks;
}

/** Split a text into words, white space and single other characters. */
export function words(text: string): string[] {
  return text.match(/[\p{L}\p{N}_]+|\s+|[\s\S]/gu) ?? [];
}

function addDifferences<T>(hunks: Hunk<T>[], a: T[], b: T[]): void {
  const points = a.length && b.length ? search(a, b) : [];
  let x = 0;
  let y = 0;
  for (const [toX, toY] of points) {
    // from one point to the next, there is one deletion or insertion and then a run of equal items
    const run = Math.min(toX - x, toY - y);
    if (toX - x > run) add(hunks, "-", a.slice(x, ++x));
    else if (toY - y > run) add(hunks, "+", b.slice(y, ++y));
    add(hunks, "=", a.slice(x, toX));
    x = toX;
    y = toY;
  }
  add(hunks, "-", a.slice(x));
  add(hunks, "+", b.slice(y));
}

/**
 * Return the furthest points that the search passed, from the start to the end; none if there are too many differences.
 */
function search<T>(a: T[], b: T[]): [number, number][] {
  const rows: Int32Array[] = [];
  const bound = Math.min(MAX_DIFFERENCES, a.length + b.length);
  const furthest = new Int32Array(2 * bound + 3);
  const zero = bound + 1;
  for (let d = 0; d <= bound; d++) {
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && at(furthest, zero + k - 1) < at(furthest, zero + k + 1));
      let x = down ? at(furthest, zero + k + 1) : at(furthest, zero + k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      furthest[zero + k] = x;
      if (x >= a.length && x - k >= b.length) return backtrack(rows, furthest, d, k, zero);
    }
    rows.push(furthest.slice(zero - d - 1, zero + d + 2));
  }
  return [];
}

function backtrack(rows: Int32Array[], last: Int32Array, d: number, k: number, zero: number): [number, number][] {
  const points: [number, number][] = [];
  let x = at(last, zero + k);
  for (; d >= 0; d--) {
    points.push([x, x - k]);
    if (!d) break;
    const row = rows[d - 1] as Int32Array;
    const center = d;
    k += k === -d || (k !== d && at(row, center + k - 1) < at(row, center + k + 1)) ? 1 : -1;
    x = at(row, center + k);
  }
  return points.reverse();
}

function at(row: Int32Array, index: number): number {
  return row[index] as number;
}

/** Add items to the last hunk or as a new one; between two equal runs, all deletions come before all insertions. */
function add<T>(hunks: Hunk<T>[], op: Op, items: T[]): void {
  if (!items.length) return;
  const inserted = op === "-" && hunks[hunks.length - 1]?.op === "+" ? hunks.pop() : undefined;
  const last = hunks[hunks.length - 1];
  if (last?.op === op) last.items = last.items.concat(items);
  else hunks.push({ op, items });
  if (inserted) hunks.push(inserted);
}
