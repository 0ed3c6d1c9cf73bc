/** Hooks and functions that scroll the trace: they follow its end, and keep or find an entry. */

import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useStore } from "../state/useStore";
import type { ViewState } from "../state/viewState";
import { VisibleEntries } from "./visibleEntries";

export type ScrollBox = RefObject<HTMLDivElement | null>;

/** This many pixels from the end still count as the end. */
const END_TOLERANCE = 32;

interface ScrollState {
  atEnd: boolean;
  visible: VisibleEntries;
  /** Scroll to the end, and stay there while the content grows. */
  goToEnd: () => void;
  /** Take note that other entries are drawn: the position may change, but not because a reader has scrolled. */
  noteOtherEntries: () => void;
}

/**
 * Scroll to the end whenever the content grows, as long as the reader is at the end; `follow` switches that off.
 *
 * Everything is read right after a layout (in a resize observer) or before the first change of a frame (in a scroll
 * event), so that reading forces no layout.
 */
export function useFollowEnd(box: ScrollBox, follow: boolean): ScrollState {
  const [atEnd, setAtEnd] = useState(true);
  const visible = useMemo(() => new VisibleEntries(), []);
  const latestFollow = useRef(follow);
  latestFollow.current = follow;
  const isAtEnd = useRef(true);
  const hasOtherEntries = useRef(false);
  useLayoutEffect(() => {
    const scroller = box.current;
    if (!scroller) return;
    let lastTop = 0;
    // until other entries are laid out, they may be lower than the ones before: then the position has been cut back
    const takeOtherEntries = (): boolean => {
      const isCutBack = hasOtherEntries.current && isAtEnd.current && latestFollow.current;
      hasOtherEntries.current = false;
      if (isCutBack) lastTop = 0;
      return isCutBack;
    };
    const onScroll = (): void => {
      if (takeOtherEntries()) scroller.scrollTop = scroller.scrollHeight;
      const { scrollTop, scrollHeight, clientHeight } = scroller;
      // the content may have grown: a reader has left the end only by scrolling up
      const isNear = scrollHeight - scrollTop - clientHeight < END_TOLERANCE;
      isAtEnd.current = isNear || (isAtEnd.current && scrollTop >= lastTop);
      lastTop = scrollTop;
      visible.measure(scroller);
      setAtEnd(isAtEnd.current);
    };
    const observer = new ResizeObserver(() => {
      takeOtherEntries();
      const { scrollTop } = scroller;
      // the scroll event of a reader who has just scrolled up arrives only after this
      if (isAtEnd.current && latestFollow.current && scrollTop >= lastTop) scroller.scrollTop = scroller.scrollHeight;
      if (scroller.scrollTop === scrollTop) visible.measure(scroller); // or else a scroll event follows
    });
    observer.observe(scroller);
    if (scroller.firstElementChild) observer.observe(scroller.firstElementChild);
    scroller.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      observer.disconnect();
      scroller.removeEventListener("scroll", onScroll);
    };
  }, []);
  const goToEnd = (): void => {
    isAtEnd.current = true;
    scrollToEnd(box);
  };
  const noteOtherEntries = (): void => {
    hasOtherEntries.current = true;
  };
  return { atEnd, visible, goToEnd, noteOtherEntries };
}

function scrollToEnd(box: ScrollBox): void {
  box.current?.scrollTo({ top: box.current.scrollHeight });
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
