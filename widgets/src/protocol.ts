/**
 * The messages between the kernel and the view, version 1: JSON, sent as custom messages of one widget model per run.
 *
 * The kernel is the source of truth. The view sends commands; each is answered by `ack` or `nak`, and its effects
 * arrive as events in every view. Messages from the kernel are numbered (where none can be lost, only `reset` and
 * `events` need to be): a view that misses a number, or gets no answer, sends `hello` and receives a `reset`, and the
 * answers that it still waits for. Both sides ignore message kinds that they do not know. Any text here may come from a
 * model or a tool. Render it as text, never as markup.
 */

export const VERSION = 1;

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

/**
 * The synced traits: all that survives a reload. `uid` is the model's id, by which outputs of the notebook refer to it.
 */
export interface Traits {
  run_id: string;
  /** The status when the kernel last had nothing to send. */
  status: string;
  /** The number of the last message sent by then; a view with a smaller number has missed some. */
  seq: number;
  uid: string;
  /** The number of the newest moment: how often the run has been shown. */
  moment: number;
  /** The version of the module that draws the views. */
  module: string;
}

// -- what is shown ----------------------------------------------------------------------------------------------------

/** `running` while somebody drives the run; `pausing` and `stopping` while a call is still in progress. */
export type Status =
  | "running"
  | "pausing"
  | "stopping"
  | "paused"
  | "diverged"
  | "waiting"
  | "failed"
  | "stopped"
  | "done"
  | "readonly";

export interface Call {
  name: string;
  arguments: JsonObject;
  id: string;
  /** Why the arguments cannot be used. */
  problem?: string;
  /** What was converted to match the tool's schema. */
  coerced?: string[];
  /** The arguments as the model wrote them, if they are not a JSON object. */
  raw?: string;
}

/** Something that an observation shows besides its text. A `page` is drawn in a sandboxed frame, from `srcdoc` only. */
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
  /** US dollars; 0 if no price is known. */
  cost: number;
  calls: number;
}

/**
 * What all entries have in common. Texts of more than 20,000 characters are truncated; the command `text` loads them.
 */
