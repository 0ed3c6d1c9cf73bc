/** Every panel in both themes, with data of recorded runs: `?theme=dark&only=tree&press=button`. */

import { type ComponentChildren, render } from "preact";
import { useState } from "preact/hooks";
import { BranchSwitcher } from "../src/cards/branchSwitcher";
import { BranchList } from "../src/panels/branches";
import { Breakpoints } from "../src/panels/breakpoints";
import { Compare } from "../src/panels/compare";
import { ProgressPanel } from "../src/panels/progress";
import { RequestPanel } from "../src/panels/request";
import { SourcePanel } from "../src/panels/source";
import type { Pictures } from "../src/protocol";
import type { Store } from "../src/state/store";
import { ViewState } from "../src/state/viewState";
import { ExportMenu } from "../src/view/exportMenu";
import { Slider } from "../src/view/slider";
import { fakeKernel, type Recording } from "../test/support/fakeKernel";
import edited from "./recorded/edited.json";
import samples from "./samples";

const recording = edited as unknown as Recording;
const usual = fakeKernel(recording, samples.answers, samples.head).store;
const refuse = (): never => {
  throw new Error("entry has no attribute 'res': write an expression of entry");
};
const refusing = fakeKernel(recording, { break: refuse }, samples.head).store;
const nested = fakeKernel(recording, {}, { ...samples.head, where: samples.nested }).store;
const finished = fakeKernel(
  recording,
  { source: samples.source },
  { ...samples.head, where: [], status: "done" },
).store;
const ignore = (): void => undefined;

function withPictures(pictures: Partial<Pictures>): Store {
  const kernel = fakeKernel(recording);
  kernel.pictures({ plan: [], episodes: [], tree: [], ...pictures });
  return kernel.store;
}

function withMap(map: string): Store {
  const { store } = fakeKernel(recording);
  store.trace.reset(0, map.length, [], map);
  return store;
}

function Sample({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <section>
      <h2>{name}</h2>
      {children}
    </section>
  );
}

function MovableSlider({ store, span }: { store: Store; span: number }) {
  const [view] = useState(() => new ViewState(store));
  const first = Math.floor(store.total / 3);
  return <Slider store={store} view={view} first={first} last={first + span} />;
}

const maps = [4, 80, 10_000].map((length) => withMap(samples.map(length)));
const pictures = withPictures({ plan: samples.pictures.plan, episodes: samples.pictures.episodes });
const trees = [samples.pictures.tree, samples.forest(500)].map((tree) => withPictures({ tree }));

function Gallery() {
  const card = usual.cards.find((each) => each?.kind === "think");
  return (
    <main>
      <Sample name="request">
        <RequestPanel store={usual} entry={samples.request.entry} />
      </Sample>
      <Sample name="source">
        <SourcePanel store={usual} />
      </Sample>
      <Sample name="source, nested with lanes">
        <SourcePanel store={nested} />
      </Sample>
      <Sample name="source of a finished run">
        <SourcePanel store={finished} />
      </Sample>
      <Sample name="breakpoints">
        <Breakpoints store={usual} />
      </Sample>
      <Sample name="breakpoints, refused">
        <Breakpoints store={refusing} />
      </Sample>
      <Sample name="branches">
        {card && <BranchSwitcher store={usual} card={{ ...card, siblings: [2, card.id, 99] }} />}
        <BranchList store={usual} onCompare={ignore} />
      </Sample>
      <Sample name="comparison">
        <Compare store={usual} branch={1} onClose={ignore} />
      </Sample>
      <Sample name="time sliders: 4, 80, 10,000">
        {maps.map((store) => (
          <p key={store.total}>
            <MovableSlider store={store} span={Math.ceil(store.total / 12)} />
          </p>
        ))}
      </Sample>
      <Sample name="export">
        <ExportMenu store={usual} onNotice={ignore} />
      </Sample>
      <Sample name="plan and episodes">
        <ProgressPanel store={pictures} goTo={ignore} />
      </Sample>
      {trees.map((store) => (
        <Sample key={store} name={`tree of ${store.pictures.tree.length}`}>
          <ProgressPanel store={store} goTo={ignore} />
        </Sample>
      ))}
    </main>
  );
}

const query = new URLSearchParams(location.search);
for (const theme of (query.get("theme") ?? "light dark").split(" ")) {
  const page = document.createElement("div");
  page.className = `ak-root ${theme}`;
  document.body.append(page);
  render(<Gallery />, page);
}
const only = query.get("only");
if (only) {
  for (const section of document.querySelectorAll<HTMLElement>("main > section")) {
    if (!section.querySelector("h2")?.textContent?.startsWith(only)) section.remove();
  }
}
const press = query.get("press");
if (press) {
  setTimeout(() => {
    for (const each of document.querySelectorAll<HTMLElement>(press)) each.click();
  }, 600);
}
