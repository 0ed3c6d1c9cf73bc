/**
 * What crosses between the kernel and the view: version 1. JSON, as custom messages of one widget model per run.
 *
 * The kernel owns the truth. A command is a request: it is answered by `ack` or `nak`, and what came of it arrives as
 * events, for every view. Messages from the kernel are numbered: a view that misses a number, or gets no answer, says
 * `hello` and is sent a `reset`. Whoever meets a kind that it does not know ignores it.
 * Every text here may come from a model or a tool: it is drawn as text, never as markup.
 */

export const VERSION = 1;

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** What survives a reload: the only synced traits. `uid` is the model's own id, by which a notebook's outputs name it. */
export interface Traits {
  run_id: string;
  /** The status at the last rest, and the number of the last message then: a view that has a smaller one has missed some. */
  status: string;
  seq: number;
  uid: string;
}

// -- what is shown -----------------------------------------------------------------------------------------------------

/** How a run stands. `running` is said while somebody drives; `pausing` and `stopping` while a call is still out. */
export type Status = "running" | "pausing" | "stopping" | "paused" | "waiting" | "failed" | "stopped" | "done" | "readonly";

/** A tool call. `problem` says why its arguments cannot be used; `coerced` what was changed to fit the tool. */
export interface Call {
  name: string;
  arguments: { [name: string]: Json };
  id: string;
  problem?: string;
  coerced?: string[];
  /** The arguments as the model wrote them, where that is no JSON object. */
  raw?: string;
}

/** Something that an observation shows beside its text. A `page` is drawn in a sandboxed frame, from `srcdoc` only. */
export type Item =
  | { type: "table"; header: string[]; rows: string[][]; more: number }
  | { type: "image"; mime: string; data: string }
  | { type: "page"; srcdoc: string }
  | { type: "source"; mime: string; text: string }
  | { type: "json"; value: Json };

export interface Usage {
  input: number;
  output: number;
  cached: number;
  reasoning: number;
  /** US dollars; 0 where no price is known. */
  cost: number;
  calls: number;
}

/** What every entry has. Texts longer than 20,000 characters are cut; `long` gives their whole length, `text` fetches them. */
interface Entry {
  /** The number of its row: stable, and unique in the tree of runs. */
  id: number;
  /** Its place in the trace: `run[n]` in Python. */
  n: number;
  role: string;
  /** The engine frame and the how-manieth step of that frame; `lane` is "" outside parallel steps. */
  path: string;
  index: number;
  lane: string;
  tags: { [name: string]: Json };
  author: string;
  /** The entry that an edit replaces, or 0; `reason` is what its author gave. */
  original: number;
  reason: string;
  seconds: number;
  /** All entries that stand at this place of the tree, oldest first; there is a choice of branches where there are several. */
  siblings?: number[];
  /** The engine, replayed, asked for something else here: a new prompt, another docstring. */
  drifted?: boolean;
  long?: { [field: string]: number };
}

export interface TaskEntry extends Entry {
  kind: "begin";
  messages: { role: string; text: string }[];
}

export interface ThinkEntry extends Entry {
  kind: "think";
  text: string;
  reasoning: string;
  calls: Call[];
  /** The final answer that the thought gives, or null while it asks for tools. */
  answer: string | null;
  /** What was written after an invented observation: shown struck through, never believed. */
  cut: string;
  problems: string[];
  /** Injected messages that its request carried: the receipts. */
  heard: string[];
  model: string;
  dialect: string;
  usage: Usage | null;
}

export interface ActEntry extends Entry {
  kind: "act";
  call: Call;
  ok: boolean;
  text: string;
  items: Item[];
}

export interface AskEntry extends Entry {
  kind: "ask";
  question: string;
  choices: string[];
  text: string;
}

export interface ConcludeEntry extends Entry {
  kind: "conclude";
  answer: string;
  /** The injected message that had to be answered first, or null. */
  more: string | null;
}

export type Card = TaskEntry | ThinkEntry | ActEntry | AskEntry | ConcludeEntry;

/** A step that could be performed now. `why` is set where it waits for a person, whose decision names it by `which`: that is its place, and what it would do. */
export interface Pending {
  kind: "think" | "act" | "ask" | "conclude" | "all";
  role: string;
  path: string;
  index: number;
  lane: string;
  call?: Call;
  /** The engine makes this call by itself: no thought asked for it, in which its arguments could be changed. */
  own?: boolean;
  effect?: string;
  /** The JSON schema of the tool's arguments, for a form. */
  schema?: { [name: string]: Json };
  question?: string;
  choices?: string[];
  why?: string;
  which?: string;
  /** It is being performed just now. */
  busy?: boolean;
}

