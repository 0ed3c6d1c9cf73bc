/** The lines of a tree of runs: chips where there is a choice, and a list of them all. */

import type { JSX } from "preact";
import type { Branch, Card } from "../protocol";
import type { Store } from "../store";
import { Button, count, Dim, Note, Panel, Refusal, useAsked, useHead, useTold } from "./parts";

export function BranchChips({ store, entry }: { store: Store; entry: Card }): JSX.Element | null {
  const [tell, refused] = useTold(store);
  const { siblings = [] } = entry;
  const at = siblings.indexOf(entry.id);
  if (siblings.length < 2 || at < 0) return null;
  const chip = (sign: string, label: string, to: number | undefined): JSX.Element => (
    <Button
      aria-label={label}
      title={label}
      disabled={to === undefined}
      onClick={() => to !== undefined && tell({ cmd: "switch", entry: to })}
    >
      {sign}
    </Button>
  );
  return (
    <span class="ak-branch-switcher" role="group" aria-label={`Branch ${at + 1} of ${siblings.length}`}>
      {chip("‹", "Branch before", siblings[at - 1])}
      <span>
        {at + 1}/{siblings.length}
      </span>
      {chip("›", "Next branch", siblings[at + 1])}
      <Refusal text={refused} />
    </span>
  );
}

export function BranchList({ store, onCompare }: { store: Store; onCompare: (branch: number) => void }): JSX.Element {
  const { branches, status } = useHead(store);
  const [tell, refused] = useTold(store);
  // asked again when a line came or the run came to rest, not at each step of one that plays
  const key = `${branches} ${status} ${status === "running" ? "" : store.cards[store.cards.length - 1]?.id}`;
  const { value = [], error } = useAsked<Branch[]>(store, key, { cmd: "branches" });
  return (
    <Panel name="branches" label="Branches">
      <ul class="ak-list">
        {value.map((each) => (
          <li key={each.branch} aria-current={each.branch ? undefined : "true"}>
            <span class="ak-branch-what">
              <b>{each.branch ? `Branch ${each.branch}` : "Here"}</b>{" "}
              <Dim>
                {count(each.steps, "step")}
                {each.branch ? `, leaves at ${each.parts}` : ""}
              </Dim>
              <span class="ak-ellipsis">{each.last}</span>
            </span>
            {each.branch > 0 && (
              <>
                <Button aria-label={`Compare with branch ${each.branch}`} onClick={() => onCompare(each.branch)}>
                  Compare
                </Button>
                <Button aria-label={`Switch to branch ${each.branch}`} onClick={() => tell({ cmd: "switch", entry: each.entry })}>
                  Switch
                </Button>
              </>
            )}
          </li>
        ))}
      </ul>
      {value.length === 1 && <Note>One line so far. An edit, a retry or a step back begins another.</Note>}
      <Refusal text={error ?? refused} />
    </Panel>
  );
}
