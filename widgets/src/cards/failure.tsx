/** The error that stopped a run, and the ways to continue. */

import type { JSX } from "preact";
import { ToolButton } from "../elements/controls";
import { Muted } from "../elements/text";
import { isEnabled, isOffered } from "../state/actions";
import type { Store } from "../state/store";
import { useHead, useStore } from "../state/useStore";
import type { ViewState } from "../state/viewState";

export function Failure({ store, view }: { store: Store; view: ViewState }): JSX.Element | null {
  const { error, status, pending } = useHead(store);
  const disabled = useStore(store, (s) => !isEnabled(s, "play"));
  const mayRetry = useStore(store, (s) => isOffered(s, "change"));
  if (!error || status !== "failed") return null;
  return (
    <section class="ak-card ak-failure" role="group" aria-label="Error">
      <p>
        <strong>{error.type}</strong> <span class="ak-text">{error.text}</span>
      </p>
      {!mayRetry ? null : pending.length ? (
        <div class="ak-buttons">
          <ToolButton
            label="Retry and run"
            class="ak-primary"
            title="Run the failed step again, then continue"
            disabled={disabled}
            onClick={() => view.perform("play")}
          />
          <ToolButton
            label="Retry step"
            title="Run only the failed step again"
            disabled={disabled}
            onClick={() => view.perform("step")}
          />
          <Muted>You can also enter its result, or edit an earlier entry.</Muted>
        </div>
      ) : (
        <Muted>Fix the engine and resume the run, or edit an entry.</Muted>
      )}
    </section>
  );
}