interface Entry {
  /** The number of its row: stable, and unique in the tree of runs. */
  id: number;
  /** Its position in the trace: `run[n]` in Python. */
  n: number;
  role: string;
  /** The engine frame. */
  path: string;
  /** The index of the step within its frame. */
  index: number;
  /** "" outside parallel steps. */
  lane: string;
  /** The lane in words, as in "in parallel, 2 of 3". */
  lane_text?: string;
  /** The title of a thought with a special role. */
  title?: string;
  /** In words; `title` has the name and the value. */
  tags: { text: string; title: string }[];
  author: string;
  /** The entry that this edit replaces, or 0. */
  original: number;
  /** Why a result was edited, or recorded instead of being performed. */
  reason: string;
  /** It is the result of an earlier call, which was not made again. */
  repeats: boolean;
  seconds: number;
  /** All entries at this position of the tree, oldest first, itself included; absent if there is only one. */
  siblings?: number[];
  /** The names of the branches of the sibling before and the one after; "" if there is none. */
  beside?: [before: string, after: string];
  /** The engine, replayed, now asks for something else here, because a prompt or a docstring has changed. */
  drifted?: boolean;
  /** The full length of each truncated text, by field. */
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
  /** The final answer in this reply; null if the reply calls tools. */
  answer: string | null;
  /** What the model wrote after an observation that it made up: shown struck through, never used. */
  cut: string;
  problems: string[];
  /** The injected messages that its request included. */
  heard: string[];
  model: string;
  dialect: string;
  usage: Usage | null;
  /** The number of tokens whose probabilities are known; the command `tokens` loads them. */
  tokens?: number;
  /** The temperature that was set for the run when the model was asked; absent if none was. */
  temperature?: number;
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

/** A step that could be performed now. */
export interface PendingStep {
  kind: "think" | "act" | "ask" | "conclude" | "all";
  role: string;
  path: string;
  index: number;
  lane: string;
  lane_text?: string;
  title?: string;
  call?: Call;
  /**
   * The engine makes this call by itself: no thought asked for it, so there is no thought in which to edit its
   * arguments.
   */
  own?: boolean;
  effect?: string;
  /** The tool can tell what the call would do: the command `preview`. */
  has_preview?: boolean;
  /** The JSON schema of the tool's arguments, for a form. */
  schema?: JsonObject;
  question?: string;
  choices?: string[];
  /** Why the step waits for a person; absent if it does not. */
  why?: string;
  /** It would repeat an earlier call. `result` is the recorded one; null if it is unknown, or that of another call. */
  past?: { result: string | null; may_have_run: boolean };
  /** Identifies the step in the person's decision: its position, what it would do, and why it waits. */
  which?: string;
  /** It is being performed now. */
  busy?: boolean;
  /** The temperature of its request if the run sets none, null if that is not known; absent if its model takes none. */
  own_temperature?: number | null;
  /** What was recorded in its place before, the newest first; absent if there is nothing. */
  recordings?: { entry: number; text: string }[];
}

/** A frame of the engine; the outermost comes first. */
export interface EngineFrame {
  function: string;
  /** The name by which the command `source` loads its source. */
  file: string;
  line: number;
  /** "" outside parallel steps. */
  lane: string;
  lane_text?: string;
  around: boolean;
  /** What an around does, in words; "" if it does not tell. */
  does?: string;
  /** Each with a mark that is another one when its value has changed. */
  locals: [name: string, value: ValuePreview, mark: string][];
}

/** A step of the past: the frames that led to it, or why they are not known. Parallel lanes are left out. */
export interface Moment {
  entry: number;
  where: (EngineFrame & {
    /** What the variables that the step before has changed were before; "" for a new one. */
    before: { [name: string]: string };
  })[];
  problem: string;
}

/** A value in one line. */
export interface ValuePreview {
  text: string;
  kind: "text" | "chat" | "message" | "fields" | "list" | "scalar" | "object";
  /** How many members it has, or characters if it is a long text; 0 if it does not open. */
  size: number;
}

/** The last lines of an audit log about a run, the number of all its lines, and what is wrong with the file. */
export interface AuditLines {
  lines: { number: number; at: string; kind: string; text: string; why: string }[];
  total: number;
  problems: string[];
}

/** A bar of a flame, with the bars inside it. `entry` is its longest step on the current branch, or 0. */
export interface FlameBar {
  name: string;
  kind: "run" | "apart" | "lane" | "phase" | "name" | "step" | "overhead" | "more";
  seconds: number;
  tokens: number;
  /** US dollars; 0 if no price is known. */
  cost: number;
  calls: number;
  entry: number;
  bars: FlameBar[];
}

/** Where the time, the tokens and the money of a run went, on all branches. Times are in seconds. */
export interface Profile {
  /** The time from the first entry to the last, which is the sum of the others. */
  clock: { [part in ClockPart]: number } & { total: number };
  usage: Usage;
  /** Calls in parallel count once in `clock`, and each in `summed`. */
  rows: {
    by: "phase" | "model" | "tool";
    name: string;
    calls: number;
    clock: number;
    summed: number;
    input: number;
    output: number;
    cost: number;
    entry: number;
    /** Counted apart, because it is not on the current branch, or has no result. */
    apart: boolean;
  }[];
  /** `first` is the median time to the first piece of a reply, `per_second` is in tokens. */
  streaming: { model: string; calls: number; streamed: number; first: number | null; per_second: number | null }[];
  flame: FlameBar;
}

/** `unknown` stands for overhead and rests in an older recording, which does not tell them apart. */
export type ClockPart = "busy" | "overhead" | "waiting" | "paused" | "away" | "unknown";

/** What is inside a value: its members from `first` on, the rows of a table, or the whole of a text. */
export interface OpenedValue {
  total: number;
  first: number;
  members: [name: string, value: ValuePreview][];
  text?: string;
  header?: string[];
  rows?: [number: number, cells: string[]][];
  /** The members of a chat, or the message itself, as messages. */
  messages?: ChatMessage[];
}

export interface ChatMessage {
  role: string;
  text: string;
  /** The tool calls, as one would type them. */
  calls: string[];
  /** The length of a text that was shortened. */
  length?: number;
  /** Whether the message holds more than this. */
  more?: boolean;
}

export interface Breakpoint {
  /** Identifies it in commands. */
  id: number;
  kind: "tool" | "role" | "line" | "error" | "repeat" | "when";
  /** The tool, the role, the line, or the Python expression; "" for `error` and `repeat`. */
  value: string;
  /** The file of a `line`; "" for any file. */
  file?: string;
  enabled: boolean;
  hits: number;
}

export interface Injection {
  id: string;
  text: string;
  /** The lane that it is addressed to; "" for all. */
  to: string;
  to_text?: string;
  seen: boolean;
}

/** The state of the run apart from its entries; sent whole whenever any of it has changed. */
export interface Head {
  run: string;
  /** The variable that holds the run in Python, or "". */
  variable: string;
  /** From which run this one was forked, and after which of its entries; null if it was not. */
  forked: { run: string; n: number } | null;
  task: string;
  engine: string;
  model: string;
  dialect: string;
  status: Status;
  /** The run played when it came to rest, and nobody had asked it to pause. */
  was_playing: boolean;
  /** Why the run is held: a breakpoint or an error; "" if nothing holds it. */
  hold: string;
  error: { type: string; text: string } | null;
  /** Why nothing about the run can be changed; "" if it can. */
  read_only: string;
  /**
   * Of a run that is only looked at: the process that holds it, its status there, and what that process was asked to do
   * and has not done yet ("" if nothing); null if no other process holds it.
   */
  held?: { by: string; status: Status; asked: string } | null;
  answer: string | null;
  pending: PendingStep[];
  where: EngineFrame[];
  /** On the current branch, like the two counts. */
  usage: Usage;
  model_calls: number;
  tool_calls: number;
  /** On all branches of this run, as the budget counts. */
  spent: { model_calls: number; tool_calls: number };
  breakpoints: Breakpoint[];
  injections: Injection[];
  can: { undo: boolean; redo: boolean };
  /** Seconds between two steps while the run plays; 0 is full speed. */
  pace: number;
  /** The temperature that is set in the requests to models that take one; null leaves it to them. */
  temperature: number | null;
  /** The questions that models are being asked again at the moment, with the number of calls that are left. */
  asking: { [question: string]: number };
  tools: string[];
  roles: string[];
  /** How many branches the tree has. */
  branches: number;
  /** The positions at which a step was performed more than once: other branches begin there. */
  forks: number[];
  /**
   * What a run that has not begun will do, and which calls were made on lines that it has left; or the answer of a
   * finished run, if its last entry does not contain it.
   */
  forecast: string;
  /** The mode of its permissions asks about nothing. */
  bypassed?: boolean;
  /** The file of its audit log; "" without one. */
  audit?: string;
  /** What the place that shows the run refuses, and the view does not offer. */
  refused?: Refusable[];
}

/**
 * `change`: changing the run, or making it go on; `inside`: the source of the engine, its variables, and files that
 * contain them; `python`: evaluating Python expressions; `notebook`: inserting cells, and leaving a static form behind;
 * `settings`: decisions about all later runs, which are written into the settings file.
 */
export type Refusable = "change" | "inside" | "python" | "notebook" | "settings";

/**
 * Overviews that are drawn from roles and tags; sent whole whenever they have changed. A click on an item leads to
 * `entry`.
 */
export interface Pictures {
  plan: {
    text: string;
    state: "todo" | "doing" | "done" | "failed" | "skipped";
    entry: number;
    /** The numbers, from 1, of the steps that it needs. */
    needs?: number[];
    /** Where it is drawn, if the plan is a graph: to the right of the steps that it needs. */
    place?: [column: number, row: number];
  }[];
  episodes: {
    number: number;
    label: string;
    score: number | null;
    ok: boolean | null;
    lesson: string;
    entry: number;
    entries: number;
  }[];
  /** In reading order: each thought is followed by those below it. */
  tree: {
    node: string;
    parent: string;
    text: string;
    score: number | null;
    pruned: boolean;
    chosen: boolean;
    entry: number;
  }[];
}

// -- kernel to view ---------------------------------------------------------------------------------------------------

export type ViewEvent =
  /**
   * From position `keep` on, the trace is another one; a step that was performed only appends. `cards` are those from
   * `first` on: of many new ones, only the last are sent, and a view asks for the others when it needs them.
   */
  | { k: "line"; keep: number; first: number; cards: Card[]; total: number; map: string }
  /** The siblings of some entries have changed. */
  | { k: "siblings"; of: { [id: string]: number[] }; beside?: { [id: string]: [before: string, after: string] } }
  | { k: "head"; head: Head }
  | { k: "pictures"; pictures: Pictures }
  /** The next piece of a reply, for the pending step at this position. */
  | { k: "delta"; path: string; index: number; text: string; reasoning: string }
  /** Discard what was streamed for this position: the call has ended, failed or was cancelled. */
  | { k: "undelta"; path: string; index: number };

export type FromKernel =
  /** At most 25 a second and one with each answer, of 1 MB each; `seq` increases by one. */
  | { t: "events"; v: number; run: string; seq: number; ev: ViewEvent[] }
  /** The answer to `hello`: the whole state, with the last cards. `first` is the position of the first of them. */
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
      /**
       * One letter per entry, for the time slider: b begin, t think, h think that heard an injected message, a act,
       * x failed act, q ask, c conclude; capital if edited.
       */
      map: string;
      streaming: { path: string; index: number; text: string; reasoning: string }[];
    }
  /** A command has arrived and is queued, for example an edit behind a call in progress. */
  | { t: "taken"; v: number; seq?: number; cid: string }
  | { t: "ack"; v: number; seq?: number; cid: string; result: Json }
  | { t: "nak"; v: number; seq?: number; cid: string; error: string; type: string }
  /**
   * Insert these cells below the view. Answered by `did` with the number of inserted cells, 0 if that is impossible
   * here.
   */
  | { t: "insert"; v: number; seq?: number; cid: string; cells: NotebookCell[] }
  /** Replace the output of a moment by this one. Answered by `did` with the number of replaced outputs. */
  | { t: "moment"; v: number; seq?: number; cid: string; moment: number; data: { [mime: string]: string } }
  /** Open a view beside the notebook. Answered by `did` with 0 if that is impossible here. */
  | { t: "dock"; v: number; seq?: number; cid: string }
  /** Some page has said `gone`. Answered by `shown` by every page that shows the run. */
  | { t: "shown?"; v: number; seq?: number }
  /** The answer to `module`: what draws the views, and its style sheet. */
  | { t: "module"; v: number; seq?: number; code: string };

