/** The focusable elements of the view. Each wears what keeps JupyterLab's shortcuts away: nothing focusable is made without these. */

import type { ComponentChildren, JSX } from "preact";
import { QUIET } from "./panels/parts";
import { plain } from "./plain";

export { Button, QUIET } from "./panels/parts";

interface ToolProps {
  label: string;
  /** The key that does the same, shown in the tooltip. */
  hint?: string;
  title?: string;
  off?: boolean;
  class?: string;
  pressed?: boolean;
  onPress: () => void;
  children?: ComponentChildren;
}

/** A button that keeps the focus while it cannot be pressed: a disabled one would drop it out of the view. */
export function Tool({ label, hint, title, off = false, pressed, onPress, children, ...rest }: ToolProps): JSX.Element {
  return (
    <button
      type="button"
      {...QUIET}
      class={`ak-tool-button ${rest.class ?? ""}`}
      aria-label={label}
      aria-disabled={off}
      aria-pressed={pressed}
      aria-keyshortcuts={hint}
      title={`${title ?? label}${hint ? `  (${hint})` : ""}`}
      onClick={() => !off && onPress()}
    >
      {children ?? label}
    </button>
  );
}

export function Field(props: JSX.IntrinsicElements["input"]): JSX.Element {
  return <input {...QUIET} class="ak-field" {...props} />;
}

export function Choice(props: JSX.IntrinsicElements["select"]): JSX.Element {
  return <select {...QUIET} class="ak-field" {...props} />;
}

interface AreaProps {
  label: string;
  value: string;
  mono?: boolean;
  invalid?: boolean;
  placeholder?: string;
  /** Rows that it has at least. */
  least?: number;
  onInput: (text: string) => void;
}

/** A text box as high as its text, up to a bound. What a box cannot show of its text is written out below it. */
export function Area({ label, value, mono = false, invalid = false, placeholder, least = 2, onInput }: AreaProps): JSX.Element {
  const rows = Math.min(
    16,
    Math.max(
      least,
      value.split("\n").reduce((sum, line) => sum + 1 + Math.floor(line.length / 90), 0),
    ),
  );
  return (
    <>
      <textarea
        {...QUIET}
        class={`ak-field ak-area ${mono ? "ak-mono" : ""}`}
        aria-label={label}
        aria-invalid={invalid}
        placeholder={placeholder}
        rows={rows}
        spellcheck={!mono}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {plain(value) !== value && <p class="ak-text ak-muted">{value}</p>}
    </>
  );
}

interface FoldProps {
  summary: ComponentChildren;
  class?: string;
  open?: boolean;
  onOpen?: () => void;
  children: ComponentChildren;
}

export function Fold({ summary, open, onOpen, children, ...rest }: FoldProps): JSX.Element {
  return (
    <details class={`ak-disclosure ${rest.class ?? ""}`} open={open} onToggle={(event) => event.currentTarget.open && onOpen?.()}>
      <summary {...QUIET}>{summary}</summary>
      {children}
    </details>
  );
}
