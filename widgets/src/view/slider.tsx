/**
 * The time slider: the whole trace as a thin strip, with the kind of each entry, marks, the visible part, and a handle
 * at the moment that is shown.
 */

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Button, SUPPRESS_SHORTCUTS } from "../elements/controls";
import { formatNumber } from "../elements/format";
import type { Card } from "../protocol";
import { newest } from "../state/newest";
import type { Store } from "../state/store";
import { useStore } from "../state/useStore";
import type { ViewState } from "../state/viewState";

const KINDS: { [letter: string]: string } = {
  b: "task",
  t: "thought",
  h: "thought",
  a: "tool call",
  x: "failed tool call",
  q: "question",
  c: "conclusion",
};

type Mark = "failed" | "edited" | "message" | "fork";
/** Each mark with what it says about an entry, and its name in the legend. */
const MARKS: { [mark in Mark]: [about: string, name: string] } = {
  failed: ["failed", "failed"],
  edited: ["edited", "edited"],
  message: ["read an injected message", "message"],
  fork: ["another branch begins here", "branch"],
};

/** The most bins that are drawn: in a longer trace several entries share a bin. */
const MAX_BINS = 400;
/** The most marks of a kind: each is about as wide as a twentieth of a narrow view. */
const MAX_MARKS = 60;
/** The order in which the kinds in a bin decide its color. */
const PRIORITY = "qcbhta";

interface SliderProps {
  store: Store;
  view: ViewState;
  /** The positions of the first and the last visible entry. */
  first: number;
  last: number;
}

/** A slider over the moments: one for each entry, and one for now. Its cost is the same for any length of trace. */
export function Slider({ store, view, first, last }: SliderProps): JSX.Element {
  const map = useStore(store, (s) => s.map);
  const forks = useStore(store, (s) => s.head.forks);
  const selected = useStore(view, (v) => v.selected);
  const card = useStore(store, (s) => (selected ? s.trace.find(selected) : undefined));
  const [target, setTarget] = useState<number>();
  const strip = useMemo(() => stripImage(map), [map]);
  const marks = useMemo(() => marksOf(map, forks), [map, forks]);
  const now = map.length;
  const at = Math.min(target ?? card?.n ?? now, now);
  const move = useMemo(
    () =>
      newest(async (to: number) => {
        if (to < store.total) await view.goToPosition(to);
        else view.backToNow();
        setTarget((latest) => (latest === to ? undefined : latest));
      }),
    [store, view],
  );
  const share = (entries: number): number => entries / Math.max(1, now);
  return (
    <div class="ak-time">
      <div class="ak-track">
        <div
          class="ak-strip"
          style={{ backgroundImage: strip, left: along(share(-0.5)), width: "calc(100% - var(--ak-handle))" }}
        >
          <i style={{ left: `${100 * share(first)}%`, width: `${100 * share(last - first + 1)}%` }} />
        </div>
        {marks.map(([mark, n]) => (
          <b key={`${mark} ${n}`} class={`ak-mark ak-mark-${mark}`} style={{ left: along(share(n)) }} />
        ))}
        <input
          type="range"
          {...SUPPRESS_SHORTCUTS}
          aria-label="Time"
          aria-valuetext={describeMoment(map, forks, at, card)}
          title={describeMoment(map, forks, at, card)}
          min={0}
          max={now}
          value={at}
          onInput={(event) => {
            const to = Number(event.currentTarget.value);
            setTarget(to);
            void move(to);
          }}
        />
      </div>
      <p class="ak-moment">
        {at < now ? (
          <>
            <span>{describePlace(at, now - 1)}</span>
            <Button class="ak-action" onClick={() => view.backToNow()}>
              Back to now
            </Button>
          </>
        ) : (
          <>
            <span>{now > 1 ? `Now, after step ${formatNumber(now - 1)}` : "Now"}</span>
            <Legend marks={marks} />
          </>
        )}
      </p>
    </div>
  );
}

function describePlace(at: number, last: number): string {
  if (at === last)
    return at ? `You are looking at step ${formatNumber(at)}, the last one.` : "You are looking at the task.";
  const place = at ? `step ${formatNumber(at)}` : "the task";
  return `You are looking at ${place}; the run is at step ${formatNumber(last)}.`;
}

