/** Copying text to the clipboard. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button, SUPPRESS_SHORTCUTS } from "./controls";

/** What to do if a host, such as the frame of Colab, allows neither way of copying. */
const BLOCKED =
  "The browser blocked copying. Select the text and press Ctrl+C, or run print(run.to_markdown()) in a cell";

/** Copy a text. Return what to tell the person who asked for it. */
export async function copyText(text: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (!copyBySelection(text)) return BLOCKED;
  }
  return "Copied";
}

/** Copy the old way, for pages without a clipboard: those that are not served securely, and frames such as Colab's. */
function copyBySelection(text: string): boolean {
  const focused = document.activeElement as HTMLElement | null;
  const area = document.createElement("textarea");
  area.value = text;
  for (const [name, value] of Object.entries(SUPPRESS_SHORTCUTS)) area.setAttribute(name, value);
  area.style.cssText = "position:fixed;opacity:0";
  document.body.append(area);
  area.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    area.remove();
    focused?.focus();
  }
}

export function CopyButton({ text, label }: { text: string; label: string }): JSX.Element {
  const [message, setMessage] = useState("");
  const onClick = async (): Promise<void> => setMessage(await copyText(text));
  return (
    <span class="ak-copy">
      <Button onClick={onClick}>{label}</Button> <span role="status">{message}</span>
    </span>
  );
}