export interface NotebookCell {
  cell_type: "markdown" | "code";
  source: string;
  metadata: JsonObject;
  outputs?: JsonObject[];
}

// -- view to kernel ---------------------------------------------------------------------------------------------------

export type FileFormat = "ipynb" | "markdown" | "html" | "json";

/**
 * What a person asks for. Answered by `ack` with a result, see `Results`, or by `nak`. Entries are identified by `id`.
 */
export type Command =
  | { cmd: "play" }
  | { cmd: "pause" }
  | { cmd: "step" }
  /** Perform all pending steps in parallel; in a nested engine, continue until it returns. */
  | { cmd: "step_over" }
  | { cmd: "stop" }
  | { cmd: "undo" }
  | { cmd: "redo" }
  | { cmd: "pace"; seconds: number }
  /** Set the temperature of the next requests; null leaves it to the model. */
  | { cmd: "temperature"; value: number | null }
  /**
   * Edit `entry`; or, if that is null, the pending step at the position `step`. `base` is the id of the last entry that
   * the view knew: an edit of something that has changed since is refused. Arguments that come back as they were shown
   * keep their real value, which may be masked in the view.
   */
  | {
      cmd: "edit";
      entry: number | null;
      step?: { path: string; index: number };
      base: number;
      change: {
        text?: string;
        answer?: string;
        arguments?: JsonObject;
        calls?: Call[];
        /** What a person writes in the place of the model. */
        reply?: string;
        /** The entry whose result is used. */
        recording?: number;
      };
      reason: string;
    }
  /** Go back to before this entry and perform its step again. */
  | { cmd: "retry"; entry: number }
  /** Make `entry` the last performed step. */
  | { cmd: "rewind"; entry: number }
  /** Switch to the branch of this sibling, as far as it got. */
  | { cmd: "switch"; entry: number }
  /** Start a second run after this entry, shown below this one. */
  | { cmd: "fork"; entry: number }
  | { cmd: "inject"; text: string; to: string }
  | { cmd: "recall"; id: string }
  /** `remember` is true for this run, and "always" for later runs, too. */
  | { cmd: "approve"; which: string; arguments: JsonObject | null; remember: boolean | "always" }
  /** Use the recorded result of the earlier call that this one would repeat. */
  | { cmd: "reuse"; which: string }
  | { cmd: "reject"; which: string; comment: string; remember: boolean | "always" }
  | { cmd: "respond"; which: string; value: Json }
  | { cmd: "break"; kind: Breakpoint["kind"]; value: string; file?: string }
  | { cmd: "unbreak"; id: number }
  | { cmd: "enable"; id: number; enabled: boolean }
  | { cmd: "export"; format: FileFormat }
  | { cmd: "export"; format: "cells" }
  | { cmd: "freeze" }
  // queries, which change nothing
  | { cmd: "page"; before: number; count: number }
  | { cmd: "text"; entry: number; field: string }
  | { cmd: "original"; entry: number }
  | { cmd: "request"; entry: number }
  | { cmd: "tokens"; entry: number }
  /** How a reply would be read that a person writes for a pending thought. */
  | { cmd: "read"; step: { path: string; index: number }; text: string }
  | { cmd: "source"; file: string }
  /**
   * What is inside a local variable, at a path of positions of members; `frame` is the position in `where`. `order`
   * sorts the rows of a table by a column, descending if 1.
   */
  | {
      cmd: "value";
      frame: number;
      function: string;
      name: string;
      path: number[];
      first: number;
      order?: [column: number, descending: 0 | 1] | null;
      /** The entry at whose step the variable is looked at; 0 for now. */
      at?: number;
    }
  /** Where the engine was at the step of an entry. Nothing is performed. */
  | { cmd: "at"; entry: number }
  /** Note a guess that was made before the step of this entry, for the score table. */
  | { cmd: "judge"; entry: number; guess: string }
  /** What a call that waits would do, as its tool says. */
  | { cmd: "preview"; which: string }
  /** The lines of the audit log about this run. */
  | { cmd: "audit" }
  | { cmd: "profile" }
  | { cmd: "branches" }
  /** What going back to an entry would do; 0 stands for the last one. */
  | { cmd: "forecast"; entry: number }
  /** Ask for a thought without the stop sequence: one model call the first time, and nothing else is performed. */
  | { cmd: "talk_on"; entry: number }
  /**
   * What a model has replied so far when it was asked for a thought `times` times, and what is left to ask; null counts
   * all that is recorded. Nothing is asked.
   */
  | { cmd: "samples"; entry: number; times: number | null }
  /** Ask for a thought until there are `times` replies, or until it is stopped: only the model is called. */
  | { cmd: "resample"; entry: number; times: number }
  | { cmd: "stop_resample"; entry: number }
  /** The same for the ends of the run: forks that ask for a thought again and go on from there. Nothing is done. */
  | { cmd: "trials"; entry: number; times: number | null }
  /**
   * Make trials until there are `times` of them. `approved` says whether they may call tools that act on the world; null
   * is refused if there are such tools.
   */
  | { cmd: "make_trials"; entry: number; times: number; approved: boolean | null }
  | { cmd: "stop_trials"; entry: number }
  /** Show the run of a trial beside this one. */
  | { cmd: "open_trial"; entry: number; trial: number }
  | { cmd: "compare"; branch: number };

