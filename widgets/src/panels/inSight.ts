/** A hook that keeps an element of a scrolling box in sight. */

import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/**
 * Scroll the element that matches `selector` into sight whenever `key` changes, and when its box becomes smaller.
 *
 * An observer is told after the layout, so that this forces none. `scrollIntoView` would scroll the notebook too.
 */
export function useKeptInSight(box: RefObject<HTMLElement | null>, selector: string, key: string): void {
  useLayoutEffect(() => {
    const element = box.current?.querySelector(selector);
    if (!element) return;
    let height: number | undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        const { boundingClientRect, intersectionRatio, rootBounds } = entries[
          entries.length - 1
        ] as IntersectionObserverEntry;
        // if the box has its height as before, the reader has scrolled
        if (!rootBounds || rootBounds.height === height) return;
        height = rootBounds.height;
        if (intersectionRatio < 1) box.current?.scrollBy(0, boundingClientRect.top - rootBounds.top - height / 2);
      },
      { root: box.current, threshold: [0, 1] },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [key]);
}
