/** Buttons, fields and other focusable elements. Use only these: they keep JupyterLab's shortcuts away. */

import type { ComponentChildren, JSX } from "preact";
import { escapeInvisible } from "./escape";

/** JupyterLab handles its shortcuts in every focusable element that does not have this attribute. */
export const SUPPRESS_SHORTCUTS = { "data-lm-suppress-shortcuts": "true" } as const;

export function Button(props: JSX.IntrinsicElements["button"]): JSX.Element {
  return <button type="button" {...SUPPRESS_SHORTCUTS} {...props} />;
}

interface ToolButtonProps {
  label: string;
  /** The key that does the same, shown in the tooltip. */
  shortcut?: string;
  title?: string;
  disabled?: boolean;
  class?: string;
  pressed?: boolean;
  onClick: () => void;
  children?: ComponentChildren;
}

/** A button that keeps the focus while it is disabled: a natively disabled one would drop it out of the view. */
export function ToolButton(props: ToolButtonProps): JSX.Element {
  const { label, shortcut, title = label, disabled = false, pressed, onClick, children = label } = props;
  return (
    <Button
      class={`ak-tool-button ${props.class ?? ""}`}
      aria-label={label}
      aria-disabled={disabled}
      aria-pressed={pressed}
      aria-keyshortcuts={shortcut}
      title={withShortcut(title, shortcut)}
      onClick={() => !disabled && onClick()}
    >
      {children}
    </Button>
  );
}

/** Return a tooltip that names the shortcut. */
export function withShortcut(title: string, shortcut?: string): string {
  return shortcut ? `${title}  (${shortcut})` : title;
}

export function TextField(props: JSX.IntrinsicElements["input"]): JSX.Element {
  return <input {...SUPPRESS_SHORTCUTS} class="ak-field" {...props} />;
}

interface CheckboxProps {
  checked: boolean;
  disabled?: boolean;
  onChange: (checked: boolean) => void;
  children: ComponentChildren;
}

export function Checkbox({ checked, disabled = false, onChange, children }: CheckboxProps): JSX.Element {
  return (
    <label class="ak-checkbox">
      <input
        type="checkbox"
        {...SUPPRESS_SHORTCUTS}
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      {children}
    </label>
  );
}

export function Select(props: JSX.IntrinsicElements["select"]): JSX.Element {
  return <select {...SUPPRESS_SHORTCUTS} class="ak-field" {...props} />;
}

interface TextAreaProps {
  label: string;
  value: string;
  mono?: boolean;
  invalid?: boolean;
  placeholder?: string;
  minRows?: number;
  onInput: (text: string) => void;
}

const MAX_ROWS = 16;
/** About how many characters fit on a line. */
const COLUMNS = 90;

/** A text area that grows with its text. Text with invisible characters is shown once more below it, escaped. */
export function TextArea(props: TextAreaProps): JSX.Element {
  const { label, value, mono = false, invalid = false, placeholder, minRows = 2, onInput } = props;
  const rows = value.split("\n").reduce((sum, line) => sum + 1 + Math.floor(line.length / COLUMNS), 0);
  return (
    <>
      <textarea
        {...SUPPRESS_SHORTCUTS}
        class={`ak-field ${mono ? "ak-mono" : ""}`}
        aria-label={label}
        aria-invalid={invalid}
        placeholder={placeholder}
        rows={Math.min(MAX_ROWS, Math.max(minRows, rows))}
        spellcheck={!mono}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {escapeInvisible(value) !== value && <p class="ak-text ak-muted">{value}</p>}
    </>
  );
}

interface DisclosureProps {
  summary: ComponentChildren;
  class?: string;
  onOpen?: () => void;
  children: ComponentChildren;
}

export function Disclosure(props: DisclosureProps): JSX.Element {
  return (
    <details
      class={`ak-disclosure ${props.class ?? ""}`}
      onToggle={(event) => event.currentTarget.open && props.onOpen?.()}
    >
      <Summary>{props.summary}</Summary>
      {props.children}
    </details>
  );
}

export function Summary({ children }: { children: ComponentChildren }): JSX.Element {
  return <summary {...SUPPRESS_SHORTCUTS}>{children}</summary>;
}

/** An area that may scroll: most browsers then let it have the focus. */
export function ScrollArea(props: { class: string; children: ComponentChildren }): JSX.Element {
  return <div {...SUPPRESS_SHORTCUTS} {...props} />;
}
