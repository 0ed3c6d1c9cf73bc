/** What is looked at beside the trace: the engine's source, a request, breakpoints, branches, pictures. */

import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { Button } from "./controls";
import { BranchList } from "./panels/branches";
import { Breakpoints } from "./panels/breakpoints";
import { moved } from "./panels/parts";
import { PicturesPanel } from "./panels/pictures";
import { RequestPanel } from "./panels/request";
import { SourcePanel } from "./panels/source";
import type { Store } from "./store";
import { goToEntry } from "./timeline";
import type { Tab, Ui } from "./ui";
import { useOf } from "./use";

const NAMES: { [tab in Tab]: string } = {
  source: "Source",
  request: "Request",
  breakpoints: "Breakpoints",
  branches: "Branches",
  pictures: "Pictures",
};

export function Side({ store, ui, id }: { store: Store; ui: Ui; id: string }): JSX.Element {
  const chosen = useOf(ui, (u) => u.tab);
  const pictures = useOf(store, (s) => s.pictures);
  const branches = useOf(store, (s) => s.head.branches);
  const points = useOf(store, (s) => s.head.breakpoints.length);
  const list = useRef<HTMLDivElement>(null);
  const drawn = pictures.plan.length + pictures.episodes.length + pictures.tree.length > 0;
  const tabs = (Object.keys(NAMES) as Tab[]).filter((tab) =>
    tab === "pictures" ? drawn : tab === "branches" ? branches > 1 : true,
  );
  const tab = tabs.includes(chosen) ? chosen : "source";
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = moved(event.key, tabs.indexOf(tab), tabs.length, "ArrowLeft", "ArrowRight");
    if (to === undefined) return;
    event.preventDefault();
    ui.set({ tab: tabs[to] as Tab });
    (list.current?.children[to] as HTMLElement | undefined)?.focus();
  };
  return (
    <aside class="ak-side" aria-label="Panels">
      <div class="ak-tabs ak-side-tabs" role="tablist" aria-label="Panels" ref={list} onKeyDown={onKeyDown}>
        {tabs.map((each) => (
          <Button
            key={each}
            role="tab"
            id={`${id}-${each}`}
            aria-selected={each === tab}
            aria-controls={`${id}-panel`}
            tabIndex={each === tab ? 0 : -1}
            onClick={() => ui.set({ tab: each })}
          >
            {NAMES[each]}
            {each === "breakpoints" && points > 0 && <span class="ak-count">{points}</span>}
            {each === "branches" && <span class="ak-count">{branches}</span>}
          </Button>
        ))}
      </div>
      <div class="ak-side-panel" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${tab}`}>
        {store.ready && <Panel store={store} ui={ui} tab={tab} />}
      </div>
    </aside>
  );
}

function Panel({ store, ui, tab }: { store: Store; ui: Ui; tab: Tab }): JSX.Element {
  const go = (entry: number): void => void goToEntry(store, ui, entry);
  if (tab === "request") return <Request store={store} ui={ui} />;
  if (tab === "breakpoints") return <Breakpoints store={store} />;
  if (tab === "branches") return <BranchList store={store} onCompare={(branch) => ui.set({ comparing: branch })} />;
  if (tab === "pictures") return <PicturesPanel store={store} go={go} />;
  return <SourcePanel store={store} />;
}

/** The request that was asked for; else that of the last thought that is known here. */
function Request({ store, ui }: { store: Store; ui: Ui }): JSX.Element {
  const chosen = useOf(ui, (u) => u.request);
  const entry = useOf(store, (s) => (chosen && s.trace.find(chosen) ? chosen : lastThought(s)));
  if (!entry) return <p class="ak-empty">No model was called yet.</p>;
  const n = store.trace.find(entry)?.n;
  return (
    <>
      <p class="ak-muted ak-request-title">
        Request of entry {n}
        {entry !== chosen && ", the last one"}
      </p>
      <RequestPanel store={store} entry={{ id: entry }} />
    </>
  );
}

function lastThought({ cards }: Store): number {
  for (let n = cards.length - 1; n >= 0; n--) if (cards[n]?.kind === "think") return cards[n]?.id ?? 0;
  return 0;
}
