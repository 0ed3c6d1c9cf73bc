/** The trace: the cards of a part of it, in a box that follows the end while the reader is there. */

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Failure } from "../cards/failure";
import { IterationCard } from "../cards/iterationCard";
import { LostEdit } from "../cards/lostEdit";
import { PendingSteps } from "../cards/pendingSteps";
import { Button } from "../elements/controls";
import { formatNumber } from "../elements/format";
import { useDrawnTo } from "../state/moment";
import type { Store } from "../state/store";
import { firstEdit, groupIterations } from "../state/trace";
import { useStore } from "../state/useStore";
import { type ViewState, WINDOW_SIZE } from "../state/viewState";
import { useDrawnSize } from "./rush";
import { keepScrollPosition, useFollowEnd, useScrollToSelected } from "./scrolling";
import { Slider } from "./slider";
import type { VisibleEntries } from "./visibleEntries";

/** How many entries "Show earlier" and "Show later" move the drawn part. */
const WINDOW_STEP = 200;

export function Timeline({ store, view }: { store: Store; view: ViewState }): JSX.Element {
  const version = useStore(store, (s) => s.version);
  const ready = useStore(store, (s) => s.ready);
  const windowEnd = useStore(view, (v) => v.windowEnd);
  const box = useRef<HTMLDivElement>(null);
  const { total } = store;
  const isLooking = useStore(view, (v) => v.selected > 0);
  const { atEnd, visible, goToEnd, noteOtherEntries } = useFollowEnd(box, windowEnd === null && !isLooking);
  const drawnTo = useDrawnTo(store, view);
  const drawnSize = useDrawnSize(total);
  const last = Math.min(windowEnd ?? drawnTo, total);
  const first = Math.max(0, last - (windowEnd === null && atEnd && !isLooking ? drawnSize : WINDOW_SIZE));
  const iterations = useMemo(() => groupIterations(store.cards.slice(first, last)), [store, version, first, last]);
  const edit = useMemo(() => firstEdit(store.trace), [store, version]);
  useLayoutEffect(noteOtherEntries, [first]);
  useEffect(() => void store.load(first, last), [store, version, first, last]);
  useScrollToSelected(view, box, goToEnd);
  const moveWindow = (windowEnd: number | null): void =>
    void view.moveWindow(windowEnd, (draw) => keepScrollPosition(box.current, draw));
  return (
    <div class="ak-trace">
      <VisibleSlider store={store} view={view} visible={visible} />
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
        <Button class="ak-latest" onClick={() => view.backToNow()}>
          ↓ Latest
        </Button>
      )}
    </div>
  );
}

interface VisibleSliderProps {
  store: Store;
  view: ViewState;
  visible: VisibleEntries;
}

/** The slider with the visible part, which changes far more often than the cards. */
function VisibleSlider({ store, view, visible }: VisibleSliderProps): JSX.Element {
  const [first, last] = useStore(visible, ({ range }) => range);
  return <Slider store={store} view={view} first={first} last={Math.min(last, store.total - 1)} />;
}
