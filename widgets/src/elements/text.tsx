/** Small pieces of text and graphics. Text reaches the page as text nodes, whatever it contains. */

import type { ComponentChildren, JSX } from "preact";

/** Secondary text within a line. */
export function Muted({ children }: { children: ComponentChildren }): JSX.Element {
  return <span class="ak-muted">{children}</span>;
}

/** A secondary sentence, such as the reason why something is empty. */
export function Note({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="ak-muted">{children}</p>;
}

/** An error, announced as soon as there is one. */
export function ErrorMessage({ text }: { text?: string | undefined }): JSX.Element {
  return (
    <p class="ak-error-message" role="alert">
      {text}
    </p>
  );
}

/** A bar for a fraction from 0 to 1; put the figure beside it. */
export function Meter({ value }: { value: number }): JSX.Element {
  return (
    <span class="ak-meter" aria-hidden="true">
      <i style={{ width: `${Math.max(0, Math.min(1, value)) * 100}%` }} />
    </span>
  );
}
