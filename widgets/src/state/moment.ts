/** The moment that a view looks at: that of the selected entry, or else now. */

import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Card, Moment } from "../protocol";
import { newest } from "./newest";
import type { Store } from "./store";
import { useStore } from "./useStore";
import { type ViewState, WINDOW_SIZE } from "./viewState";

/** Return the selected entry; undefined if there is none, or if it is not on the current branch. */
export function useSelectedCard(store: Store, view: ViewState): Card | undefined {
  const selected = useStore(view, (v) => v.selected);
  return useStore(store, (s) => (selected ? s.trace.find(selected) : undefined));
}

/** Return where the drawn part of the trace ends: what is looked at stays drawn, however far the run goes on. */
export function useDrawnTo(store: Store, view: ViewState): number {
  const drawnTo = (): number => {
    const card = view.selected ? store.trace.find(view.selected) : undefined;
    return Math.min(store.total, card ? card.n + WINDOW_SIZE : store.total);
  };
  useStore(view, drawnTo);
  return useStore(store, drawnTo);
}

/** Return the last moment that the kernel has answered with, and ask for that of `entry`, unless it is 0. */
export function useMoment(view: ViewState, entry: number): Moment | undefined {
  const [moment, setMoment] = useState<Moment>();
  const show = useMemo(() => newest(async (entry: number) => setMoment(await view.moments.at(entry))), [view]);
  useLayoutEffect(() => {
    if (entry) void show(entry);
  }, [show, entry]);
  return entry ? moment : undefined;
}
