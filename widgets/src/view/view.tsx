/** One view of a run. */

import type { JSX } from "preact";
import { useId, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { SUPPRESS_SHORTCUTS } from "../elements/controls";
import { Compare } from "../panels/compare";
import type { Action, MoveAction } from "../state/actions";
import { PAGE } from "../state/page";
import { actionFor, editsText } from "../state/shortcuts";
import type { Store } from "../state/store";
import { useStore } from "../state/useStore";
import { ViewState } from "../state/viewState";
import { Announcer } from "./announcer";
import { useKeptFocus } from "./focus";
import { Header } from "./header";
import { Help } from "./help";
import { MessageBox } from "./messageBox";
import { Notices } from "./notices";
import { Presentation, presented } from "./presentation";
import { SidePanel } from "./sidePanel";
import { Splitter, useSideWidth } from "./splitter";
import { Timeline } from "./timeline";
import { Toolbar } from "./toolbar";

/** The width in pixels from which on the side panel is beside the trace, as in the style sheet. */
const WIDE = 820;

interface ViewProps {
  store: Store;
  /** Save the notebook, if the host allows it: the notebook's own shortcut does not work inside the view. */
  save?: (() => void) | undefined;
}

export function View({ store, save }: ViewProps): JSX.Element {
  const view = useMemo(() => new ViewState(store), [store]);
  const root = useRef<HTMLDivElement>(null);
  const id = useId();
  const isSidePanelOpen = useStore(view, (v) => v.isSidePanelOpen);
  const isPanelBelow = useStore(view, (v) => v.isSidePanelOpen && !v.isWide);
  const comparison = useStore(view, (v) => v.comparison);
  const [sideWidth, setSideWidth] = useSideWidth();
  const hasSidePanel = isSidePanelOpen && !comparison;
  const isPresenting = useStore(PAGE, (page) => page.isPresenting);
  useKeptFocus(root);
  useLayoutEffect(() => {
    if (!root.current) return;
    const onWidth = (width: number): void => {
      const isWide = width >= WIDE;
      if (width > 0 && view.isWide !== isWide) view.set({ isWide });
    };
    onWidth(root.current.clientWidth);
    const observer = new ResizeObserver(([entry]) => onWidth(entry?.contentRect.width ?? 0));
    observer.observe(root.current);
    return () => observer.disconnect();
  }, [view]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s" && save) {
      event.preventDefault();
      save();
      return;
    }
    if (event.key === "Escape" && comparison) view.set({ comparison: 0 });
    else if (event.key === "Escape" && isPresenting) PAGE.present(false);
    const action = actionFor(event);
    if (action) {
      perform(action, view, root.current as HTMLElement);
      event.preventDefault();
    }
    // plain keys must not reach the notebook, nor must those that edit a text: VS Code would undo a change to a cell
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (isPlain || editsText(event)) event.stopPropagation();
  };
  return (
    // focusable, so that a click anywhere in the view makes the shortcuts work
    <div
      class={["ak-root", "ak-view", isPresenting && "ak-presenting", isPanelBelow && "ak-panel-below"]
        .filter(Boolean)
        .join(" ")}
      ref={root}
      tabIndex={-1}
      {...SUPPRESS_SHORTCUTS}
      role="region"
      aria-label="Agent run"
      onKeyDown={onKeyDown}
    >
      {!isPresenting && <Header store={store} />}
      {!isPresenting && <Toolbar store={store} view={view} />}
      <Notices store={store} view={view} />
      {isPresenting ? (
        <Presentation store={store} view={view} />
      ) : (
        <div class={hasSidePanel ? "ak-main ak-with-side" : "ak-main"} style={{ "--ak-side-width": `${sideWidth}%` }}>
          <div class="ak-column">
            {comparison ? (
              <Compare store={store} branch={comparison} onClose={() => view.set({ comparison: 0 })} />
            ) : (
              <Timeline store={store} view={view} />
            )}
            <MessageBox store={store} view={view} />
          </div>
          {hasSidePanel && <Splitter percent={sideWidth} set={setSideWidth} />}
          {hasSidePanel && <SidePanel store={store} view={view} id={id} />}
        </div>
      )}
      <Help view={view} />
      <Announcer store={store} />
    </div>
  );
}

function perform(action: Action, view: ViewState, root: HTMLElement): void {
  if (isMove(action) && PAGE.isPresenting) movePresentation(action, view);
  else if (isMove(action)) moveSelection(action, view, root);
  else view.perform(action, view.selected ? view.store.trace.find(view.selected) : undefined);
}

function isMove(action: Action): action is MoveAction {
  return ["next", "previous", "first", "last"].includes(action);
}

/** Present another entry; after the last one, what happens now. */
function movePresentation(action: MoveAction, view: ViewState): void {
  const last = view.store.total - 1;
  const n = presented(view.store, view)?.n ?? last + 1;
  const position = { next: n + 1, previous: n - 1, first: 0, last: last + 1 }[action];
  if (position > last) view.set({ selected: 0 });
  else void view.goToPosition(Math.max(0, position));
}

/** Select another one of the drawn entries, and give it the focus. */
function moveSelection(action: MoveAction, view: ViewState, root: HTMLElement): void {
  const entries = [...root.querySelectorAll<HTMLElement>("[data-entry]")];
  if (!entries.length) return;
  const last = entries.length - 1;
  const isLast = view.selected === view.store.cards[view.store.total - 1]?.id;
  if (action === "next" && isLast) {
    view.backToNow();
    root.focus({ preventScroll: true });
    return;
  }
  const selected = entries.findIndex((entry) => Number(entry.dataset.entry) === view.selected);
  // with nothing selected, both keys lead to the last entry
  const next = selected < 0 ? last : selected + 1;
  const previous = selected < 0 ? last : selected - 1;
  const index = Math.max(0, Math.min(last, { next, previous, first: 0, last }[action]));
  const entry = entries[index] as HTMLElement;
  view.set({ selected: Number(entry.dataset.entry) });
  entry.focus({ preventScroll: true });
  entry.scrollIntoView({ block: "nearest" });
}
