/** A run at full speed performs more steps than anybody can read: then the trace skips to the last ones. */

import { useEffect, useReducer, useRef } from "preact/hooks";

/** From this many new entries in a frame on, only the last ones are drawn. */
const MANY = 4;
/** Milliseconds after the last such frame until the entries before them are drawn too. */
const CALM = 300;

/** Whether entries arrive faster than anybody can read them. */
export function useRush(total: number): boolean {
  const [, redraw] = useReducer((count: number, _: undefined) => count + 1, 0);
  const last = useRef({ total, time: Number.NEGATIVE_INFINITY }).current;
  const now = performance.now();
  if (last.total > 0 && total - last.total >= MANY) last.time = now;
  last.total = total;
  const isRush = now - last.time < CALM;
  useEffect(() => {
    if (!isRush) return;
    const timer = setTimeout(() => redraw(undefined), CALM);
    return () => clearTimeout(timer);
  }, [isRush, last.time]);
  return isRush;
}
