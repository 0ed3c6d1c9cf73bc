/** The figures of each variant, and how it compares with the first one: numbers, and intervals on a common axis. */

import type { JSX } from "preact";
import { SUPPRESS_SHORTCUTS } from "../elements/controls";
import { formatNumber } from "../elements/format";
import { Note } from "../elements/text";
import { useStore } from "../state/useStore";
import type { Figures, Interval, VariantLine } from "../tableProtocol";
import { short } from "./marks";
import { money } from "./status";
import type { TableStore } from "./tableStore";

export function Summary({ store }: { store: TableStore }): JSX.Element {
  const figures = useStore(store, (s) => s.figures);
  const { lines, scores } = figures;
  const states = [...new Set(lines.flatMap(({ counts }) => Object.keys(counts)))];
  const axes = scores.map((_, n) => axisOf(lines.map(({ estimates }) => estimates[n])));
  return (
    <section aria-label="Variants">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it may scroll, and contains nothing else to focus */}
      <div class="ak-e-table-scroll" tabIndex={0} {...SUPPRESS_SHORTCUTS} role="group" aria-label="Figures">
        <table class="ak-e-figures">
          <thead>
            <tr>
              <th scope="col">variant</th>
              {scores.map((score, n) => (
                <th scope="col" key={score}>
                  {score} <Ends axis={axes[n]} />
                </th>
              ))}
              <th scope="col">scored</th>
              {states.map((state) => (
                <th scope="col" key={state}>
                  {state}
                </th>
              ))}
              <th scope="col">calls</th>
              <th scope="col">tokens</th>
              <th scope="col">cost</th>
              <th scope="col">median s</th>
            </tr>
          </thead>
          <tbody>
            {lines.map((line) => (
              <tr key={line.variant}>
                <th scope="row">{line.variant}</th>
                {scores.map((score, n) => (
                  <td key={score}>
                    <Whisker interval={line.estimates[n]} axis={axes[n]} />
                  </td>
                ))}
                <td>{formatNumber(line.scored)}</td>
                {states.map((state) => (
                  <td key={state}>{formatNumber(line.counts[state] ?? 0)}</td>
                ))}
                <Used {...line} />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {figures.remarks.map((remark) => (
        <Note key={remark}>{remark}</Note>
      ))}
      <Differences {...figures} />
    </section>
  );
}

function Used({ calls, tokens, cost, seconds }: VariantLine): JSX.Element {
  return (
    <>
      <td>{calls?.toFixed(1)}</td>
      <td>{tokens === null ? "" : formatNumber(Math.round(tokens))}</td>
      <td>{cost ? money(cost) : ""}</td>
      <td>{seconds?.toFixed(2)}</td>
    </>
  );
}

const VERDICTS = { better: "▲ better", worse: "▼ worse", "cannot tell": "= cannot tell" };

function Differences({ differences, comparing, lines }: Figures): JSX.Element | null {
  if (comparing) return <Note>The variants are being compared…</Note>;
  if (!differences.length) return null;
  return (
    <ul class="ak-e-differences" aria-label={`Compared with ${lines[0]?.variant ?? "the first variant"}`}>
      {differences.map(({ score, variant, estimate, verdict, title, counts, hint }) => {
        const axis = axisOf(
          differences.filter((other) => other.score === score).map((other) => other.estimate),
          true,
        );
        return (
          <li key={`${score} ${variant}`}>
            <b class={`ak-e-verdict ak-e-verdict-${verdict.replace(" ", "-")}`}>{VERDICTS[verdict]}</b>
            <span class="ak-e-compared">{title}</span>
            <Whisker interval={estimate} axis={axis} isDifference />
            <span class="ak-muted">
              {counts}
              {hint && `; ${hint}`}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

type Axis = [low: number, high: number];

/** Return an axis that contains intervals; for shares it is 0 to 1, and for differences it has 0 in its middle. */
export function axisOf(intervals: (Interval | null | undefined)[], isDifference = false): Axis | undefined {
  const known = intervals.flatMap((interval) => interval ?? []).filter((end): end is number => end !== null);
  if (!known.length) return undefined;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  if (isDifference) {
    const most = Math.max(Math.abs(low), Math.abs(high)) || 1;
    return [-most, most];
  }
  if (low >= 0 && high <= 1) return [0, 1];
  const margin = (high - low) * 0.05 || 1;
  return [low - margin, high + margin];
}

function Ends({ axis }: { axis: Axis | undefined }): JSX.Element | null {
  return axis ? (
    <span class="ak-muted ak-e-axis">
      {short(Number(axis[0].toPrecision(3)))} to {short(Number(axis[1].toPrecision(3)))}
    </span>
  ) : null;
}

interface WhiskerProps {
  interval: Interval | null | undefined;
  axis: Axis | undefined;
  isDifference?: boolean;
}

/** A dot with whiskers, and the same as a text. */
function Whisker({ interval, axis, isDifference = false }: WhiskerProps): JSX.Element | null {
  if (!interval || !axis) return null;
  const [value, low, high] = interval;
  const at = (number: number): number => (100 * (number - axis[0])) / (axis[1] - axis[0]);
  const [left, right] = [at(low ?? axis[0]), at(high ?? axis[1])];
  const show = (number: number): string => signed(number, isDifference);
  return (
    <span class="ak-e-interval">
      <span class={isDifference ? "ak-e-whisker ak-e-centred" : "ak-e-whisker"} aria-hidden="true">
        <i style={{ left: `${left}%`, width: `${right - left}%` }} />
        <b style={{ left: `${at(value)}%` }} />
      </span>
      <span>
        {show(value)} <span class="ak-muted">{range(low, high, show)}</span>
      </span>
    </span>
  );
}

function signed(number: number, isDifference: boolean): string {
  return `${isDifference && number > 0 ? "+" : ""}${number.toFixed(3)}`.replace("-", "−");
}

function range(low: number | null, high: number | null, show: (number: number) => string): string {
  return low === null || high === null ? "(no interval)" : `[${show(low)}, ${show(high)}]`;
}