export type CommandName = Command["cmd"];

/** The result of each command, by its name. */
interface Results {
  play: null;
  pause: null;
  step: null;
  step_over: null;
  stop: null;
  undo: null;
  redo: null;
  pace: null;
  temperature: null;
  /** The id of the new entry. */
  edit: number;
  retry: null;
  rewind: null;
  switch: null;
  fork: { run: string; forecast: string };
  /** The id of the injection. */
  inject: string;
  recall: null;
  approve: null;
  reuse: null;
  reject: null;
  respond: null;
  break: Breakpoint;
  unbreak: null;
  enable: null;
  /** A file, or for the format "cells" what came of them: see `ResultOf`. */
  export: ExportedFile;
  freeze: null;
  page: Page;
  text: { text: string };
  /** The entry that the edit replaced. */
  original: Card;
  request: ModelRequest;
  tokens: ReplyTokens;
  read: ReadReply;
  judge: Judged;
  source: SourceFile;
  value: OpenedValue;
  at: Moment;
  preview: { text: string };
  audit: AuditLines;
  profile: Profile;
  branches: Branch[];
  forecast: Forecast;
  talk_on: TalkedOn;
  samples: Samples;
  resample: Samples;
  stop_resample: null;
  trials: Trials;
  make_trials: Trials;
  stop_trials: null;
  open_trial: { run: string; forecast: string };
  compare: Comparison;
}

