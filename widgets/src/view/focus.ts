/** A hook that keeps the focus in a view. */

import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import { DEFAULT_DECISION } from "../cards/decisions";

type Root = RefObject<HTMLElement | null>;

/**
 * Keep the focus in the view when the focused element is removed, such as the button of a decision: otherwise the next
 * key press would go to the notebook.
 */
export function useKeptFocus(root: Root): void {
  useEffect(() => {
    const view = root.current;
    if (!view) return;
    let focused: Element | null = null;
    const onFocusIn = (event: FocusEvent): void => {
      focused = event.target as Element;
    };
    // a focused element that is still there after this has given the focus away on purpose
    const onFocusOut = ({ target }: FocusEvent): void =>
      queueMicrotask(() => {
        if (focused === target && view.contains(focused)) focused = null;
      });
    const observer = new MutationObserver(() => {
      if (!focused || view.contains(focused)) return;
      focused = null;
      const { activeElement } = view.getRootNode() as Document | ShadowRoot;
      if (activeElement && activeElement !== document.body) return;
      const target = view.querySelector<HTMLElement>(DEFAULT_DECISION) ?? view;
      target.focus({ preventScroll: true });
    });
    observer.observe(view, { childList: true, subtree: true });
    view.addEventListener("focusin", onFocusIn);
    view.addEventListener("focusout", onFocusOut);
    return () => {
      observer.disconnect();
      view.removeEventListener("focusin", onFocusIn);
      view.removeEventListener("focusout", onFocusOut);
    };
  }, []);
}
