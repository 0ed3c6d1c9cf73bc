/** Exporting a run: into cells, into a file, or to the clipboard. */

import type { JSX } from "preact";
import { copyText } from "../elements/clipboard";
import { count, errorText } from "../elements/format";
import { Menu } from "../elements/menu";
import type { ExportedFile, FileFormat, InsertedCells } from "../protocol";
import { isOffered } from "../state/actions";
import type { Store } from "../state/store";
import { useHead } from "../state/useStore";

/** The files that a run can be saved as, and the method that writes the same file in Python. */
const FILES: [label: string, format: FileFormat, method: string][] = [
  ["Notebook (.ipynb)", "ipynb", "to_notebook"],
  ["Markdown", "markdown", "to_markdown"],
  ["HTML", "html", "to_html"],
  ["JSON", "json", "to_json"],
];

/** Exports something, and returns what to tell the person who asked for it. */
type Export = () => Promise<string>;

interface ExportMenuProps {
  store: Store;
  onNotice: (text: string) => void;
}

export function ExportMenu({ store, onNotice }: ExportMenuProps): JSX.Element {
  const { answer } = useHead(store);
  const file = (format: FileFormat): Promise<ExportedFile> => store.execute({ cmd: "export", format });
  const cells = async (): Promise<string> => insertedText(await store.execute({ cmd: "export", format: "cells" }));
  const items: [label: string, run: Export | null][] = [
    ...(isOffered(store, "notebook") ? [["Insert cells below", cells] as [string, Export]] : []),
    ...FILES.map(([label, format, method]): [string, Export] => [
      label,
      async () => download(await file(format), method),
    ]),
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

function download({ name, mime, text }: ExportedFile, method: string): string {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: mime }));
  link.download = name;
  // in the page, and with its window, since VS Code listens for clicks on links and saves the file itself
  document.body.append(link);
  const isTaken = !link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, view: window }));
  link.remove();
  // later: the browser has not read the file yet
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  const advice = `use run.${method}("${name}") in a cell`;
  if (isTaken) return `The notebook asks where to save ${name}. If it does not, ${advice}.`;
  // a frame, such as Colab's, may block downloads, and no page is told; VS Code replaces `parent`, but cannot do so here
  if (window.top !== window)
    return `Saved as ${name}. If there is no such file, this notebook blocks downloads: ${advice}.`;
  return `Saved as ${name}`;
}
