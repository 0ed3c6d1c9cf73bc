/** The whole trace as a thin strip: the kind of each entry, failures, edits, and the visible part. */

import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { SUPPRESS_SHORTCUTS } from "../elements/controls";
import { count } from "../elements/format";
import type { Store } from "../state/store";
import { useStore } from "../state/useStore";

const KINDS: { [letter: string]: string } = {
  b: "task",
  t: "thought",
  a: "tool call",
  x: "failed tool call",
  q: "question",
  c: "conclusion",
};

/** The most bins that are drawn: in a longer trace several entries share a bin. */
const MAX_BINS = 400;
/** The order in which the kinds in a bin decide its color. */
const PRIORITY = "qcbta";

interface MinimapProps {
  store: Store;
  /** The positions of the first and the last visible entry. */
  first: number;
  last: number;
  goTo: (n: number) => void;
}

/** A slider over the trace. It costs the same for any length of trace: two gradients. */
export function Minimap({ store, first, last, goTo }: MinimapProps): JSX.Element | null {
  const map = useStore(store, (s) => s.map);
  const bar = useRef<HTMLDivElement>(null);
  const [target, setTarget] = useState<number>();
  const backgroundImage = useMemo(() => minimapImage(map), [map]);
  const end = map.length - 1;
  if (end < 1) return null;
  const isVisible = (n: number): boolean => n >= first && n <= last;
  const now = Math.min(target !== undefined && isVisible(target) ? target : first, end);
  const move = (n: number): void => {
    const to = Math.max(0, Math.min(end, Math.floor(n)));
    if (to === target && isVisible(to)) return;
    setTarget(to);
    goTo(to);
  };
  const onPointer = (event: PointerEvent): void => {
    if (!(event.buttons & 1)) return;
    const { left, width } = (bar.current as HTMLElement).getBoundingClientRect();
    move(((event.clientX - left) / width) * map.length);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(map.length / 20));
    const offset = {
      ArrowLeft: -1,
      ArrowUp: -1,
      ArrowRight: 1,
      ArrowDown: 1,
      PageUp: -page,
      PageDown: page,
      Home: -end,
      End: end,
    }[event.key];
    if (offset === undefined) return;
    event.preventDefault();
    move(now + offset);
  };
  const percent = (entries: number): string => `${(entries / map.length) * 100}%`;
  return (
    <div
      class="ak-minimap"
      role="slider"
      tabIndex={0}
      {...SUPPRESS_SHORTCUTS}
      ref={bar}
      aria-label="Minimap of the trace"
      aria-valuemin={0}
      aria-valuemax={end}
      aria-valuenow={now}
      aria-valuetext={describeEntry(map, now)}
      title={count(map.length, "entry", "entries")}
      style={{ backgroundImage }}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        bar.current?.setPointerCapture(event.pointerId);
        onPointer(event);
      }}
      onPointerMove={onPointer}
    >
      <i style={{ left: percent(first), width: percent(last - first + 1) }} />
    </div>
  );
}

export function describeEntry(map: string, n: number): string {
  const letter = map[n] ?? "";
  const kind = letter.toLowerCase();
  return `entry ${n} of ${map.length - 1}, ${KINDS[kind] ?? "entry"}${letter !== kind ? ", edited" : ""}`;
}

/** Return two gradients, one above the other: the kinds of the entries, and which of them were edited. */
export function minimapImage(map: string): string {
  const bins = Math.min(MAX_BINS, map.length);
  const kinds: string[] = [];
  const edits: string[] = [];
  for (let bin = 0; bin < bins; bin++) {
    const letters = map.slice(Math.floor((bin * map.length) / bins), Math.floor(((bin + 1) * map.length) / bins));
    const lower = letters.toLowerCase();
    const kind = [...PRIORITY].find((letter) => lower.includes(letter)) ?? "";
    const failed = lower.split("x").length - 1;
    const edited = [...letters].filter((letter, index) => letter !== lower[index]).length;
    kinds.push(failed ? mix("x", failed / letters.length, "var(--ak-map-t)") : kind && `var(--ak-map-${kind})`);
    edits.push(edited ? mix("e", edited / letters.length, "transparent") : "");
  }
  return `${gradient(kinds)},${gradient(edits)}`;
}

/** Return a color that is visible for a single entry among many, and stronger for a larger share. */
function mix(letter: string, share: number, other: string): string {
  return `color-mix(in srgb,var(--ak-map-${letter}) ${Math.ceil(7 * share) * 10 + 30}%,${other})`;
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
