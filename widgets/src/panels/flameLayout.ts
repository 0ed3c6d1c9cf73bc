/** Where the bars of a flame are drawn: each as wide as its share, under the bar that it is in. */

import type { FlameBar } from "../protocol";

/** What the width of a bar stands for. */
export type Measure = "seconds" | "tokens" | "cost";

export interface PlacedBar {
  bar: FlameBar;
  level: number;
  /** As fractions of the whole. */
  left: number;
  width: number;
  /** Positions in the list; -1 for none. */
  parent: number;
  firstChild: number;
  /** Its place among the bars beside it, from 1, and how many there are. */
  place: number;
  beside: number;
}

/** Return the bars in reading order, each followed by those inside it; bars with nothing of the measure are left out. */
export function layout(flame: FlameBar, measure: Measure): PlacedBar[] {
  const placed: PlacedBar[] = [];
  const total = flame[measure];
  const put = (bar: FlameBar, level: number, left: number, parent: number, place: number, beside: number): void => {
    const index = placed.length;
    placed.push({ bar, level, left, width: bar[measure] / total, parent, firstChild: -1, place, beside });
    const inside = bar.bars.filter((each) => each[measure] > 0);
    let from = left;
    inside.forEach((each, number) => {
      if (number === 0) (placed[index] as PlacedBar).firstChild = placed.length;
      put(each, level + 1, from, index, number + 1, inside.length);
      from += each[measure] / total;
    });
  };
  if (total > 0) put(flame, 0, 0, -1, 1, 1);
  return placed;
}
