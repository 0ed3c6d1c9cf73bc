/** A form that Ctrl+Enter submits and Escape cancels. */

import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface FormProps {
  label: string;
  /** The id of the element that describes the form. */
  describedBy?: string;
  /** Unless empty or 0, the focus goes to the first field; and again whenever this changes. */
  focusKey?: string | number;
  onSubmit: () => void;
  onCancel?: (() => void) | undefined;
  children: ComponentChildren;
}

export function Form({ label, describedBy, focusKey, onSubmit, onCancel, children }: FormProps): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => {
    if (focusKey) form.current?.querySelector<HTMLElement>("textarea,input,select")?.focus();
  }, [focusKey]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onSubmit();
    else if (event.key === "Escape" && onCancel) onCancel();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <form
      class="ak-form"
      ref={form}
      aria-label={label}
      aria-describedby={describedBy}
      onKeyDown={onKeyDown}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}
