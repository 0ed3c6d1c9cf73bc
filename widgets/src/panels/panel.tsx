/** The frame of a panel. */

import type { ComponentChildren, JSX } from "preact";

interface PanelProps {
  /** Selects the style. */
  name: string;
  label: string;
  children: ComponentChildren;
}

export function Panel({ name, label, children }: PanelProps): JSX.Element {
  return (
    <section class={`ak-panel ak-${name}`} aria-label={label}>
      {children}
    </section>
  );
}
