/** Hooks that draw a part of the view anew when what it shows has changed, and only then. */

import { useLayoutEffect, useReducer, useRef } from "preact/hooks";

interface Observed {
  subscribe: (listener: () => void) => () => void;
}

export function useOf<S extends Observed, T>(source: S, select: (source: S) => T): T {
  const [, redraw] = useReducer((count: number, _: undefined) => count + 1, 0);
  const now = { select, drawn: select(source) };
  const last = useRef(now);
  last.current = now;
  useLayoutEffect(() => {
    const look = (): void => {
      const { select, drawn } = last.current;
      if (!Object.is(select(source), drawn)) redraw(undefined);
    };
    look(); // it may have changed between drawing and now
    return source.subscribe(look);
  }, [source]);
  return now.drawn;
}
