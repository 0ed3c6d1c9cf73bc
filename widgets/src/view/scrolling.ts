/** Hooks and functions that scroll the trace: they follow its end, and keep or find an entry. */

import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useStore } from "../state/useStore";
import type { ViewState } from "../state/viewState";

export type ScrollBox = RefObject<HTMLDivElement | null>;

/** This many pixels from the end still count as the end. */
const END_TOLERANCE = 32;

interface ScrollState {
  atEnd: boolean;
  /** The positions of the first and the last visible entry. */
  visible: [first: number, last: number];
  /** Scroll to the end, and stay there while the content grows. */
  goToEnd: () => void;
}

/** Scroll to the end whenever the content grows, as long as the reader is at the end; `follow` switches that off. */
export function useFollowEnd(box: ScrollBox, follow: boolean, version: number): ScrollState {
  const [atEnd, setAtEnd] = useState(true);
  const [visible, setVisible] = useState<[number, number]>([0, 0]);
  const isAtEnd = useRef(true);
  const latestFollow = useRef(follow);
  latestFollow.current = follow;
  useLayoutEffect(() => {
    if (isAtEnd.current && follow) scrollToEnd(box);
  }, [version]);
  useLayoutEffect(() => {
    const scroller = box.current;
    if (!scroller) return;
    let frame = 0;
    let lastTop = 0;
    const measure = (): void => {
      frame = 0;
      setVisible((before) => {
        const now = visibleEntries(scroller);
        return before[0] === now[0] && before[1] === now[1] ? before : now;
      });
      setAtEnd(isAtEnd.current);
    };
    const scheduleMeasure = (): void => {
      frame ||= requestAnimationFrame(measure);
    };
    const onScroll = (): void => {
      const { scrollTop, scrollHeight, clientHeight } = scroller;
      // the content may have grown: a reader has left the end only by scrolling up
      const isNear = scrollHeight - scrollTop - clientHeight < END_TOLERANCE;
      isAtEnd.current = isNear || (isAtEnd.current && scrollTop >= lastTop);
      lastTop = scrollTop;
      scheduleMeasure();
    };
    const observer = new ResizeObserver(() => {
      // the scroll event of a reader who has just scrolled up arrives only after this
      if (isAtEnd.current && latestFollow.current && scroller.scrollTop >= lastTop)
        scroller.scrollTop = scroller.scrollHeight;
      scheduleMeasure();
    });
    observer.observe(scroller);
    if (scroller.firstElementChild) observer.observe(scroller.firstElementChild);
    scroller.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      observer.disconnect();
      scroller.removeEventListener("scroll", onScroll);
      cancelAnimationFrame(frame);
    };
  }, []);
  const goToEnd = (): void => {
    isAtEnd.current = true;
    scrollToEnd(box);
  };
  return { atEnd, visible, goToEnd };
}

function scrollToEnd(box: ScrollBox): void {
  box.current?.scrollTo({ top: box.current.scrollHeight });
}

function visibleEntries(scroller: HTMLElement): [first: number, last: number] {
  const { top, bottom } = scroller.getBoundingClientRect();
  let range: [number, number] | undefined;
  for (const entry of scroller.querySelectorAll<HTMLElement>("[data-n]")) {
    const rect = entry.getBoundingClientRect();
    if (rect.bottom < top) continue;
    if (rect.top > bottom) break;
    const n = Number(entry.dataset.n);
    range = [Math.min(range?.[0] ?? n, n), Math.max(range?.[1] ?? n, n)];
  }
  return range ?? [0, 0];
}

/** Make a change without moving the first visible entry. */
export function keepScrollPosition(scroller: HTMLElement | null, change: () => void): void {
  const top = scroller?.getBoundingClientRect().top ?? 0;
  const entries = [...(scroller?.querySelectorAll<HTMLElement>("[data-entry]") ?? [])];
  const anchor = entries.find((entry) => entry.getBoundingClientRect().bottom > top);
  const [id, before] = [anchor?.dataset.entry, anchor?.getBoundingClientRect().top ?? 0];
  change();
  requestAnimationFrame(() => {
    const moved = scroller?.querySelector<HTMLElement>(`[data-entry="${id}"]`);
    if (moved && scroller) scroller.scrollTop += moved.getBoundingClientRect().top - before;
  });
}

/** Scroll to the selected entry, or else to the end, whenever that is requested. The focus stays where it is. */
export function useScrollToSelected(view: ViewState, box: ScrollBox, goToEnd: () => void): void {
  const requests = useStore(view, (v) => v.scrollRequests);
  useLayoutEffect(() => {
    if (!requests) return;
    const frame = requestAnimationFrame(() => {
      if (view.selected)
        box.current?.querySelector(`[data-entry="${view.selected}"]`)?.scrollIntoView({ block: "nearest" });
      else goToEnd();
    });
    return () => cancelAnimationFrame(frame);
  }, [requests, view]);
}