/** One frame of the engine, outermost first; `file` is a name for `source`, `lane` is "" outside parallel steps. */
export interface Place {
  function: string;
  file: string;
  line: number;
  lane: string;
  around: boolean;
  locals: [name: string, repr: string][];
}

export interface Breakpoint {
  /** Names it in commands. */
  id: number;
  kind: "tool" | "role" | "line" | "error" | "repeat" | "when";
  /** The tool, the role, the line, or the Python expression; "" for `error` and `repeat`. */
  value: string;
  /** The file of a `line`, or "" for any. */
  file?: string;
  enabled: boolean;
  hits: number;
}

export interface Injection {
  id: string;
  text: string;
  /** The lane that it is for, or "" for all. */
  to: string;
  seen: boolean;
}

/** All that is not an entry: sent whole whenever something of it has changed. */
export interface Head {
  run: string;
  /** The variable that holds the run in Python, or "". */
  variable: string;
  task: string;
  engine: string;
  model: string;
  dialect: string;
  status: Status;
  /** Why the run does not go on by itself: a breakpoint, an error; "" when nothing is in the way. */
  hold: string;
  error: { type: string; text: string } | null;
  missing: string[];
  answer: string | null;
  pending: Pending[];
  where: Place[];
  usage: Usage;
  model_calls: number;
  tool_calls: number;
  breakpoints: Breakpoint[];
  injections: Injection[];
  can: { undo: boolean; redo: boolean };
  /** Seconds between two steps while it plays; 0 is as fast as it goes. */
  pace: number;
  tools: string[];
  roles: string[];
  /** How many lines the tree has; more than one can be compared. */
  branches: number;
  /** What a run that was not begun will do; of one that is over, an answer that its last entry does not say. */
  forecast: string;
}

/** A picture drawn by role and tags, whole whenever it has changed. `entry` is where a click leads. */
export interface Pictures {
  plan: { text: string; state: "todo" | "doing" | "done" | "failed" | "skipped"; entry: number }[];
  episodes: {
    number: number;
    label: string;
    score: number | null;
    ok: boolean | null;
    lesson: string;
    entry: number;
    entries: number;
  }[];
  tree: { node: string; parent: string; text: string; score: number | null; pruned: boolean; chosen: boolean; entry: number }[];
}

// -- kernel to view ----------------------------------------------------------------------------------------------------

export type ViewEvent =
  /** The trace, from place `keep` on, is `cards` now; a step that was taken only appends. */
  | { k: "line"; keep: number; cards: Card[]; total: number; map: string }
  /** The siblings of entries have changed. */
  | { k: "siblings"; of: { [id: string]: number[] } }
  | { k: "head"; head: Head }
  | { k: "pictures"; pictures: Pictures }
  /** What a model says just now, for the pending step of this place; it ends when the entry is there. */
  | { k: "delta"; path: string; index: number; text: string; reasoning: string }
  /** What was streamed for this place counts no more: the call failed or was cancelled. */
  | { k: "undelta"; path: string; index: number };

export type FromKernel =
  /** At most 25 a second and 1 MB each; `seq` goes up by one. */
  | { t: "events"; v: number; run: string; seq: number; ev: ViewEvent[] }
  /** The answer to `hello`: all anew, with the last cards. `first` is the place of the first of them. */
  | {
      t: "reset";
      v: number;
      run: string;
      seq: number;
      head: Head;
      first: number;
      total: number;
      cards: Card[];
      pictures: Pictures;
      /** One letter an entry, for the map: b begin, t think, a act, x act that failed, q ask, c conclude; capitals were edited. */
      map: string;
      streaming: { path: string; index: number; text: string; reasoning: string }[];
    }
  /** A command has arrived and waits for its turn: an edit, for the call that is out. */
  | { t: "taken"; v: number; cid: string }
  | { t: "ack"; v: number; cid: string; result: Json }
  | { t: "nak"; v: number; cid: string; error: string; type: string }
  /** Put these cells below the view; answered by `did`, with how many there are now (0: it cannot be done here). */
  | { t: "insert"; v: number; cid: string; cells: NotebookCell[] }
  /**
   * Put this in the place of the view in the notebook; answered by `did`, with how many outputs were replaced. Without
   * `now` a run has just ended, and the view waits for a hand that is in it.
   */
  | { t: "freeze"; v: number; cid: string; now: boolean; data: { [mime: string]: string } };

