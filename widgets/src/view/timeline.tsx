/** The trace: the cards of a part of it, in a box that follows the end while the reader is there. */

import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Failure } from "../cards/failure";
import { IterationCard } from "../cards/iterationCard";
import { LostEdit } from "../cards/lostEdit";
import { PendingSteps } from "../cards/pendingSteps";
import { Button } from "../elements/controls";
import { formatNumber } from "../elements/format";
import type { Store } from "../state/store";
import { firstEdit, groupIterations } from "../state/trace";
import { useStore } from "../state/useStore";
import { type ViewState, WINDOW_SIZE } from "../state/viewState";
import { Minimap } from "./minimap";
import { useDrawnSize } from "./rush";
import { keepScrollPosition, scrollToEnd, useFollowEnd, useScrollToSelected } from "./scrolling";
import type { VisibleEntries } from "./visibleEntries";

/** How many entries "Show earlier" and "Show later" move the drawn part. */
const WINDOW_STEP = 200;
/** A shorter trace than this needs no minimap. */
const MIN_MINIMAP = 9;

export function Timeline({ store, view }: { store: Store; view: ViewState }): JSX.Element {
  const version = useStore(store, (s) => s.version);
  const ready = useStore(store, (s) => s.ready);
  const windowEnd = useStore(view, (v) => v.windowEnd);
  const box = useRef<HTMLDivElement>(null);
  const { total } = store;
  const { atEnd, visible } = useFollowEnd(box, windowEnd === null);
  const drawnSize = useDrawnSize(total);
  const last = Math.min(windowEnd ?? total, total);
  const first = Math.max(0, last - (windowEnd === null && atEnd ? drawnSize : WINDOW_SIZE));
  const iterations = useMemo(() => groupIterations(store.cards.slice(first, last)), [store, version, first, last]);
  const edit = useMemo(() => firstEdit(store.trace), [store, version]);
  useEffect(() => void store.load(first, last), [store, version, first, last]);
  useScrollToSelected(view, box);
  const moveWindow = (windowEnd: number | null): void =>
    void view.moveWindow(windowEnd, (draw) => keepScrollPosition(box.current, draw));
  const goToEnd = (): void => {
    view.set({ windowEnd: null });
    requestAnimationFrame(() => scrollToEnd(box));
  };
  return (
    <div class="ak-trace">
      {total >= MIN_MINIMAP && (
        <VisibleMinimap store={store} visible={visible} goTo={(n) => void view.goToPosition(n)} />
      )}
      <div
        class={atEnd ? "ak-scroll ak-at-end" : "ak-scroll"}
        ref={box}
        role="region"
        aria-label="Trace"
        aria-busy={!ready}
      >
        <div class="ak-cards">
          {first > 0 && (
            <Button class="ak-load-more" onClick={() => moveWindow(Math.max(WINDOW_SIZE, last - WINDOW_STEP))}>
              Show earlier entries ({formatNumber(first)})
            </Button>
          )}
          {iterations.map((iteration) => (
            <IterationCard key={iteration.key} store={store} view={view} iteration={iteration} firstEdit={edit} />
          ))}
          {last < total ? (
            <Button
              class="ak-load-more"
              onClick={() => moveWindow(last + WINDOW_STEP >= total ? null : last + WINDOW_STEP)}
            >
              Show later entries ({formatNumber(total - last)})
            </Button>
          ) : (
            <>
              <Failure store={store} view={view} />
              <PendingSteps store={store} view={view} />
            </>
          )}
          <LostEdit store={store} view={view} />
          {!ready && <p class="ak-empty">Loading the run…</p>}
        </div>
      </div>
      {(!atEnd || last < total) && total > 0 && (
        <Button class="ak-latest" onClick={goToEnd}>
          ↓ Latest
        </Button>
      )}
    </div>
  );
}

interface VisibleMinimapProps {
  store: Store;
  visible: VisibleEntries;
  goTo: (n: number) => void;
}

/** The minimap with the visible part, which changes far more often than the cards. */
function VisibleMinimap({ store, visible, goTo }: VisibleMinimapProps): JSX.Element {
  const [first, last] = useStore(visible, ({ range }) => range);
  return <Minimap store={store} first={first} last={Math.min(last, store.total - 1)} goTo={goTo} />;
}
