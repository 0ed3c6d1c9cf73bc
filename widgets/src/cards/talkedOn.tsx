/** What the model writes if nothing stops it after its action, beside what really happened. */

import type { JSX } from "preact";
import { Button } from "../elements/controls";
import { FoldedText } from "../elements/foldedText";
import { ErrorMessage, Note } from "../elements/text";
import type { TalkedOn as Result, ThinkEntry } from "../protocol";
import type { Store } from "../state/store";
import { useQuery, useStore } from "../state/useStore";
import type { ViewState } from "../state/viewState";

export function TalkedOn({
  store,
  view,
  card,
}: {
  store: Store;
  view: ViewState;
  card: ThinkEntry;
}): JSX.Element | null {
  const isOpen = useStore(view, ({ talkedOn }) => talkedOn === card.id);
  const query = isOpen ? ({ cmd: "talk_on", entry: card.id } as const) : null;
  const { value, error } = useQuery(store, String(isOpen && card.id), query);
  if (!isOpen) return null;
  return (
    <section class="ak-talked-on" aria-label="Let it talk on" aria-busy={!value && !error}>
      {error ? <ErrorMessage text={error} /> : value ? <Columns result={value} /> : <Note>Asking the model…</Note>}
      <Button onClick={() => view.set({ talkedOn: 0 })}>Close</Button>
    </section>
  );
}

function Columns({ result }: { result: Result }): JSX.Element {
  const { written, invented, really_written, observations, sentence } = result;
  return (
    <>
      <div class="ak-columns">
        <div>
          <h4>Let it talk on</h4>
          <FoldedText text={written} class="ak-mono" />
          {invented && <Observed title="Invented" text={invented} class="ak-invented" />}
        </div>
        <div>
          <h4>Call the tool</h4>
          <FoldedText text={really_written} class="ak-mono" />
          {observations.map((text, index) => (
            <Observed key={index} title="Real" text={`Observation: ${text}`} class="ak-real" />
          ))}
        </div>
      </div>
      <p role="status">{sentence}</p>
    </>
  );
}

function Observed({ title, text, ...props }: { title: string; text: string; class: string }): JSX.Element {
  return (
    <div class={props.class}>
      <Note>{title}</Note>
      <FoldedText text={text} class="ak-mono" />
    </div>
  );
}
