/** The trace: the cards of a stretch of it, in a box that follows the end while the reader is there. */

import type { JSX, RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Orphan } from "./cards/edit";
import { IterationCard } from "./cards/iteration";
import { Failure, PendingSteps } from "./cards/pending";
import { Button } from "./controls";
import { Minimap } from "./panels/minimap";
import { count } from "./panels/parts";
import type { Store } from "./store";
import { editedFrom, iterations } from "./trace";
import { samePlace, type Ui } from "./ui";
import { useOf } from "./use";

type Ref = RefObject<HTMLDivElement | null>;

/** Entries drawn at most, and how far "show earlier" goes. */
export const DRAWN = 300;
const BACK = 200;
/** Pixels from the end that still count as being there. */
const NEAR = 32;

export function Timeline({ store, ui }: { store: Store; ui: Ui }): JSX.Element {
  const changes = useOf(store, (s) => s.changes);
  const ready = useOf(store, (s) => s.ready);
  const end = useOf(ui, (u) => u.end);
  const box = useRef<HTMLDivElement>(null);
  const { total } = store;
  const last = Math.min(end ?? total, total);
  const first = Math.max(0, last - DRAWN);
  const shown = useMemo(() => iterations(store.cards.slice(first, last)), [store, changes, first, last]);
  const edited = useMemo(() => editedFrom(store.trace), [store, changes]);
  const [atEnd, seen] = useFollowing(box, end === null, changes);
  useEffect(() => void store.need(first, last), [store, changes, first, last]);
  useGoing(store, ui, box);
  const turn = (to: number | null): void => keepPlace(box.current, () => ui.set({ end: to }));
  const toEnd = (): void => {
    ui.set({ end: null });
    requestAnimationFrame(() => box.current?.scrollTo({ top: box.current.scrollHeight }));
  };
  return (
    <div class="ak-trace">
      {total > 8 && <Minimap store={store} first={seen[0]} last={Math.min(seen[1], total - 1)} go={(n) => goTo(store, ui, n)} />}
      <div class={atEnd ? "ak-scroll ak-at-end" : "ak-scroll"} ref={box} role="region" aria-label="Trace" aria-busy={!ready}>
        <div class="ak-cards">
          {first > 0 && (
            <Button class="ak-load-more" onClick={() => turn(Math.max(DRAWN, last - BACK))}>
              Show earlier ({count(first, "entry", "entries")})
            </Button>
          )}
          {shown.map((iteration) => (
            <IterationCard key={iteration.key} store={store} ui={ui} iteration={iteration} edited={edited} />
          ))}
          {last < total ? (
            <Button class="ak-load-more" onClick={() => turn(last + BACK >= total ? null : last + BACK)}>
              Show later ({count(total - last, "entry", "entries")})
            </Button>
          ) : (
            <>
              <Failure store={store} ui={ui} />
              <PendingSteps store={store} ui={ui} />
            </>
          )}
          <LostEdit store={store} ui={ui} />
          {!ready && <p class="ak-empty">Asking the kernel how the run stands…</p>}
        </div>
      </div>
      {(!atEnd || last < total) && total > 0 && (
        <Button class="ak-latest" onClick={toEnd}>
          ↓ latest
        </Button>
      )}
    </div>
  );
}

function LostEdit({ store, ui }: { store: Store; ui: Ui }): JSX.Element | null {
  const editing = useOf(ui, (u) => u.editing);
  const { card, step } = editing ?? {};
  const lost = useOf(
    store,
    (s) => (!!card && !s.trace.find(card.id)) || (!!step && !s.head.pending.some((each) => samePlace(each, step))),
  );
  return editing && lost ? <Orphan ui={ui} editing={editing} /> : null;
}

