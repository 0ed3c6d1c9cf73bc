/** One view of a run. */

import type { JSX } from "preact";
import { useEffect, useId, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Announcer } from "./announce";
import { Header } from "./header";
import { Help } from "./help";
import { Inject } from "./inject";
import { type Verb, verbOf } from "./keys";
import { Notices } from "./notices";
import { Compare } from "./panels/compare";
import { QUIET } from "./panels/parts";
import { Side } from "./side";
import type { Store } from "./store";
import { Timeline } from "./timeline";
import { Toolbar } from "./toolbar";
import { Ui } from "./ui";
import { useOf } from "./use";

/** Pixels from which on the panels stand beside the trace. */
const WIDE = 820;

interface ViewProps {
  store: Store;
  /** Save the notebook, where the page allows it: its own shortcut does not reach it from in here. */
  save?: (() => void) | undefined;
}

export function View({ store, save }: ViewProps): JSX.Element {
  const ui = useMemo(() => new Ui(store), [store]);
  const root = useRef<HTMLDivElement>(null);
  const id = useId();
  const beside = useOf(ui, (u) => u.beside);
  const comparing = useOf(ui, (u) => u.comparing);
  useHeld(store, root);
  useKeptFocus(root);
  useLayoutEffect(() => {
    if (!root.current) return;
    const look = (width: number): void => void (width > 0 && ui.wide !== width >= WIDE && ui.set({ wide: width >= WIDE }));
    look(root.current.clientWidth);
    const observer = new ResizeObserver(([entry]) => look(entry?.contentRect.width ?? 0));
    observer.observe(root.current);
    return () => observer.disconnect();
  }, [ui]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s" && save) {
      event.preventDefault();
      save();
      return;
    }
    if (event.key === "Escape" && comparing) ui.set({ comparing: 0 });
    const verb = verbOf(event);
    if (verb) {
      act(verb, ui, root.current as HTMLElement);
      event.preventDefault();
    }
    // what is typed in here is meant for nothing around it
    if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
  };
  return (
    // a click anywhere in the view gives it the focus, and with it the keys
    <div class="ak-root" ref={root} tabIndex={-1} {...QUIET} role="region" aria-label="Agent run" onKeyDown={onKeyDown}>
      <Header store={store} />
      <Toolbar store={store} ui={ui} />
      <Notices store={store} ui={ui} />
      <div class={beside ? "ak-main ak-with-side" : "ak-main"}>
        <div class="ak-column">
          {comparing ? (
            <Compare store={store} branch={comparing} onClose={() => ui.set({ comparing: 0 })} />
          ) : (
            <Timeline store={store} ui={ui} />
          )}
          <Inject store={store} ui={ui} />
        </div>
        {beside && <Side store={store} ui={ui} id={id} />}
      </div>
      <Help ui={ui} />
      <Announcer store={store} />
    </div>
  );
}

function act(verb: Verb, ui: Ui, root: HTMLElement): void {
  if (["next", "previous", "first", "last"].includes(verb)) move(verb, ui, root);
  else ui.perform(verb, ui.current ? ui.store.trace.find(ui.current) : undefined);
}

/** Move the focus from entry to entry. */
function move(verb: Verb, ui: Ui, root: HTMLElement): void {
  const entries = [...root.querySelectorAll<HTMLElement>("[data-entry]")];
  if (!entries.length) return;
  const end = entries.length - 1;
  const at = entries.findIndex((entry) => Number(entry.dataset.entry) === ui.current);
  const from = at < 0 ? end + (verb === "next" ? 0 : 1) : at;
  const to = { next: from + 1, previous: from - 1, first: 0, last: end }[verb as "next" | "previous" | "first" | "last"];
  const entry = entries[Math.max(0, Math.min(end, to))] as HTMLElement;
  ui.set({ current: Number(entry.dataset.entry) });
  entry.focus({ preventScroll: true });
  entry.scrollIntoView({ block: "nearest" });
}

/**
 * Keep the focus in the view when what had it goes away, such as the button of a decision that was taken: the next key
 * would otherwise go to the notebook.
 */
function useKeptFocus(root: { current: HTMLElement | null }): void {
  useEffect(() => {
    const view = root.current;
    if (!view) return;
    let last: Element | null = null;
    const came = (event: FocusEvent): void => {
      last = event.target as Element;
    };
    // whoever left what is still there went somewhere else, and maybe to what is in here: that is known by then
    const left = ({ target }: FocusEvent): void =>
      queueMicrotask(() => {
        if (last === target && view.contains(last)) last = null;
      });
    const changed = new MutationObserver(() => {
      if (!last || view.contains(last)) return;
      last = null;
      const { activeElement } = view.getRootNode() as Document | ShadowRoot;
      if (!activeElement || activeElement === document.body) view.focus({ preventScroll: true });
    });
    changed.observe(view, { childList: true, subtree: true });
    view.addEventListener("focusin", came);
    view.addEventListener("focusout", left);
    return () => {
      changed.disconnect();
      view.removeEventListener("focusin", came);
      view.removeEventListener("focusout", left);
    };
  }, []);
}

/** Tell the store whether a person is at this view, and when they have left it. */
function useHeld(store: Store, root: { current: HTMLElement | null }): void {
  useEffect(() => {
    const element = root.current;
    if (!element) return;
    const leave = store.add(() => element.isConnected && element.matches(":hover, :focus-within"));
    const left = (): void => void setTimeout(() => store.settle(false), 300);
    element.addEventListener("pointerleave", left);
    element.addEventListener("focusout", left);
    return () => {
      element.removeEventListener("pointerleave", left);
      element.removeEventListener("focusout", left);
      leave();
    };
  }, [store]);
}
