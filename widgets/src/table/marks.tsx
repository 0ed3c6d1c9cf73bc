/** How a run is drawn: by its letter, its shape and its colour, so that none of them is needed alone. */

import type { JSX } from "preact";
import { SUPPRESS_SHORTCUTS } from "../elements/controls";
import type { CellData, CellState } from "../tableProtocol";
import { memo } from "./memo";

export interface Look {
  letter: string;
  name: string;
  kind: string;
  /** From 0 (worst) to 1 (best), if there is a score. */
  level?: number;
}

const LOOKS: { [state in CellState]: Look } = {
  missing: { letter: "·", name: "missing", kind: "missing" },
  running: { letter: "…", name: "running", kind: "running" },
  scored: { letter: "●", name: "done", kind: "plain" },
  unscored: { letter: "–", name: "unscored", kind: "unscored" },
  failed: { letter: "!", name: "failed", kind: "failed" },
  waiting: { letter: "?", name: "waiting for you", kind: "waiting" },
  "over budget": { letter: "$", name: "over budget", kind: "budget" },
};

/** Return how a run is drawn, by one of its scores. A score from 0 to 1 is shown in tenths, others as they are. */
export function lookOf([, state, scores]: CellData, index: number): Look {
  const look = LOOKS[state] ?? LOOKS.missing;
  const score = scores?.[index];
  if (state !== "scored" || score === undefined || score === null) return look;
  const name = `score ${short(score)}`;
  if (score >= 0 && score <= 1) {
    const letter = score === 1 ? "✓" : score === 0 ? "✗" : String(Math.min(9, Math.max(1, Math.floor(score * 10))));
    return { letter, name, kind: "score", level: score };
  }
  return { letter: score < 0 ? "−" : "+", name, kind: "plain" };
}

/** Return a number with at most three digits after the point. */
export function short(number: number): string {
  return String(Number(number.toPrecision(Math.abs(number) < 1 ? 3 : 6)));
}

/** Return what a run is called, and what became of it. */
export function describe(cell: CellData, index: number, where: string): string {
  const text = cell[3];
  return `${where}: ${lookOf(cell, index).name}${text ? `. ${text}` : ""}`;
}

interface MarkProps {
  cell: CellData;
  score: number;
  label: string;
  row: number;
  isOpen: boolean;
  /** Whether the tab key leads to it. */
  isEntry: boolean;
}

function DrawnMark({ cell, score, label, row, isOpen, isEntry }: MarkProps): JSX.Element {
  const { letter, kind, level } = lookOf(cell, score);
  return (
    <button
      type="button"
      {...SUPPRESS_SHORTCUTS}
      class={`ak-e-mark ak-e-mark-${kind}`}
      style={level === undefined ? undefined : `--level: ${Math.round(level * 100)}%`}
      data-cell={cell[0]}
      data-row={row}
      tabIndex={isEntry ? 0 : -1}
      aria-label={label}
      aria-pressed={isOpen}
    >
      {letter}
    </button>
  );
}

export const Mark = memo(DrawnMark);