export type ResultOf<C extends Command> = C extends { format: "cells" } ? InsertedCells : Results[C["cmd"]];

export type ToKernel =
  /** `unanswered` has the ids of the commands that this page waits for. */
  | { t: "hello"; v: number; have: number; can: Abilities; unanswered: string[] }
  /** The run is no longer to be seen in this page; the model is closed if it is not in any other page either. */
  | { t: "gone" }
  | { t: "shown" }
  /** Asks for the module; see `loader.ts`. */
  | { t: "module" }
  | { t: "did"; v: number; cid: string; count: number }
  | ({ t: "cmd"; v: number; cid: string } & Command);

/**
 * What the page around the views can do: insert cells, change outputs in the notebook, open a view beside the notebook.
 */
export interface Abilities {
  insert: boolean;
  settle: boolean;
  dock: boolean;
}

export interface ExportedFile {
  name: string;
  mime: string;
  text: string;
}

/** How many cells were inserted; if none could be, `fallback` is the name of the notebook file written instead. */
export interface InsertedCells {
  inserted: number;
  fallback?: string;
}

/** Cards from position `first` on. */
export interface Page {
  first: number;
  cards: Card[];
}

/** A model request as it was sent. Its first `same` messages equal those of the previous request. */
export interface ModelRequest {
  entry: number;
  /** The entry of the previous request, or 0. */
  previous: number;
  same: number;
  /** The body as it was handed to the model: what goes over the wire, for models behind an API. */
  body: JsonObject;
  previous_body: JsonObject | null;
  /** The request in pieces, in order. The provider counts the total of `tokens`, which is split by text length. */
  segments: {
    label: string;
    kind: "system" | "tools" | "task" | "step" | "injected";
    tokens: number;
    cached: boolean;
  }[];
  tokens: number;
  /** The total is an estimate too. */
  estimated: boolean;
  /** Tokens read from a cache, according to the provider or, failing that, to the longest common prefix. */
  cached: { tokens: number; says: "provider" | "prefix" };
  usage: Usage | null;
}

