/** Exporting a run: into cells, into a file, or to the clipboard. */

import type { JSX } from "preact";
import { copyText } from "../elements/clipboard";
import { count, errorText } from "../elements/format";
import { Menu } from "../elements/menu";
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
  const file = (format: FileFormat): Promise<ExportedFile> => store.execute({ cmd: "export", format });
  const items: [label: string, run: Export | null][] = [
    ["Insert cells below", async () => insertedText(await store.execute({ cmd: "export", format: "cells" }))],
    ...FILES.map(([label, format]): [string, Export] => [label, async () => download(await file(format))]),
    ["Copy as Markdown", async () => copyText((await file("markdown")).text)],
    ["Copy answer", answer === null ? null : () => copyText(answer)],
  ];
  const perform = async (run: Export): Promise<void> => {
    const slow = setTimeout(() => onNotice("Exporting…"), 500); // the first export may have to import libraries
    const notice = await run().catch(errorText);
    clearTimeout(slow);
    onNotice(notice);
  };
  return (
    <Menu label="Export" items={items.map(([label, run]) => ({ label, perform: run && (() => void perform(run)) }))} />
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
