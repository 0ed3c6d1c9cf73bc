/** Keyboard shortcuts: they work while the view has the focus and nothing is being typed. */

import type { Action } from "./actions";

interface Shortcut {
  action: Action;
  keys: string[];
  /** The key as the help and the tooltips show it. */
  label: string;
  help: string;
}

export const SHORTCUTS: readonly Shortcut[] = [
  { action: "step", keys: ["Enter", " ", "s"], label: "Enter", help: "Step: run the next step (also Space or s)" },
  { action: "play", keys: ["r"], label: "r", help: "Run: continue in the background" },
  { action: "pause", keys: ["p"], label: "p", help: "Pause after the current step" },
  { action: "over", keys: ["o"], label: "o", help: "Step over parallel calls or a nested engine" },
  { action: "stop", keys: ["x"], label: "x", help: "Stop immediately" },
  { action: "undo", keys: ["z"], label: "z", help: "Undo the last step, edit or move" },
  { action: "redo", keys: ["Z"], label: "Shift+Z", help: "Redo" },
  { action: "inject", keys: ["i"], label: "i", help: "Inject a message for the model" },
  { action: "next", keys: ["j", "ArrowDown", "ArrowRight"], label: "j", help: "Go to the next entry (also ↓ or →)" },
  {
    action: "previous",
    keys: ["k", "ArrowUp", "ArrowLeft"],
    label: "k",
    help: "Go to the previous entry (also ↑ or ←)",
  },
  { action: "first", keys: ["Home"], label: "Home", help: "Go to the first entry shown" },
  { action: "last", keys: ["End"], label: "End", help: "Go to the last entry shown" },
  { action: "edit", keys: ["e"], label: "e", help: "Edit the selected entry, or the next step" },
  { action: "retry", keys: ["t"], label: "t", help: "Try again: go back and perform the entry's step again" },
  { action: "rewind", keys: ["w"], label: "w", help: "Go back to the entry" },
  { action: "fork", keys: ["f"], label: "f", help: "Try another way: start a second run from the entry" },
  { action: "break", keys: ["b"], label: "b", help: "Toggle a breakpoint on the entry's tool or role" },
  { action: "request", keys: ["q"], label: "q", help: "Show the model request behind the thought" },
  { action: "talkOn", keys: ["l"], label: "l", help: "Let it talk on: ask again without the stop sequence" },
  { action: "luck", keys: ["n"], label: "n", help: "Luck or skill: ask the model the same a number of times" },
  { action: "copy", keys: ["c"], label: "c", help: "Copy the entry as text" },
  { action: "goBack", keys: ["g"], label: "g", help: "Show what going back or trying again would keep and repeat" },
  { action: "present", keys: ["m"], label: "m", help: "Start or end presentation mode (Escape ends it, too)" },
  { action: "sidePanel", keys: ["v"], label: "v", help: "Show or hide the side panel" },
  { action: "help", keys: ["?"], label: "?", help: "Show or hide this help" },
];

export function shortcutLabel(action: Action): string {
  return SHORTCUTS.find((shortcut) => shortcut.action === action)?.label ?? "";
}

const TEXT_FIELDS =
  "input:not([type=checkbox],[type=radio],[type=button],[type=range]),textarea,select,[contenteditable='true']";
/** Elements that handle Enter and Space themselves. */
const PRESSABLE = "button,summary,a,[role=tab],[role=menuitem],[role=treeitem],[role=option],input";
/** Elements that handle the arrow keys, Home and End themselves. */
const NAVIGABLE =
  "input[type=range],[role=tab],[role=menuitem],[role=tree],[role=treeitem],[role=grid],[role=menu],[role=dialog],.ak-preview pre";
/** Elements that scroll sideways by the arrow keys. */
const SCROLLABLE = "[role=region][tabindex='0'],.ak-lines";

/** With Ctrl or Command: select all, copy, paste, cut, redo and undo. */
const EDITING_KEYS = ["a", "c", "v", "x", "y", "z"];

/** Whether a key press edits a text, or moves in it. */
export function editsText({ key, target }: KeyboardEvent): boolean {
  const edits = key.length > 1 || EDITING_KEYS.includes(key.toLowerCase());
  return edits && (target as Element).closest(TEXT_FIELDS) !== null;
}

/** Return the action of a key press, if it is a shortcut here. */
export function actionFor(event: KeyboardEvent): Action | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing) return undefined;
  const target = event.target as Element;
  if (target.closest(TEXT_FIELDS)) return undefined;
  const { key, shiftKey } = event;
  const presses = key === "Enter" || key === " ";
  if (presses && (shiftKey || event.repeat || target.closest(PRESSABLE))) return undefined;
  if (/^(Arrow|Home|End)/.test(key) && target.closest(NAVIGABLE)) return undefined;
  if (/Left|Right/.test(key) && target.closest(SCROLLABLE)) return undefined;
  // only Shift makes a capital: with Caps Lock on, the keys work as usual
  const pressed = key.length > 1 ? key : shiftKey ? key.toUpperCase() : key.toLowerCase();
  return SHORTCUTS.find(({ keys }) => keys.includes(pressed))?.action;
}
