/** Icons for buttons; each button also has a label in words. */

import type { JSX } from "preact";

const PATHS = {
  step: "M4 3v10M7 3l7 5-7 5z",
  play: "M4 2.5l9 5.5-9 5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  stop: "M3.5 3.5h9v9h-9z",
  over: "M2 8a5.5 5.5 0 0 1 10.5-2.5M13 2v4H9M6 12a2 2 0 1 0 4 0 2 2 0 1 0-4 0z",
  undo: "M3 6h6.5a3.5 3.5 0 0 1 0 7H6M6 3L3 6l3 3",
  redo: "M13 6H6.5a3.5 3.5 0 0 0 0 7H10M10 3l3 3-3 3",
  predict: "M1.5 8Q8 .5 14.5 8Q8 15.5 1.5 8zM6 8a2 2 0 1 0 4 0 2 2 0 1 0-4 0z",
  beside: "M1.5 3H7v10H1.5zM9.5 3h5v10h-5zM12 6v4M10.5 8h3",
  goBack: "M8 3L3.5 8L8 13M13 3L8.5 8L13 13",
  sidePanel: "M2 3h12v10H2zM9.5 3v10",
  present: "M1.5 2.5h13M3 2.5v8h10v-8M8 10.5v1.5M5 14.5l3-3 3 3",
} as const;

const FILLED = ["play", "pause", "stop"];

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg
      class={`ak-icon ${FILLED.includes(name) ? "ak-filled" : ""}`}
      viewBox="0 0 16 16"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
