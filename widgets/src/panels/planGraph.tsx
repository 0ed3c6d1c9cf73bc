/** A plan as a graph: the steps as boxes, and lines from those that a step needs. The list below it has the same. */

import type { JSX } from "preact";
import { SUPPRESS_SHORTCUTS } from "../elements/controls";
import type { Pictures } from "../protocol";
import { STATE_SIGNS } from "./planStates";

type Step = Pictures["plan"][number];

const [COLUMN, ROW, WIDTH, HEIGHT] = [190, 44, 160, 32];
const MAX_LABEL = 20;

export function PlanGraph({ plan }: { plan: Step[] }): JSX.Element | null {
  const columns = 1 + Math.max(...plan.map(({ place }) => place?.[0] ?? -1));
  const rows = 1 + Math.max(...plan.map(({ place }) => place?.[1] ?? -1));
  if (!columns) return null;
  const [width, height] = [8 + (columns - 1) * COLUMN + WIDTH, 8 + (rows - 1) * ROW + HEIGHT];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard
    <div class="ak-plan-graph" tabIndex={0} role="region" aria-label="Graph of the plan" {...SUPPRESS_SHORTCUTS}>
      <svg role="img" aria-label="Which steps need which" width={width} height={height}>
        {plan.flatMap((step, index) =>
          (step.needs ?? []).map((need) => <path key={`${need} ${index}`} d={line(plan[need - 1], step)} />),
        )}
        {plan.map((step, index) => (
          <Box key={index} step={step} />
        ))}
      </svg>
    </div>
  );
}

function corner({ place: [column, row] = [0, 0] }: Step): [x: number, y: number] {
  return [4 + column * COLUMN, 4 + row * ROW];
}

/** Return a line that turns right behind the column of its start, and reaches its end from the left. */
function line(start: Step | undefined, end: Step): string {
  if (!start) return "";
  const [[x1, y1], [x2, y2]] = [corner(start), corner(end)];
  return `M${x1 + WIDTH} ${y1 + HEIGHT / 2}H${x1 + (COLUMN + WIDTH) / 2}V${y2 + HEIGHT / 2}H${x2}`;
}

function Box({ step }: { step: Step }): JSX.Element {
  const [x, y] = corner(step);
  const { text, state } = step;
  const label = text.length > MAX_LABEL ? `${text.slice(0, MAX_LABEL - 1)}…` : text;
  return (
    <g class={`ak-${state}`}>
      <title>{text}</title>
      <rect x={x} y={y} width={WIDTH} height={HEIGHT} rx={5} />
      <text x={x + WIDTH / 2} y={y + 20} text-anchor="middle">
        {STATE_SIGNS[state]} {label}
      </text>
    </g>
  );
}
