/** A hook that keeps an element of a scrolling box in sight. */

import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/**
 * Scroll the element that matches `selector` into sight whenever `key` changes, and when its box changes its size, unless
 * the reader has scrolled it away.
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
    let height = 0;
    /** How far below the top of the box the element is; undefined if it is in sight. */
    const distance = (): number | undefined => {
      const [outer, inner] = [scroller.getBoundingClientRect(), element.getBoundingClientRect()];
      return inner.top >= outer.top && inner.bottom <= outer.bottom ? undefined : inner.top - outer.top;
    };
    const onScroll = (): void => {
      // a box that has just changed its size is the observer's
      if (scroller.clientHeight === height) isKept = distance() === undefined;
    };
    const observer = new ResizeObserver(() => {
      height = scroller.clientHeight;
      const below = distance();
      if (isKept && below !== undefined) scroller.scrollTop += below - height / 2;
    });
    observer.observe(scroller);
    scroller.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      observer.disconnect();
      scroller.removeEventListener("scroll", onScroll);
    };
  }, [key]);
}
