/** The ways out of the view: into cells, into a file, onto the clipboard. */

import type { JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Store } from "../store";
import { Button, copied, count, moved, said, useHead } from "./parts";

type Format = "cells" | "ipynb" | "markdown" | "html" | "json";
type File = { name: string; mime: string; text: string };
type Added = { inserted: number; fallback?: string };

const FILES: [label: string, format: Format][] = [
  ["Notebook (.ipynb)", "ipynb"],
  ["Markdown", "markdown"],
  ["HTML", "html"],
  ["JSON", "json"],
];

export function ExportMenu({ store, say }: { store: Store; say: (what: string) => void }): JSX.Element {
  const { answer } = useHead(store);
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const id = useId();
  const ask = async (format: Format): Promise<File & Added> =>
    (await store.ask({ cmd: "export", format })) as unknown as File & Added;
  const items: [label: string, act: (() => Promise<string>) | null][] = [
    ["Cells below", async () => added(await ask("cells"))],
    ...FILES.map(([label, format]): [string, () => Promise<string>] => [label, async () => download(await ask(format))]),
    ["Copy as Markdown", async () => copied((await ask("markdown")).text)],
    ["Copy answer", answer === null ? null : () => copied(answer)],
  ];
  const buttons = (): HTMLElement[] => [...(root.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  const close = (): void => {
    setOpen(false);
    root.current?.querySelector("button")?.focus();
  };
  const perform = async (act: (() => Promise<string>) | null): Promise<void> => {
    if (!act) return;
    close();
    const slow = setTimeout(() => say("Writing…"), 500); // the first one may have to load what writes it
    const done = await act().catch(said);
    clearTimeout(slow);
    say(done);
  };
  useEffect(() => {
    if (open) buttons()[0]?.focus();
  }, [open]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!open) {
      if (event.key !== "ArrowDown") return;
      setOpen(true);
    } else if (event.key === "Escape") close();
    else {
      const all = buttons();
      const to = moved(event.key, all.indexOf(event.target as HTMLElement), all.length, "ArrowUp", "ArrowDown");
      if (to === undefined) return;
      all[to]?.focus();
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="ak-export"
      role="group"
      aria-label="Export"
      ref={root}
      onKeyDown={onKeyDown}
      onFocusOut={(event) => !root.current?.contains(event.relatedTarget as Node | null) && setOpen(false)}
    >
      <Button aria-haspopup="menu" aria-expanded={open} aria-controls={id} onClick={() => (open ? close() : setOpen(true))}>
        Export ▾
      </Button>
      {open && (
        // a press must not take the focus away before the click: some browsers give it to no button
        <div class="ak-menu" role="menu" id={id} aria-label="Export" onPointerDown={(event) => event.preventDefault()}>
          {items.map(([label, act]) => (
            <Button key={label} role="menuitem" tabIndex={-1} aria-disabled={act === null} onClick={() => perform(act)}>
              {label}
            </Button>
          ))}
        </div>
      )}
    </div>
  );
}

function added({ inserted, fallback }: Added): string {
  if (inserted) return `${count(inserted, "cell")} ${inserted === 1 ? "was" : "were"} added below`;
  return `This notebook takes no cells from a view. They were written to ${fallback}`;
}

function download({ name, mime, text }: File): string {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: mime }));
  link.download = name;
  link.click();
  // not at once: the browser reads it after this turn
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  return `Saved as ${name}`;
}
