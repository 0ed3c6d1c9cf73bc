/** A hook that keeps an element of a scrolling box in sight. */

import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** Positions are fractions of pixels, and scrolling is not as exact. */
const TOLERANCE = 1;

/**
 * Scroll the element that matches `selector` into sight whenever `key` changes, and when its box or the element changes
 * its size, unless the reader has scrolled it away. An element that is higher than its box is seen from its top on.
 *
 * A resize observer is called first when it begins, and always right after a layout, so that reading forces none.
 * `scrollIntoView` would scroll the notebook too.
 */
export function useKeptInSight(box: RefObject<HTMLElement | null>, selector: string, key: string): void {
  useLayoutEffect(() => {
    const scroller = box.current;
    const element = scroller?.querySelector(selector);
    if (!scroller || !element) return;
    let isKept = true;
    let size = "";
    const currentSize = (): string =>
      [scroller.clientWidth, scroller.clientHeight, element.clientHeight, scroller.scrollHeight].join(" ");
    /** How far to scroll until the element is in the middle of the box; 0 if it is in sight. */
    const distance = (): number => {
      const top = element.getBoundingClientRect().top - scroller.getBoundingClientRect().top - scroller.clientTop;
      const room = Math.max(0, scroller.clientHeight - element.clientHeight);
      return top >= -TOLERANCE && top <= room + TOLERANCE ? 0 : top - room / 2;
    };
    const onScroll = (): void => {
      // what has just changed its size is the observer's
      if (currentSize() === size) isKept = distance() === 0;
    };
    const observer = new ResizeObserver(() => {
      size = currentSize();
      if (isKept) scroller.scrollTop += distance();
    });
    observer.observe(scroller);
    observer.observe(element);
    scroller.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      observer.disconnect();
      scroller.removeEventListener("scroll", onScroll);
    };
  }, [key]);
}
