/** A run at full speed performs more steps than anybody can read: then the trace skips to the last ones. */

import { useEffect, useReducer, useRef } from "preact/hooks";
import { WINDOW_SIZE } from "../state/viewState";

/** If this many new entries or more are to be drawn at a time, only the last ones are drawn. */
const MANY = 4;
/** How many entries are drawn in a rush: more than are in sight. */
const RUSH_SIZE = 24;
/** Milliseconds after a rush until twice as many entries are drawn, and so on. */
const CALM = 200;

/** Return how many entries to draw at the end of the trace. */
export function useDrawnSize(total: number): number {
  const [, redraw] = useReducer((count: number, _: undefined) => count + 1, 0);
  const drawn = useRef({ total, size: WINDOW_SIZE, rushes: 0 }).current;
  if (drawn.total > 0 && total - drawn.total >= MANY) {
    drawn.size = RUSH_SIZE;
    drawn.rushes++;
  }
  drawn.total = total;
  useEffect(() => {
    if (drawn.size === WINDOW_SIZE) return;
    const timer = setTimeout(() => {
      drawn.size = Math.min(WINDOW_SIZE, 2 * drawn.size);
      redraw(undefined);
    }, CALM);
    return () => clearTimeout(timer);
  }, [drawn.size, drawn.rushes]);
  return drawn.size;
}
