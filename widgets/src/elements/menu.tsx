/** A button that opens a menu. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Button } from "./controls";
import { Icon, type IconName } from "./icons";
import { indexAfterKey } from "./tabs";

export interface MenuItem {
  label: string;
  /** A line below the label. */
  note?: string | undefined;
  shortcut?: string;
  /** Null if it cannot be done at the moment. */
  perform: (() => void) | null;
}

interface MenuProps {
  label: string;
  title?: string;
  /** Takes the place of the label in a narrow toolbar. */
  icon?: IconName;
  items: MenuItem[];
  /** Increases whenever the menu is to be opened from outside. */
  openRequests?: number;
  onOpen?: () => void;
  children?: ComponentChildren;
}

export function Menu({ label, title, icon, items, openRequests = 0, onOpen, children }: MenuProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const id = useId();
  const buttons = (): HTMLElement[] => [...(root.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  const open = (): void => {
    onOpen?.();
    setOpen(true);
  };
  const close = (): void => {
    setOpen(false);
    root.current?.querySelector("button")?.focus();
  };
  const requested = useRef(openRequests);
  useEffect(() => {
    if (openRequests === requested.current) return;
    requested.current = openRequests;
    open();
  }, [openRequests]);
  useEffect(() => {
    if (isOpen) buttons()[0]?.focus();
  }, [isOpen]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!isOpen) {
      if (event.key !== "ArrowDown") return;
      open();
    } else if (event.key === "Escape") close();
    else {
      const all = buttons();
      const current = all.indexOf(event.target as HTMLElement);
      const index = indexAfterKey(event.key, current, all.length, "ArrowUp", "ArrowDown");
      if (index === undefined) return;
      all[index]?.focus();
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="ak-menu-button"
      role="group"
      aria-label={label}
      ref={root}
      onKeyDown={onKeyDown}
      onFocusOut={(event) => !root.current?.contains(event.relatedTarget as Node | null) && setOpen(false)}
    >
      <Button
        class="ak-tool-button"
        title={title}
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => (isOpen ? close() : open())}
      >
        {icon && <Icon name={icon} />}
        <span class="ak-menu-label">{label}</span> ▾
      </Button>
      {isOpen && (
        // some browsers do not focus a button that is clicked: the menu must not lose the focus before the click
        <div class="ak-menu" role="menu" id={id} aria-label={label} onPointerDown={(event) => event.preventDefault()}>
          {children}
          {items.map(({ label, note, shortcut, perform }) => (
            <Button
              key={label}
              role="menuitem"
              tabIndex={-1}
              aria-disabled={perform === null}
              aria-keyshortcuts={shortcut}
              onClick={() => {
                if (!perform) return;
                close();
                perform();
              }}
            >
              {label}
              {shortcut && <kbd>{shortcut}</kbd>}
              {note && <small>{note}</small>}
            </Button>
          ))}
        </div>
      )}
    </div>
  );
}
