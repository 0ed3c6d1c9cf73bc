/** Every panel with what was recorded of real runs, in both themes: `esbuild dev/panels.tsx --bundle --outfile=dev/built/panels.js`. */

import { type ComponentChildren, render } from "preact";
import { useState } from "preact/hooks";
import { BranchChips, BranchList } from "../src/panels/branches";
import { Breakpoints } from "../src/panels/breakpoints";
import { Compare } from "../src/panels/compare";
import { ExportMenu } from "../src/panels/export";
import { Minimap } from "../src/panels/minimap";
import { PicturesPanel } from "../src/panels/pictures";
import { RequestPanel } from "../src/panels/request";
import { SourcePanel } from "../src/panels/source";
import type { Pictures } from "../src/protocol";
import type { Store } from "../src/store";
import { fake, type Recorded } from "../test/panels/fake";
import edited from "./recorded/edited.json";
import samples from "./samples";

const record = edited as unknown as Recorded;
const quiet = fake(record, samples.answers, samples.head).store;
const refuse = (): never => {
  throw new Error("entry has no attribute 'res': write an expression of entry");
};
const refusing = fake(record, { break: refuse }, samples.head).store;
const nested = fake(record, {}, { ...samples.head, where: samples.nested }).store;
const over = fake(record, { source: samples.source }, { ...samples.head, where: [], status: "done" }).store;
const go = (): void => undefined;

function drawn(pictures: Partial<Pictures>): Store {
  const sample = fake(record);
  sample.pictures({ plan: [], episodes: [], tree: [], ...pictures });
  return sample.store;
}

function mapped(map: string): Store {
  const { store } = fake(record);
  store.trace.reset(0, map.length, [], map);
  return store;
}

function Shown({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <section>
      <h2>{name}</h2>
      {children}
    </section>
  );
}

function Sketch({ store, span }: { store: Store; span: number }) {
  const [first, setFirst] = useState(Math.floor(store.total / 3));
  return <Minimap store={store} first={first} last={first + span} go={setFirst} />;
}

const maps = [4, 80, 10_000].map((length) => mapped(samples.map(length)));
const pictures = drawn({ plan: samples.pictures.plan, episodes: samples.pictures.episodes });
const trees = [samples.pictures.tree, samples.forest(500)].map((tree) => drawn({ tree }));

function Gallery() {
  const card = quiet.cards.find((each) => each?.kind === "think");
  return (
    <main>
      <Shown name="request">
        <RequestPanel store={quiet} entry={{ id: samples.request.entry }} />
      </Shown>
      <Shown name="source">
        <SourcePanel store={quiet} />
      </Shown>
      <Shown name="source, nested with lanes">
        <SourcePanel store={nested} />
      </Shown>
      <Shown name="source of a run that is over">
        <SourcePanel store={over} />
      </Shown>
      <Shown name="breakpoints">
        <Breakpoints store={quiet} />
      </Shown>
      <Shown name="breakpoints, refused">
        <Breakpoints store={refusing} />
      </Shown>
      <Shown name="branches">
        {card && <BranchChips store={quiet} entry={{ ...card, siblings: [2, card.id, 99] }} />}
        <BranchList store={quiet} onCompare={go} />
      </Shown>
      <Shown name="comparison">
        <Compare store={quiet} branch={1} onClose={go} />
      </Shown>
      <Shown name="maps: 4, 80, 10,000">
        {maps.map((store) => (
          <p key={store.total}>
            <Sketch store={store} span={Math.ceil(store.total / 12)} />
          </p>
        ))}
      </Shown>
      <Shown name="export">
        <ExportMenu store={quiet} say={go} />
      </Shown>
      <Shown name="plan and episodes">
        <PicturesPanel store={pictures} go={go} />
      </Shown>
      {trees.map((store) => (
        <Shown key={store} name={`tree of ${store.pictures.tree.length}`}>
          <PicturesPanel store={store} go={go} />
        </Shown>
      ))}
    </main>
  );
}

const asked = new URLSearchParams(location.search);
for (const theme of (asked.get("theme") ?? "light dark").split(" ")) {
  const page = document.createElement("div");
  page.className = `ak-root ${theme}`;
  document.body.append(page);
  render(<Gallery />, page);
}
const only = asked.get("only");
if (only) {
  for (const section of document.querySelectorAll<HTMLElement>("main > section")) {
    if (!section.querySelector("h2")?.textContent?.startsWith(only)) section.remove();
  }
}
const press = asked.get("press");
if (press) {
  setTimeout(() => {
    for (const each of document.querySelectorAll<HTMLElement>(press)) each.click();
  }, 600);
}
