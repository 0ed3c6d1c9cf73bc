/**
 * The messages between the kernel and the live table of an experiment; the envelopes are those of `protocol.ts`. Any text
 * here may come from a model or a file. Render it as text, never as markup.
 */

import type { FromKernel } from "./protocol";

/** What never changes. Cells are numbered variant by variant, then case by case, then repeat by repeat. */
export interface TableHead {
  name: string;
  variants: string[];
  cases: number;
  repeats: number;
  /** Whether a run that failed counts as 0. */
  failed: "zero" | "drop";
}

export type TableStatus = "asks" | "running" | "stopping" | "stopped" | "done" | "broken";

export interface TableProgress {
  status: TableStatus;
  done: number;
  all: number;
  /** How many of the done ones were known before. */
  cached: number;
  /** How many are being made at the moment. */
  running: number;
  counts: { [state: string]: number };
  /** US dollars, those of judges included. */
  cost: number;
  /** What the missing runs will probably cost. */
  rest_cost: number;
  /** Seconds; null if that is not known. */
  left: number | null;
  /** What has to be said yes to before it begins, or "". */
  question: string;
  problem: string;
  /** How many have failed or could not be scored, and can be tried again. */
  again: number;
  /** The cells whose runs are shown below the table. */
  opened: number[];
  /** How many of these have been changed by hand. */
  edited: number;
}

/** A value with the ends of its interval; null for an end that is not known. */
export type Interval = [value: number, low: number | null, high: number | null];

export interface VariantLine {
  variant: string;
  /** In the order of the scores. */
  estimates: (Interval | null)[];
  scored: number;
  /** How many are in each other state that occurs. */
  counts: { [state: string]: number };
  calls: number | null;
  tokens: number | null;
  cost: number;
  seconds: number | null;
}

export type Verdict = "better" | "worse" | "cannot tell";

export interface Difference {
  score: string;
  variant: string;
  estimate: Interval;
  verdict: Verdict;
  /** What is compared. */
  title: string;
  /** On how many cases which one was better, and how surprising that is. */
  counts: string;
  /** What this many cases cannot tell, or "". */
  hint: string;
}

export interface Figures {
  /** The names of the scores. */
  scores: string[];
  lines: VariantLine[];
  /** Each variant compared with the first one; empty while runs are missing. */
  differences: Difference[];
  remarks: string[];
  /** The differences are still being computed. */
  comparing: boolean;
}

export type CellState = "missing" | "running" | "scored" | "unscored" | "failed" | "waiting" | "over budget";

/** The scores are in the order of their names; the text is what it answered, or its problem. */
export type CellData = [number: number, state: CellState, scores?: (number | null)[], text?: string];

export interface TableRow {
  /** The number of the case. */
  case: number;
  id: string;
  task: string;
  /** How much lower the worst variant scores than the first one. */
  lost: number;
  cells: CellData[];
}

export interface TableRows {
  /** How many rows there are with this filter. */
  total: number;
  first: number;
  rows: TableRow[];
}

export type RowOrder = "given" | "id" | "lost" | "problems";
export type RowFilter = "all" | "lost" | "problems" | "missing";

export type TableEvent =
  | { k: "progress"; progress: TableProgress }
  | { k: "figures"; figures: Figures }
  | { k: "cells"; cells: CellData[] };

export type TableMessage =
  | {
      t: "reset";
      v: number;
      run: string;
      seq: number;
      head: TableHead;
      progress: TableProgress;
      figures: Figures;
    }
  | { t: "events"; v: number; run: string; seq: number; ev: TableEvent[] }
  | Exclude<FromKernel, { t: "reset" | "events" }>;

export type TableCommand =
  /** Run what is missing; `question` is the one that the person says yes to. */
  | { cmd: "begin"; question: string }
  | { cmd: "stop" }
  /** Show the run of a cell below the table, or no longer. */
  | { cmd: "open"; cell: number }
  | { cmd: "close"; cell: number }
  | { cmd: "rows"; first: number; count: number; order: RowOrder; only: RowFilter; text: string; score: string };

interface TableResults {
  begin: null;
  stop: null;
  open: { run: string; read_only: string };
  close: null;
  rows: TableRows;
}

export type TableResultOf<C extends TableCommand> = TableResults[C["cmd"]];
