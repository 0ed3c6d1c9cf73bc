/** What a trace looks like as a whole: a plan, episodes, a tree of thoughts. Each part of a picture leads to its entry. */

import type { ComponentChildren, JSX } from "preact";
import type { Pictures } from "../protocol";
import type { Store } from "../store";
import { useOf } from "../use";
import { Button, count, Dim, Meter, Panel } from "./parts";
import { Tree } from "./tree";

/** Called with the id of an entry. */
type Go = (entry: number) => void;

/** Nothing, as long as there is nothing to draw. */
export function PicturesPanel({ store, go }: { store: Store; go: Go }): JSX.Element | null {
  const { plan, episodes, tree } = useOf(store, ({ pictures }) => pictures);
  if (!plan.length && !episodes.length && !tree.length) return null;
  return (
    <Panel name="progress" label="Pictures">
      {plan.length > 0 && <Plan plan={plan} go={go} />}
      {episodes.length > 0 && <Episodes episodes={episodes} go={go} />}
      {tree.length > 0 && <Tree tree={tree} go={go} />}
    </Panel>
  );
}

const SIGNS = { todo: "○", doing: "◐", done: "✓", failed: "✗", skipped: "–" };
const WORDS = { todo: "to do", doing: "in progress", done: "done", failed: "failed", skipped: "skipped" };

function Plan({ plan, go }: { plan: Pictures["plan"]; go: Go }): JSX.Element {
  const done = plan.filter((step) => step.state === "done").length;
  return (
    <section class="ak-progress-section" aria-label="Plan">
      <h3>
        Plan{" "}
        <Dim>
          {done} of {plan.length} done
        </Dim>
      </h3>
      <Meter part={done / plan.length} />
      <ol class="ak-plan">
        {plan.map((step, index) => (
          <li key={index} class={`ak-${step.state}`} aria-current={step.state === "doing" ? "step" : undefined}>
            <i aria-hidden="true">{SIGNS[step.state]}</i>
            <Leads entry={step.entry} go={go}>
              {step.text}
            </Leads>
            <span class="ak-badge">{WORDS[step.state] ?? step.state}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Episodes({ episodes, go }: { episodes: Pictures["episodes"]; go: Go }): JSX.Element {
  const best = Math.max(...episodes.map((episode) => episode.score ?? 0), 1e-9);
  return (
    <section class="ak-progress-section" aria-label="Episodes">
      <h3>
        Episodes <Dim>{episodes.length}</Dim>
      </h3>
      <ol class="ak-episodes">
        {episodes.map((episode) => (
          <li key={episode.number} class={episode.ok === null ? "" : episode.ok ? "ak-done" : "ak-failed"}>
            <Leads entry={episode.entry} go={go}>
              {episode.label}
            </Leads>
            {episode.ok !== null && <span class="ak-badge">{episode.ok ? "solved" : "not solved"}</span>}
            <Dim>{count(episode.entries, "entry", "entries")}</Dim>
            {episode.score !== null && (
              <span class="ak-score">
                <Meter part={episode.score / best} /> score {+episode.score.toFixed(2)}
              </span>
            )}
            {episode.lesson && (
              <p class="ak-lesson">
                <Dim>Lesson: </Dim>
                {episode.lesson}
              </p>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** A button that goes to an entry; where there is none yet, plain text. */
function Leads({ entry, go, children }: { entry: number; go: Go; children: ComponentChildren }): JSX.Element {
  return entry ? (
    <Button class="ak-link" onClick={() => go(entry)}>
      {children}
    </Button>
  ) : (
    <span class="ak-link">{children}</span>
  );
}