/** A guess beside what really happened; `right` is null if only the reader can judge it. */
export interface Judged {
  question: string;
  guess: string;
  actual: string;
  right: boolean | null;
}

/** What a reply asks for; a call with a `problem` fails with these words. */
export interface ReadReply {
  calls: { text: string; problem: string }[];
  answer: string | null;
  problems: string[];
  /** Whether it has the form that the model was asked for; if not, the model would be asked to write it again. */
  readable: boolean;
}

/** The first tokens of a reply, each with its probability and those of the likeliest others. */
export interface ReplyTokens {
  tokens: [text: string, probability: number, others?: { [text: string]: number }][];
  total: number;
}

export interface SourceFile {
  file: string;
  /** The line number of the first line of `text`. */
  first: number;
  text: string;
}

/** A branch of the tree; 0 is the current one. `parts` is the position at which it diverges from the current branch. */
export interface Branch {
  branch: number;
  /** What makes it different from the current branch, as in "observation of step 3 edited". */
  name: string;
  steps: number;
  parts: number;
  last: string;
  entry: number;
}

/** The current branch (`here`) beside another one (`there`), from position `first` on, where they diverge. */
export interface Comparison {
  branch: number;
  name: string;
  first: number;
  here: Card[];
  there: Card[];
  totals: { here: Usage; there: Usage };
}

/** What each verb would keep, perform again and not undo, in a few sentences; "" if it is not possible. */
export interface Forecast {
  undo: string;
  rewind: string;
  retry: string;
  fork: string;
}

/** What a model wrote without the stop sequence, and what it invented, beside what really happened. */
export interface TalkedOn {
  written: string;
  invented: string;
  really_written: string;
  observations: string[];
  sentence: string;
}

/** What a model replied when it was asked the same several times. */
export interface Samples {
  /** Identifies the model and the request. */
  question: string;
  /** How many replies were wanted, how many of them there are, and how many are recorded in all. */
  times: number;
  replies: number;
  recorded: number;
  /** The number of model calls that are left, and what they will probably cost, in words. */
  calls: number;
  price: string;
  /** The most frequent first; `entry` is a reply with it, and `happened` means that the run says the same. */
  outcomes: { text: string; count: number; happened: boolean; entry: number }[];
  /** How many other outcomes there are. */
  more: number;
  /** What the run says, if no reply does; else "". */
  happened: string;
  own_temperature?: number | null;
}

/** How the run ends if a thought is asked again and the run goes on from there. */
export interface Trials {
  /** Identifies the thought, and what is asked there. */
  question: string;
  /** How many trials were wanted, how many of them have ended, and how many are recorded in all. */
  times: number;
  ended: number;
  recorded: number;
  /** How many are left to make or to score, and what that will probably cost, in words. */
  left: number;
  price: string;
  /** What a person has to allow before, because tools may act on the world; else "". */
  asks: string;
  /** The mean score, in words; "" if the trials are not scored. */
  score: string;
  /** The most frequent first, each with the bounds of its share; `trial` is one that ended so. */
  outcomes: { text: string; count: number; low: number; high: number; happened: boolean; trial: number }[];
  more: number;
  happened: string;
  own_temperature?: number | null;
}
