/** The moments of the past: where the engine was at each step, as far as the kernel was asked. */

import { errorText } from "../elements/format";
import type { Moment } from "../protocol";
import type { Store } from "./store";

/** How many moments are asked for before somebody who goes step by step gets there: a question takes about 50 ms. */
const AHEAD = 4;

/** The moments that the kernel was asked for since the trace has changed. */
export class PastMoments {
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
