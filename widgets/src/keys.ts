/** Every verb has a key while the view has the focus and nothing is being typed. */

export type Verb =
  | "step"
  | "play"
  | "pause"
  | "over"
  | "stop"
  | "undo"
  | "redo"
  | "inject"
  | "edit"
  | "retry"
  | "fork"
  | "rewind"
  | "break"
  | "copy"
  | "request"
  | "next"
  | "previous"
  | "first"
  | "last"
  | "panels"
  | "help";

interface Key {
  verb: Verb;
  keys: string[];
  /** As it is written in the help and in tooltips. */
  shown: string;
  help: string;
}

export const KEYS: readonly Key[] = [
  { verb: "step", keys: ["Enter", " ", "s"], shown: "Enter", help: "Step: perform one step (also Space or s)" },
  { verb: "play", keys: ["r"], shown: "r", help: "Run: go on in the background" },
  { verb: "pause", keys: ["p"], shown: "p", help: "Pause before the next step" },
  { verb: "over", keys: ["o"], shown: "o", help: "Step over: parallel calls together, a nested engine until it returns" },
  { verb: "stop", keys: ["x"], shown: "x", help: "Stop at once" },
  { verb: "undo", keys: ["z"], shown: "z", help: "Undo the last step, edit or move" },
  { verb: "redo", keys: ["Z"], shown: "Shift+Z", help: "Redo" },
  { verb: "inject", keys: ["i"], shown: "i", help: "Inject a message to the model" },
  { verb: "next", keys: ["j", "ArrowDown"], shown: "j", help: "Go to the next entry (also ↓)" },
  { verb: "previous", keys: ["k", "ArrowUp"], shown: "k", help: "Go to the entry before (also ↑)" },
  { verb: "first", keys: ["Home"], shown: "Home", help: "Go to the first entry that is shown" },
  { verb: "last", keys: ["End"], shown: "End", help: "Go to the latest entry" },
  { verb: "edit", keys: ["e"], shown: "e", help: "Edit the entry, or the step that comes next" },
  { verb: "retry", keys: ["t"], shown: "t", help: "Retry: go back to before the entry and perform it again" },
  { verb: "rewind", keys: ["w"], shown: "w", help: "Rewind: make the entry the last one" },
  { verb: "fork", keys: ["f"], shown: "f", help: "Fork a second run after the entry" },
  { verb: "break", keys: ["b"], shown: "b", help: "Set or remove a breakpoint on its tool or role" },
  { verb: "request", keys: ["q"], shown: "q", help: "Show the request that was sent for the thought" },
  { verb: "copy", keys: ["c"], shown: "c", help: "Copy the entry as text" },
  { verb: "panels", keys: ["v"], shown: "v", help: "Show or hide the panels" },
  { verb: "help", keys: ["?"], shown: "?", help: "Show or hide this help" },
];

export function hint(verb: Verb): string {
  return KEYS.find((key) => key.verb === verb)?.shown ?? "";
}

const TYPED = "input:not([type=checkbox],[type=radio],[type=button]),textarea,select,[contenteditable='true']";
/** What takes these keys for itself. */
const PRESSED = "button,summary,a,[role=tab],[role=slider],[role=menuitem],[role=treeitem],[role=option],input";
const MOVING = "[role=slider],[role=tab],[role=menuitem],[role=tree],[role=treeitem],[role=grid],[role=menu],[role=dialog]";

/** The verb that a key means here, if any. */
export function verbOf(event: KeyboardEvent): Verb | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing) return undefined;
  const at = event.target as Element;
  if (at.closest(TYPED)) return undefined;
  const enters = event.key === "Enter" || event.key === " ";
  if (enters && (event.shiftKey || event.repeat || at.closest(PRESSED))) return undefined;
  if (/^(Arrow|Home|End)/.test(event.key) && at.closest(MOVING)) return undefined;
  // Shift alone tells large letters: with Caps Lock on they are keys like any other
  const { key, shiftKey } = event;
  const pressed = key.length > 1 ? key : shiftKey ? key.toUpperCase() : key.toLowerCase();
  return KEYS.find(({ keys }) => keys.includes(pressed))?.verb;
}
