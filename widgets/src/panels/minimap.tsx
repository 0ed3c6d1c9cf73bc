/** The whole trace as a thin strip: what each entry is, which failed, which were edited, and where one looks. */

import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Store } from "../store";
import { useOf } from "../use";
import { QUIET } from "./parts";

const NAMES: { [letter: string]: string } = {
  b: "task",
  t: "thought",
  a: "action",
  x: "action that failed",
  q: "question",
  c: "conclusion",
};

/** Stretches drawn: more entries than this share one, and the loudest of them is seen. */
const BINS = 400;
const LOUD = "qcbta";

export interface MinimapProps {
  store: Store;
  /** The places in sight, and what brings another one there. */
  first: number;
  last: number;
  go: (n: number) => void;
}

/** A slider over the trace. Its cost does not grow with it: two gradients, whatever its length. */
export function Minimap({ store, first, last, go }: MinimapProps): JSX.Element | null {
  const map = useOf(store, (it) => it.map);
  const bar = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<number>();
  const background = useMemo(() => drawn(map), [map]);
  const end = map.length - 1;
  if (end < 1) return null;
  const now = Math.min(at !== undefined && at >= first && at <= last ? at : first, end);
  const move = (n: number): void => {
    const to = Math.max(0, Math.min(end, Math.floor(n)));
    if (to === at && to >= first && to <= last) return;
    setAt(to);
    go(to);
  };
  const onPointer = (event: PointerEvent): void => {
    if (!(event.buttons & 1)) return;
    const { left, width } = (bar.current as HTMLElement).getBoundingClientRect();
    move(((event.clientX - left) / width) * map.length);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(map.length / 20));
    const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -end, End: end }[
      event.key
    ];
    if (by === undefined) return;
    event.preventDefault();
    move(now + by);
  };
  return (
    <div
      class="ak-minimap"
      role="slider"
      tabIndex={0}
      {...QUIET}
      ref={bar}
      aria-label="Map of the trace"
      aria-valuemin={0}
      aria-valuemax={end}
      aria-valuenow={now}
      aria-valuetext={named(map, now)}
      title={`${map.length} entries`}
      style={{ backgroundImage: background }}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        bar.current?.setPointerCapture(event.pointerId);
        onPointer(event);
      }}
      onPointerMove={onPointer}
    >
      <i style={{ left: `${(first / map.length) * 100}%`, width: `${((last - first + 1) / map.length) * 100}%` }} />
    </div>
  );
}

/** An entry of the map in words. */
export function named(map: string, n: number): string {
  const letter = map[n] ?? "";
  const low = letter.toLowerCase();
  return `entry ${n} of ${map.length - 1}, ${NAMES[low] ?? "entry"}${letter !== low ? ", edited" : ""}`;
}

/** The two rows: what the entries are, and below, which were edited. */
export function drawn(map: string): string {
  const bins = Math.min(BINS, map.length);
  const kinds: string[] = [];
  const edits: string[] = [];
  for (let bin = 0; bin < bins; bin++) {
    const part = map.slice(Math.floor((bin * map.length) / bins), Math.floor(((bin + 1) * map.length) / bins));
    const low = part.toLowerCase();
    const loud = [...LOUD].find((letter) => low.includes(letter)) ?? "";
    const failed = low.split("x").length - 1;
    const edited = [...part].filter((letter, n) => letter !== low[n]).length;
    kinds.push(failed ? mixed("x", failed / part.length, "var(--ak-map-t)") : loud && `var(--ak-map-${loud})`);
    edits.push(edited ? mixed("e", edited / part.length, "transparent") : "");
  }
  return `${gradient(kinds)},${gradient(edits)}`;
}

/** One among many is seen, and many are seen better. */
function mixed(letter: string, share: number, other: string): string {
  return `color-mix(in srgb,var(--ak-map-${letter}) ${Math.ceil(7 * share) * 10 + 30}%,${other})`;
}

function gradient(colours: string[]): string {
  const stops: string[] = [];
  const unit = 100 / colours.length;
  // few entries stand apart, as the bars that they are
  const gap = colours.length <= BINS / 4 ? unit / 8 : 0;
  const place = (at: number): string => `${+at.toFixed(2)}%`;
  let from = 0;
  colours.forEach((colour, index) => {
    if (!gap && colours[index + 1] === colour) return;
    const [start, end] = [place(from * unit), place((index + 1) * unit - gap)];
    stops.push(`${colour || "transparent"} ${start} ${end}`);
    if (gap) stops.push(`transparent ${end} ${place((index + 1) * unit)}`);
    from = index + 1;
  });
  return `linear-gradient(to right,${stops.join(",")})`;
}
