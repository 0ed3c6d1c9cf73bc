/** How far a run has got, as its engine tags it: a plan, episodes, a tree of thoughts. Each item leads to its entry. */

import type { ComponentChildren, JSX } from "preact";
import { Button } from "../elements/controls";
import { count } from "../elements/format";
import { Meter, Muted } from "../elements/text";
import type { Pictures } from "../protocol";
import type { Store } from "../state/store";
import { useStore } from "../state/useStore";
import { Panel } from "./panel";
import { PlanGraph } from "./planGraph";
import { STATE_LABELS, STATE_SIGNS } from "./planStates";
import { Tree } from "./tree";

type GoTo = (entry: number) => void;

export function hasProgress({ plan, episodes, tree }: Pictures): boolean {
  return plan.length + episodes.length + tree.length > 0;
}

export function ProgressPanel({ store, goTo }: { store: Store; goTo: GoTo }): JSX.Element | null {
  const pictures = useStore(store, (s) => s.pictures);
  const { plan, episodes, tree } = pictures;
  if (!hasProgress(pictures)) return null;
  return (
    <Panel name="progress" label="Progress">
      {plan.length > 0 && <Plan plan={plan} goTo={goTo} />}
      {episodes.length > 0 && <Episodes episodes={episodes} goTo={goTo} />}
      {tree.length > 0 && <Tree tree={tree} goTo={goTo} />}
    </Panel>
  );
}

function Plan({ plan, goTo }: { plan: Pictures["plan"]; goTo: GoTo }): JSX.Element {
  const done = plan.filter((step) => step.state === "done").length;
  return (
    <section class="ak-progress-section" aria-label="Plan">
      <h3>
        Plan{" "}
        <Muted>
          {done} of {plan.length} done
        </Muted>
      </h3>
      <Meter value={done / plan.length} />
      <PlanGraph plan={plan} />
      <ol class="ak-plan">
        {plan.map(({ text, state, entry, needs = [] }, index) => (
          <li key={index} class={`ak-${state}`} aria-current={state === "doing" ? "step" : undefined}>
            <i aria-hidden="true">{STATE_SIGNS[state]}</i>
            <EntryLink entry={entry} goTo={goTo}>
              {text}
            </EntryLink>
            {needs.length > 0 && (
              <Muted>
                step {index + 1}, after {needs.join(", ")}
              </Muted>
            )}
            <span class="ak-badge">{STATE_LABELS[state] ?? state}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Episodes({ episodes, goTo }: { episodes: Pictures["episodes"]; goTo: GoTo }): JSX.Element {
  const best = Math.max(...episodes.map(({ score }) => score ?? 0), 1e-9);
  return (
    <section class="ak-progress-section" aria-label="Episodes">
      <h3>
        Episodes <Muted>{episodes.length}</Muted>
      </h3>
      <ol class="ak-episodes">
        {episodes.map(({ number, label, ok, score, lesson, entry, entries }) => (
          <li key={number} class={ok === null ? "" : ok ? "ak-done" : "ak-failed"}>
            <EntryLink entry={entry} goTo={goTo}>
              {label}
            </EntryLink>
            {ok !== null && <span class="ak-badge">{ok ? "solved" : "not solved"}</span>}
            <Muted>{count(entries, "entry", "entries")}</Muted>
            {score !== null && (
              <span>
                <Meter value={score / best} /> score {+score.toFixed(2)}
              </span>
            )}
            {lesson && (
              <p class="ak-lesson">
                <Muted>Lesson: </Muted>
                {lesson}
              </p>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** A button that goes to an entry; plain text as long as there is no entry. */
function EntryLink(props: { entry: number; goTo: GoTo; children: ComponentChildren }): JSX.Element {
  const { entry, goTo, children } = props;
  return entry ? (
    <Button class="ak-link" onClick={() => goTo(entry)}>
      {children}
    </Button>
  ) : (
    <span class="ak-link">{children}</span>
  );
}
