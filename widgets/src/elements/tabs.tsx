/** Tabs, and how the arrow keys move within any group of elements that is a single tab stop. */

import type { ComponentChildren, JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { Button } from "./controls";

/** Return the index that a key leads to, or undefined for any other key. */
export function indexAfterKey(
  key: string,
  index: number,
  length: number,
  backKey: string,
  forwardKey: string,
): number | undefined {
  if (key === backKey) return (index + length - 1) % length;
  if (key === forwardKey) return (index + 1) % length;
  if (key === "Home") return 0;
  if (key === "End") return length - 1;
  return undefined;
}

interface TabsProps {
  label: string;
  names: string[];
  children: (index: number) => ComponentChildren;
}

export function Tabs({ label, names, children }: TabsProps): JSX.Element {
  const [open, setOpen] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const index = indexAfterKey(event.key, open, names.length, "ArrowLeft", "ArrowRight");
    if (index === undefined) return;
    event.preventDefault();
    setOpen(index);
    (list.current?.children[index] as HTMLElement | undefined)?.focus();
  };
  return (
    <>
      <div class="ak-tabs" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
        {names.map((name, index) => (
          <Button
            key={name}
            role="tab"
            aria-selected={index === open}
            tabIndex={index === open ? 0 : -1}
            onClick={() => setOpen(index)}
          >
            {name}
          </Button>
        ))}
      </div>
      <div role="tabpanel" aria-label={names[open]}>
        {children(open)}
      </div>
    </>
  );
}
