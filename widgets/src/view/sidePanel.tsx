/** The panels beside the trace: the engine's source, a request, breakpoints, branches, progress, the profile. */

import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { Button, SUPPRESS_SHORTCUTS } from "../elements/controls";
import { indexAfterKey } from "../elements/tabs";
import { AuditTrail } from "../panels/audit";
import { BranchList } from "../panels/branches";
import { Breakpoints } from "../panels/breakpoints";
import { ProfilePanel } from "../panels/profile";
import { hasProgress, ProgressPanel } from "../panels/progress";
import { RequestPanel } from "../panels/request";
import { SourcePanel } from "../panels/source";
import { isOffered } from "../state/actions";
import { useMoment, useSelectedCard } from "../state/moment";
import type { Store } from "../state/store";
import { useStore } from "../state/useStore";
import type { Tab, ViewState } from "../state/viewState";

const LABELS: { [tab in Tab]: string } = {
  source: "Source",
  request: "Request",
  breakpoints: "Breakpoints",
  branches: "Branches",
  progress: "Progress",
  profile: "Profile",
  audit: "Audit",
};

interface SidePanelProps {
  store: Store;
  view: ViewState;
  /** A prefix for the ids of the elements. */
  id: string;
}

export function SidePanel({ store, view, id }: SidePanelProps): JSX.Element {
  const chosen = useStore(view, (v) => v.tab);
  const pictures = useStore(store, (s) => s.pictures);
  const branches = useStore(store, (s) => s.head.branches);
  const breakpoints = useStore(store, (s) => s.head.breakpoints.length);
  const audit = useStore(store, (s) => s.head.audit);
  const list = useRef<HTMLDivElement>(null);
  const hasSource = useStore(store, (s) => isOffered(s, "inside"));
  const isShown = (tab: Tab): boolean =>
    (tab !== "source" || hasSource) &&
    (tab !== "progress" || hasProgress(pictures)) &&
    (tab !== "branches" || branches > 1) &&
    (tab !== "audit" || !!audit);
  const tabs = (Object.keys(LABELS) as Tab[]).filter(isShown);
  const open = tabs.includes(chosen) ? chosen : (tabs[0] as Tab);
  const onKeyDown = (event: KeyboardEvent): void => {
    const index = indexAfterKey(event.key, tabs.indexOf(open), tabs.length, "ArrowLeft", "ArrowRight");
    if (index === undefined) return;
    event.preventDefault();
    view.set({ tab: tabs[index] as Tab });
    (list.current?.children[index] as HTMLElement | undefined)?.focus();
  };
  return (
    <aside class="ak-side" aria-label="Side panel">
      <div class="ak-tabs ak-side-tabs" role="tablist" aria-label="Panels" ref={list} onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <Button
            key={tab}
            role="tab"
            id={`${id}-${tab}`}
            aria-selected={tab === open}
            aria-controls={`${id}-panel`}
            tabIndex={tab === open ? 0 : -1}
            onClick={() => view.set({ tab })}
          >
            {LABELS[tab]}
            {tab === "breakpoints" && breakpoints > 0 && <span class="ak-count">{breakpoints}</span>}
            {tab === "branches" && <span class="ak-count">{branches}</span>}
          </Button>
        ))}
      </div>
      <div
        {...SUPPRESS_SHORTCUTS}
        class="ak-side-panel"
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${open}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a panel without buttons is scrolled with the keyboard, too
        tabIndex={0}
      >
        {store.ready && <TabPanel store={store} view={view} tab={open} />}
      </div>
    </aside>
  );
}

function TabPanel({ store, view, tab }: { store: Store; view: ViewState; tab: Tab }): JSX.Element {
  if (tab === "request") return <SelectedRequest store={store} view={view} />;
  if (tab === "breakpoints") return <Breakpoints store={store} />;
  if (tab === "branches") return <BranchList store={store} onCompare={(comparison) => view.set({ comparison })} />;
  if (tab === "audit") return <AuditTrail store={store} />;
  if (tab === "profile") return <ProfilePanel store={store} goTo={(entry) => void view.goToEntry(entry)} />;
  if (tab === "progress") return <ProgressPanel store={store} goTo={(entry) => void view.goToEntry(entry)} />;
  return <SelectedSource store={store} view={view} />;
}

/** The source at the step of the selected entry, or else where the engine is now. */
export function SelectedSource({ store, view }: { store: Store; view: ViewState }): JSX.Element {
  const selected = useSelectedCard(store, view);
  return <SourcePanel store={store} moment={useMoment(view, selected?.id ?? 0)} />;
}

/** The request of the selected model call or of the last one before, or else the latest one. */
function SelectedRequest({ store, view }: { store: Store; view: ViewState }): JSX.Element {
  const selected = useSelectedCard(store, view);
  const entry = useStore(store, (s) => lastThought(s, selected?.n ?? s.total - 1));
  if (!entry) return <p class="ak-empty">No model calls yet.</p>;
  return (
    <>
      <p class="ak-muted ak-request-title">
        Request of entry {store.trace.find(entry)?.n}
        {!selected ? " (latest)" : selected.id !== entry && `, the last before entry ${selected.n}`}
      </p>
      <RequestPanel store={store} entry={entry} />
    </>
  );
}

/** Return the id of the last loaded thought up to a position, or 0. */
function lastThought({ cards }: Store, last: number): number {
  for (let n = last; n >= 0; n--) if (cards[n]?.kind === "think") return cards[n]?.id ?? 0;
  return 0;
}
