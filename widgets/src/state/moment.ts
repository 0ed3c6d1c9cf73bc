/** The moment that a view looks at: that of the selected entry, or else now. */

import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { errorText } from "../elements/format";
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

/** How many moments are asked for before somebody who goes step by step gets there: a question takes about 50 ms. */
const AHEAD = 4;

/** The moments that the kernel was asked for since the trace has changed. */
export class Moments {
  private readonly asked = new Map<number, Promise<Moment>>();
  private version = 0;
  /** The position of the last moment that somebody looked at. */
  private last = Number.NaN;

  constructor(private readonly store: Store) {}

  /** Return the moment of an entry; of one step after the other, those that come next are asked for too. */
  at(entry: number): Promise<Moment> {
    const { store } = this;
    if (this.version !== store.version) this.asked.clear();
    this.version = store.version;
    const moment = this.ask(entry);
    const n = store.trace.find(entry)?.n ?? -1;
    const step = n - this.last;
    this.last = n;
    for (let ahead = 1; Math.abs(step) === 1 && ahead <= AHEAD; ahead++) {
      const next = store.cards[n + ahead * step];
      if (next) void this.ask(next.id);
    }
    return moment;
  }

  private ask(entry: number): Promise<Moment> {
    const known = this.asked.get(entry);
    if (known) return known;
    const moment = this.store.execute({ cmd: "at", entry }).catch((error): Moment => {
      this.asked.delete(entry);
      return { entry, where: [], problem: errorText(error) };
    });
    this.asked.set(entry, moment);
    return moment;
  }
}

/** Return the last moment that the kernel has answered with, and ask for that of `entry`, unless it is 0. */
export function useMoment(store: Store, entry: number): Moment | undefined {
  const [moment, setMoment] = useState<Moment>();
  const show = useMemo(() => {
    const moments = new Moments(store);
    return newest(async (entry: number) => setMoment(await moments.at(entry)));
  }, [store]);
  useLayoutEffect(() => {
    if (entry) void show(entry);
  }, [show, entry]);
  return entry ? moment : undefined;
}
