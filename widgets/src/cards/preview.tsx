/** What a call would do, as its tool says, for example the differences that it would make in a file. */

import type { JSX } from "preact";
import { SUPPRESS_SHORTCUTS } from "../elements/controls";
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
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long preview is scrolled with the keyboard, too */}
      <pre {...SUPPRESS_SHORTCUTS} class="ak-text" tabIndex={0}>
        {value.text.split("\n").map((line, index) => (
          <span key={index} class={isFileName(line, index) ? "ak-muted" : CLASSES[line[0] as string]}>
            {`${line}\n`}
          </span>
        ))}
      </pre>
    </figure>
  );
}

/** Whether a line of a diff names the file before or after: such lines come first. */
function isFileName(line: string, index: number): boolean {
  return index < 2 && /^(---|\+\+\+) /.test(line);
}

const CLASSES: { [mark: string]: string } = { "+": "ak-added", "-": "ak-removed" };
