/** All branches of the tree of runs, to switch to one or to compare one with the current branch. */

import type { JSX } from "preact";
import { Button } from "../elements/controls";
import { count } from "../elements/format";
import { ErrorMessage, Muted, Note } from "../elements/text";
import { isOffered } from "../state/actions";
import type { Store } from "../state/store";
import { useCommand, useHead, useQuery, useStore } from "../state/useStore";
import { Panel } from "./panel";

interface BranchListProps {
  store: Store;
  onCompare: (branch: number) => void;
}

export function BranchList({ store, onCompare }: BranchListProps): JSX.Element {
  const { branches, status } = useHead(store);
  const [execute, refusal] = useCommand(store);
  const maySwitch = useStore(store, (s) => isOffered(s, "change"));
  // query again when there is a new branch or the run has paused, but not at each step of a playing run
  const lastEntry = status === "running" ? "" : store.cards[store.cards.length - 1]?.id;
  const { value = [], error = refusal } = useQuery(store, `${branches} ${status} ${lastEntry}`, { cmd: "branches" });
  return (
    <Panel name="branches" label="Branches">
      <ul class="ak-list">
        {value.map(({ branch, name, steps, last, entry }) => (
          <li key={branch} aria-current={branch ? undefined : "true"}>
            <span>
              <b>{branch ? `Branch ${branch}` : "Current branch"}</b>
              {name && `: ${name}`} <Muted>{count(steps, "step")}</Muted>
              <span class="ak-ellipsis">{last}</span>
            </span>
            {branch > 0 && (
              <>
                <Button
                  aria-label={`Compare with branch ${branch}`}
                  title={`Compare with: ${name}`}
                  onClick={() => onCompare(branch)}
                >
                  Compare
                </Button>
                {maySwitch && (
                  <Button
                    aria-label={`Switch to branch ${branch}`}
                    title={`Switch to: ${name}`}
                    onClick={() => void execute({ cmd: "switch", entry })}
                  >
                    Switch
                  </Button>
                )}
              </>
            )}
          </li>
        ))}
      </ul>
      {value.length === 1 && (
        <Note>Only one branch so far. If you edit an entry, go back or try again, another one begins.</Note>
      )}
      <ErrorMessage text={error} />
    </Panel>
  );
}
