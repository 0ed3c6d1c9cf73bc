/** ‹ 2/3 › on an entry that has siblings: go to the previous or the next branch. */

import type { JSX } from "preact";
import { Button } from "../elements/controls";
import { ErrorMessage } from "../elements/text";
import type { Card } from "../protocol";
import { isOffered } from "../state/actions";
import type { Store } from "../state/store";
import { useCommand, useStore } from "../state/useStore";

export function BranchSwitcher({ store, card }: { store: Store; card: Card }): JSX.Element | null {
  const [execute, error] = useCommand(store);
  const maySwitch = useStore(store, (s) => isOffered(s, "change"));
  const { siblings = [], beside = ["", ""] } = card;
  const index = siblings.indexOf(card.id);
  if (siblings.length < 2 || index < 0) return null;
  const button = (sign: string, label: string, name: string, entry: number | undefined): JSX.Element => (
    <Button
      aria-label={label}
      title={name && `${label}: ${name}`}
      disabled={entry === undefined}
      onClick={() => entry !== undefined && void execute({ cmd: "switch", entry })}
    >
      {sign}
    </Button>
  );
  return (
    <span class="ak-branch-switcher" role="group" aria-label={`Branch ${index + 1} of ${siblings.length}`}>
      {maySwitch && button("‹", "Previous branch", beside[0], siblings[index - 1])}
      <span>
        {index + 1}/{siblings.length}
      </span>
      {maySwitch && button("›", "Next branch", beside[1], siblings[index + 1])}
      <ErrorMessage text={error} />
    </span>
  );
}