/** Keep the end in sight while the reader is there; says so, and which entries are in sight. */
function useFollowing(box: Ref, follows: boolean, changes: number): [atEnd: boolean, seen: [number, number]] {
  const [atEnd, setAtEnd] = useState(true);
  const [seen, setSeen] = useState<[number, number]>([0, 0]);
  const near = useRef(true);
  const following = useRef(follows);
  following.current = follows;
  useLayoutEffect(() => {
    if (near.current && follows) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [changes]);
  useLayoutEffect(() => {
    const scroller = box.current;
    if (!scroller) return;
    let frame = 0;
    let top = 0;
    const look = (): void => {
      frame = 0;
      setSeen((before) => {
        const now = inSight(scroller);
        return before[0] === now[0] && before[1] === now[1] ? before : now;
      });
      setAtEnd(near.current);
    };
    const soon = (): void => {
      frame ||= requestAnimationFrame(look);
    };
    const onScroll = (): void => {
      const { scrollTop } = scroller;
      // the end may have gone away from a reader who stays: only who goes up has left it
      near.current = scroller.scrollHeight - scrollTop - scroller.clientHeight < NEAR || (near.current && scrollTop >= top);
      top = scrollTop;
      soon();
    };
    const grown = new ResizeObserver(() => {
      // who was taken upwards has left the end, and is heard of only after this
      if (near.current && following.current && scroller.scrollTop >= top) scroller.scrollTop = scroller.scrollHeight;
      soon();
    });
    grown.observe(scroller);
    if (scroller.firstElementChild) grown.observe(scroller.firstElementChild);
    scroller.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      grown.disconnect();
      scroller.removeEventListener("scroll", onScroll);
      cancelAnimationFrame(frame);
    };
  }, []);
  return [atEnd, seen];
}

/** The places of the first and the last entry in sight. */
function inSight(scroller: HTMLElement): [number, number] {
  const entries = scroller.querySelectorAll<HTMLElement>("[data-n]");
  const { top, bottom } = scroller.getBoundingClientRect();
  let found: [number, number] | undefined;
  for (const entry of entries) {
    const place = entry.getBoundingClientRect();
    if (place.bottom < top) continue;
    if (place.top > bottom) break;
    const n = Number(entry.dataset.n);
    found = [Math.min(found?.[0] ?? n, n), Math.max(found?.[1] ?? n, n)];
  }
  return found ?? [0, 0];
}

/** Change what is drawn without moving what is read. */
function keepPlace(scroller: HTMLElement | null, change: () => void): void {
  const top = scroller?.getBoundingClientRect().top ?? 0;
  const kept = [...(scroller?.querySelectorAll<HTMLElement>("[data-entry]") ?? [])].find(
    (entry) => entry.getBoundingClientRect().bottom > top,
  );
  const [id, before] = [kept?.dataset.entry, kept?.getBoundingClientRect().top ?? 0];
  change();
  requestAnimationFrame(() => {
    const now = scroller?.querySelector<HTMLElement>(`[data-entry="${id}"]`);
    if (now && scroller) scroller.scrollTop += now.getBoundingClientRect().top - before;
  });
}

/** Go to the entry that stands at a place. */
export function goTo(store: Store, ui: Ui, n: number): void {
  const end = n >= store.total - DRAWN ? null : Math.min(store.total, n + DRAWN / 2);
  ui.set({ end });
  void store.need(Math.max(0, (end ?? store.total) - DRAWN), end ?? store.total).then(() => {
    const card = store.cards[n];
    if (card) ui.go(card.id);
  });
}

/** Bring the entry that was gone to into sight; the focus stays where it is, unless a key asked for it. */
function useGoing(store: Store, ui: Ui, box: Ref): void {
  const going = useOf(ui, (u) => u.going);
  useLayoutEffect(() => {
    if (!going) return;
    const frame = requestAnimationFrame(() => {
      box.current?.querySelector(`[data-entry="${ui.current}"]`)?.scrollIntoView({ block: "nearest" });
    });
    return () => cancelAnimationFrame(frame);
  }, [going, store]);
}

/** Go to an entry by its id, wherever in the trace it stands. */
export async function goToEntry(store: Store, ui: Ui, id: number): Promise<void> {
  for (let last = store.total; last > 0; last -= BACK) {
    await store.need(last - BACK, last);
    const card = store.trace.find(id);
    if (card) return goTo(store, ui, card.n);
  }
}
