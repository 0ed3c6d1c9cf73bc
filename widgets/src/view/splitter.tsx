/** The border between the trace and the side panel, which can be moved. Its position is kept for all views of a page. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { SUPPRESS_SHORTCUTS } from "../elements/controls";

/** The width of the side panel, in percent of the view. */
const [SMALLEST, DEFAULT, LARGEST, STEP] = [25, 42, 75, 2];
const KEY = "agentkit.sideWidth";

/** Return the width that was kept, and a function that changes and keeps it. */
export function useSideWidth(): [percent: number, set: (percent: number) => void] {
  const [percent, setPercent] = useState(kept);
  const set = (value: number): void => {
    const width = Math.round(Math.min(LARGEST, Math.max(SMALLEST, value)));
    setPercent(width);
    keep(width);
  };
  return [percent, set];
}

// a host may forbid to keep anything
function kept(): number {
  try {
    const width = Number(localStorage.getItem(KEY));
    return width >= SMALLEST && width <= LARGEST ? width : DEFAULT;
  } catch {
    return DEFAULT;
  }
}

function keep(width: number): void {
  try {
    localStorage.setItem(KEY, String(width));
  } catch {
    return;
  }
}

export function Splitter({ percent, set }: { percent: number; set: (percent: number) => void }): JSX.Element {
  const onKeyDown = (event: KeyboardEvent): void => {
    const change = { ArrowLeft: STEP, ArrowRight: -STEP }[event.key];
    if (change === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    set(percent + change);
  };
  const onPointerMove = ({ currentTarget, pointerId, clientX }: PointerEvent): void => {
    const border = currentTarget as HTMLElement;
    const box = border.parentElement?.getBoundingClientRect();
    if (box?.width && border.hasPointerCapture(pointerId)) set((100 * (box.right - clientX)) / box.width);
  };
  return (
    <div
      class="ak-splitter"
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the side panel"
      aria-valuenow={percent}
      aria-valuemin={SMALLEST}
      aria-valuemax={LARGEST}
      title="Drag to share the width; double-click to reset"
      tabIndex={0}
      {...SUPPRESS_SHORTCUTS}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={onPointerMove}
      onDblClick={() => set(DEFAULT)}
    />
  );
}
