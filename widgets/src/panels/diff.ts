/** What is different between two sequences, and nothing of how it is drawn. */

export type Op = "=" | "-" | "+";

/** A stretch of a sequence that both have ("="), that only the first has ("-"), or only the second ("+"). */
export interface Hunk<T> {
  op: Op;
  items: T[];
}

/** Past so many differences the rest counts as replaced as a whole: time and memory stay bounded. */
const BOUND = 800;

/** The shortest way from `a` to `b` (Myers 1986), deletions before insertions. */
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
  middle(hunks, a.slice(start, aEnd), b.slice(start, bEnd));
  add(hunks, "=", a.slice(aEnd));
  return hunks;
}

/** Words, white space and single other characters. */
export function words(text: string): string[] {
  return text.match(/[\p{L}\p{N}_]+|\s+|[\s\S]/gu) ?? [];
}

function middle<T>(hunks: Hunk<T>[], a: T[], b: T[]): void {
  const steps = a.length && b.length ? search(a, b) : [];
  let x = 0;
  let y = 0;
  for (const [toX, toY] of steps) {
    // a step of the search is one deletion or insertion, and then a run of what is the same
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

/** The furthest points that the search went through, from the start to the end; none where the bound was met. */
function search<T>(a: T[], b: T[]): [number, number][] {
  const furthest: Int32Array[] = [];
  const bound = Math.min(BOUND, a.length + b.length);
  const now = new Int32Array(2 * bound + 3);
  const zero = bound + 1;
  for (let d = 0; d <= bound; d++) {
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && at(now, zero + k - 1) < at(now, zero + k + 1));
      let x = down ? at(now, zero + k + 1) : at(now, zero + k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      now[zero + k] = x;
      if (x >= a.length && x - k >= b.length) return path(furthest, now, d, k, zero);
    }
    furthest.push(now.slice(zero - d - 1, zero + d + 2));
  }
  return [];
}

function path(furthest: Int32Array[], last: Int32Array, d: number, k: number, zero: number): [number, number][] {
  const found: [number, number][] = [];
  let x = at(last, zero + k);
  for (; d >= 0; d--) {
    found.push([x, x - k]);
    if (!d) break;
    const row = furthest[d - 1] as Int32Array;
    const centre = d;
    k += k === -d || (k !== d && at(row, centre + k - 1) < at(row, centre + k + 1)) ? 1 : -1;
    x = at(row, centre + k);
  }
  return found.reverse();
}

function at(row: Int32Array, index: number): number {
  return row[index] as number;
}

/** Between two stretches that both have, what was deleted comes whole before what was inserted. */
function add<T>(hunks: Hunk<T>[], op: Op, items: T[]): void {
  if (!items.length) return;
  const inserted = op === "-" && hunks[hunks.length - 1]?.op === "+" ? hunks.pop() : undefined;
  const last = hunks[hunks.length - 1];
  if (last?.op === op) last.items = last.items.concat(items);
  else hunks.push({ op, items });
  if (inserted) hunks.push(inserted);
}
