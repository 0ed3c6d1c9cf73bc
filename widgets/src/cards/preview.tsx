/** What a call would do, as its tool says, for example the differences that it would make in a file. */

import type { JSX } from "preact";
import { Muted } from "../elements/text";
import type { Store } from "../state/store";
import { useQuery } from "../state/useStore";

export function Preview({ store, which }: { store: Store; which: string }): JSX.Element | null {
  const { value, error } = useQuery(store, which, { cmd: "preview", which });
  if (error) return <Muted>{`There is no preview: ${error}`}</Muted>;
  if (!value) return null;
  return (
    <figure class="ak-preview">
      <figcaption>
        <Muted>What the call would do</Muted>
      </figcaption>
      <pre class="ak-text">
        {value.text.split("\n").map((line, index) => (
          <span key={index} class={CLASSES[line[0] as string]}>
            {`${line}\n`}
          </span>
        ))}
      </pre>
    </figure>
  );
}

const CLASSES: { [mark: string]: string } = { "+": "ak-added", "-": "ak-removed" };
