/** Exporting a run: into cells, into a file, or to the clipboard. */

import type { JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { copyText } from "../elements/clipboard";
import { Button } from "../elements/controls";
import { count, errorText } from "../elements/format";
import { indexAfterKey } from "../elements/tabs";
import type { ExportedFile, FileFormat, InsertedCells } from "../protocol";
import type { Store } from "../state/store";
import { useHead } from "../state/useStore";

const FILES: [label: string, format: FileFormat][] = [
  ["Notebook (.ipynb)", "ipynb"],
  ["Markdown", "markdown"],
  ["HTML", "html"],
  ["JSON", "json"],
];

const IF_BLOCKED = "If there is no such file, this notebook blocks downloads: use run.to_html(path) in a cell.";

/** Exports something, and returns what to tell the person who asked for it. */
type Export = () => Promise<string>;

interface ExportMenuProps {
  store: Store;
  onNotice: (text: string) => void;
}

export function ExportMenu({ store, onNotice }: ExportMenuProps): JSX.Element {
  const { answer } = useHead(store);
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const id = useId();
  const file = (format: FileFormat): Promise<ExportedFile> => store.execute({ cmd: "export", format });
  const items: [label: string, run: Export | null][] = [
    ["Insert cells below", async () => insertedText(await store.execute({ cmd: "export", format: "cells" }))],
    ...FILES.map(([label, format]): [string, Export] => [label, async () => download(await file(format))]),
    ["Copy as Markdown", async () => copyText((await file("markdown")).text)],
    ["Copy answer", answer === null ? null : () => copyText(answer)],
  ];
  const buttons = (): HTMLElement[] => [...(root.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  const close = (): void => {
    setOpen(false);
    root.current?.querySelector("button")?.focus();
  };
  const perform = async (run: Export | null): Promise<void> => {
    if (!run) return;
    close();
    const slow = setTimeout(() => onNotice("Exporting…"), 500); // the first export may have to import libraries
    const notice = await run().catch(errorText);
    clearTimeout(slow);
    onNotice(notice);
  };
  useEffect(() => {
    if (isOpen) buttons()[0]?.focus();
  }, [isOpen]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!isOpen) {
      if (event.key !== "ArrowDown") return;
      setOpen(true);
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
      class="ak-export"
      role="group"
      aria-label="Export"
      ref={root}
      onKeyDown={onKeyDown}
      onFocusOut={(event) => !root.current?.contains(event.relatedTarget as Node | null) && setOpen(false)}
    >
      <Button
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => (isOpen ? close() : setOpen(true))}
      >
        Export ▾
      </Button>
      {isOpen && (
        // some browsers do not focus a button that is clicked: the menu must not lose the focus before the click
        <div class="ak-menu" role="menu" id={id} aria-label="Export" onPointerDown={(event) => event.preventDefault()}>
          {items.map(([label, run]) => (
            <Button key={label} role="menuitem" tabIndex={-1} aria-disabled={run === null} onClick={() => perform(run)}>
              {label}
            </Button>
          ))}
        </div>
      )}
    </div>
  );
}

function insertedText({ inserted, fallback }: InsertedCells): string {
  if (inserted) return `Inserted ${count(inserted, "cell")} below`;
  return `Cells cannot be inserted in this notebook. They were saved as ${fallback}`;
}

function download({ name, mime, text }: ExportedFile): string {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: mime }));
  link.download = name;
  link.click();
  // later: the browser has not read the file yet
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  // a frame, as of VS Code and Colab, may block downloads, and no page is told
  return window.parent === window ? `Saved as ${name}` : `Saved as ${name}. ${IF_BLOCKED}`;
}
