/** The temperature of the next requests, for models that take one. */

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Button, SUPPRESS_SHORTCUTS } from "../elements/controls";
import { Muted } from "../elements/text";
import { isEnabled } from "../state/actions";
import { newest } from "../state/newest";
import { isRunning } from "../state/status";
import type { Store } from "../state/store";
import { useStore } from "../state/useStore";
import type { ViewState } from "../state/viewState";

/** As in agentkit/models/base.py. */
const MAX_TEMPERATURE = 2;

interface TemperatureProps {
  store: Store;
  view: ViewState;
  /** The temperature if the run sets none: null if it is not known, undefined if the model takes no temperature. */
  own: number | null | undefined;
}

export function Temperature({ store, view, own }: TemperatureProps): JSX.Element | null {
  const canChange = useStore(store, (s) => isEnabled(s, "edit") && !isRunning(s));
  const value = useStore(store, (s) => s.head.temperature);
  const [moved, setMoved] = useState<number>();
  const set = useMemo(
    () =>
      newest(async (value: number | null) => {
        await view.execute({ cmd: "temperature", value });
        setMoved((latest) => (latest === value ? undefined : latest)); // the handle may have moved on meanwhile
      }),
    [view],
  );
  if (own === undefined || !canChange) return null;
  const shown = moved ?? value;
  const text = shown !== null ? String(shown) : own === null ? "the model's own" : `${own}, the model's own`;
  return (
    <div class="ak-temperature">
      <label title="How much chance there is in the replies: 0 takes the likeliest token. It applies to the next requests of this run.">
        <Muted>Temperature</Muted>
        <input
          type="range"
          {...SUPPRESS_SHORTCUTS}
          min={0}
          max={MAX_TEMPERATURE}
          step={0.1}
          value={shown ?? own ?? 1}
          aria-valuetext={text}
          onInput={(event) => setMoved(Number(event.currentTarget.value))}
          onChange={(event) => void set(Number(event.currentTarget.value))}
        />
      </label>
      <span>{text}</span>
      {value !== null && (
        <Button
          class="ak-action"
          title="Leave the temperature to the model"
          onClick={() => {
            setMoved(undefined);
            void set(null);
          }}
        >
          Reset
        </Button>
      )}
    </div>
  );
}