export interface NotebookCell {
  cell_type: "markdown" | "code";
  source: string;
  metadata: { [name: string]: Json };
  outputs?: { [name: string]: Json }[];
}

// -- view to kernel ----------------------------------------------------------------------------------------------------

/** What a person asks for; answered by `ack` with a result, or by `nak`. Entries are named by their `id`. */
export type Command =
  | { cmd: "play" }
  | { cmd: "pause" }
  | { cmd: "step" }
  /** All that is pending now, side by side; in a nested engine until that engine returns. */
  | { cmd: "step_over" }
  | { cmd: "stop" }
  | { cmd: "undo" }
  | { cmd: "redo" }
  | { cmd: "pace"; seconds: number }
  /**
   * `entry` null is a pending step, the one at `step`. `base` is the id of the last entry that the view knew: an edit of what
   * has moved is refused. An argument that is as it was shown is the call's own, which may be masked here.
   */
  | {
      cmd: "edit";
      entry: number | null;
      step?: { path: string; index: number };
      base: number;
      change: { text?: string; answer?: string; arguments?: Json; calls?: Json };
      reason: string;
    }
  /** Go back to before this entry and perform its step again. */
  | { cmd: "retry"; entry: number }
  /** `entry` becomes the last performed step. */
  | { cmd: "rewind"; entry: number }
  /** Go over to the branch of this sibling, as far as it came. */
  | { cmd: "switch"; entry: number }
  /** A second run after this entry, shown below this one; the result is `{run, forecast}`. */
  | { cmd: "fork"; entry: number }
  | { cmd: "inject"; text: string; to: string }
  | { cmd: "recall"; id: string }
  | { cmd: "approve"; which: string; arguments: Json | null; remember: boolean }
  | { cmd: "reject"; which: string; comment: string }
  | { cmd: "respond"; which: string; value: Json }
  | { cmd: "break"; kind: Breakpoint["kind"]; value: string; file?: string }
  | { cmd: "unbreak"; id: number }
  | { cmd: "enable"; id: number; enabled: boolean }
  /** The result is `{name, mime, text}` for a file, or `{inserted: n}` for "cells" (0: `fallback` names the file that was written instead). */
  | { cmd: "export"; format: "cells" | "ipynb" | "markdown" | "html" | "json" }
  | { cmd: "freeze" }
  // questions, which change nothing
  | { cmd: "page"; before: number; count: number } // result: Page
  | { cmd: "text"; entry: number; field: string } // result: {text}
  | { cmd: "original"; entry: number } // result: Card, the entry that an edit replaced
  | { cmd: "request"; entry: number } // result: RequestView
  | { cmd: "source"; file: string } // result: Source
  | { cmd: "branches" } // result: Branch[]
  | { cmd: "compare"; branch: number }; // result: Comparison

export type ToKernel =
  | { t: "hello"; v: number; have: number; can: { insert: boolean; freeze: boolean } }
  | { t: "did"; v: number; cid: string; count: number }
  | ({ t: "cmd"; v: number; cid: string } & Command);

/** Cards from place `first` on. */
export interface Page {
  first: number;
  cards: Card[];
}

/** A model call as it was sent. `same` messages at its beginning are those of the request before it (`previous`, or 0). */
export interface RequestView {
  entry: number;
  previous: number;
  same: number;
  /** The body as it was handed to the model: to a socket, for models with one. */
  body: { [name: string]: Json };
  previous_body: { [name: string]: Json } | null;
  /** The request in pieces, in order. `tokens` are counted by the provider in sum, and shared out by length (`estimated`). */
  segments: { label: string; kind: "system" | "tools" | "task" | "step" | "injected"; tokens: number; cached: boolean }[];
  tokens: number;
  estimated: boolean;
  /** Tokens that were read from a cache, and who says so: the provider, or the longest common prefix. */
  cached: { tokens: number; says: "provider" | "prefix" };
  usage: Usage | null;
}

export interface Source {
  file: string;
  /** The line number of the first line of `text`. */
  first: number;
  text: string;
}

/** A line of the tree; 0 is the present one. `parts` is the place at which it leaves the present one. */
export interface Branch {
  branch: number;
  steps: number;
  parts: number;
  last: string;
  entry: number;
}

/** The present line (`here`) beside another, from the first difference on; `first` is the place of it. */
export interface Comparison {
  branch: number;
  first: number;
  here: Card[];
  there: Card[];
  totals: { here: Usage; there: Usage };
}