/** What the marks mean, of those that there are. */
function Legend({ marks }: { marks: [Mark, number][] }): JSX.Element {
  const kinds = new Set(marks.map(([mark]) => mark));
  return (
    <span class="ak-muted">
      {[...kinds].map((mark) => (
        <span key={mark}>
          <b class={`ak-mark ak-mark-${mark}`} /> {MARKS[mark][1]}
        </span>
      ))}
    </span>
  );
}

/** Return the place of a share of the way of the handle. */
function along(share: number): string {
  return `calc(var(--ak-handle) / 2 + (100% - var(--ak-handle)) * ${+share.toFixed(5)})`;
}

/** Describe a moment, for a screen reader and the tooltip: "step 7 of 23: Action search, edited". */
export function describeMoment(map: string, forks: readonly number[], n: number, card?: Card): string {
  const steps = Math.max(0, map.length - 1);
  if (n >= map.length) return steps ? `now, after step ${steps} of ${steps}` : "now";
  const letter = map[n] ?? "";
  const kind = letter.toLowerCase();
  const marks = marksAt(letter, forks.includes(n)).filter((mark) => mark !== "failed");
  const what = card?.n === n ? cardName(card) : (KINDS[kind] ?? "entry");
  return [`step ${n} of ${steps}: ${what}`, ...marks.map((mark) => MARKS[mark][0])].join(", ");
}

function cardName(card: Card): string {
  if (card.kind === "act") return `Action ${card.call.name}${card.ok ? "" : ", failed"}`;
  if (card.kind === "think") return card.answer === null ? "Thought" : "Answer";
  return card.kind === "ask" ? "Question" : card.kind === "begin" ? "Task" : "Conclusion";
}

function marksAt(letter: string, isFork: boolean): Mark[] {
  const marks: Mark[] = [];
  const kind = letter.toLowerCase();
  if (kind === "x") marks.push("failed");
  if (letter !== kind) marks.push("edited");
  if (kind === "h") marks.push("message");
  if (isFork) marks.push("fork");
  return marks;
}

/** Return the marks and their positions; of those of a kind that would cover each other, the first. */
export function marksOf(map: string, forks: readonly number[]): [Mark, number][] {
  const found = new Map<string, [Mark, number]>();
  const add = (mark: Mark, n: number): void => {
    const bin = `${mark} ${map.length > MAX_MARKS ? Math.floor((n * MAX_MARKS) / map.length) : n}`;
    if (!found.has(bin)) found.set(bin, [mark, n]);
  };
  for (const { index } of map.matchAll(/[A-Zxh]/g))
    for (const mark of marksAt(map[index] ?? "", false)) add(mark, index);
  for (const n of forks) if (n < map.length) add("fork", n);
  return [...found.values()];
}

/** Return a gradient: the kinds of the entries. */
export function stripImage(map: string): string {
  const bins = Math.min(MAX_BINS, map.length);
  const kinds: string[] = [];
  for (let bin = 0; bin < bins; bin++) {
    const letters = map.slice(Math.floor((bin * map.length) / bins), Math.floor(((bin + 1) * map.length) / bins));
    const lower = letters.toLowerCase();
    const kind = [...PRIORITY].find((letter) => lower.includes(letter)) ?? "";
    const failed = lower.split("x").length - 1;
    kinds.push(failed ? failure(failed / letters.length) : kind && `var(--ak-map-${kind === "h" ? "t" : kind})`);
  }
  return gradient(kinds);
}

/** Return a color that is visible for a single failure among many entries, and stronger for a larger share. */
function failure(share: number): string {
  return `color-mix(in srgb,var(--ak-map-x) ${Math.ceil(7 * share) * 10 + 30}%,var(--ak-map-t))`;
}
function gradient(colors: string[]): string {
  const stops: string[] = [];
  const width = 100 / colors.length;
  // a few entries are separate bars
  const gap = colors.length <= MAX_BINS / 4 ? width / 8 : 0;
  const percent = (at: number): string => `${+at.toFixed(2)}%`;
  let from = 0;
  colors.forEach((color, index) => {
    if (!gap && colors[index + 1] === color) return;
    const [start, end] = [percent(from * width), percent((index + 1) * width - gap)];
    stops.push(`${color || "transparent"} ${start} ${end}`);
    if (gap) stops.push(`transparent ${end} ${percent((index + 1) * width)}`);
    from = index + 1;
  });
  return `linear-gradient(to right,${stops.join(",")})`;
}
