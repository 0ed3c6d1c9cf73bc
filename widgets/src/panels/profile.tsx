/** Where the time, the tokens and the money of a run went: a flame whose bars lead to entries, and tables. */

import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { Button, SUPPRESS_SHORTCUTS } from "../elements/controls";
import { count, formatCost, formatNumber, formatSeconds, formatUsage } from "../elements/format";
import { ErrorMessage, Muted, Note } from "../elements/text";
import type { ClockPart, FlameBar, Profile } from "../protocol";
import type { Store } from "../state/store";
import { useHead, useQuery } from "../state/useStore";
import { layout, type Measure, type PlacedBar } from "./flameLayout";
import { Panel } from "./panel";

const MEASURES: { [measure in Measure]: string } = { seconds: "Time", tokens: "Tokens", cost: "Cost" };
const CLOCK: { [part in ClockPart]: string } = {
  busy: "models and tools",
  overhead: "overhead",
  waiting: "waiting for a person",
  paused: "paused",
  away: "away, between two processes",
  unknown: "between the calls",
};
const GROUPS: { [by in Profile["rows"][number]["by"]]: string } = { phase: "Phases", model: "Models", tool: "Tools" };
const ROW_HEIGHT = 24;

interface ProfilePanelProps {
  store: Store;
  goTo: (entry: number) => void;
}

export function ProfilePanel({ store, goTo }: ProfilePanelProps): JSX.Element {
  const { status } = useHead(store);
  const [asked, setAsked] = useState(0);
  const isRunning = status === "running";
  const lastEntry = isRunning ? "" : store.cards[store.cards.length - 1]?.id;
  const { value, error } = useQuery(store, `${status} ${lastEntry} ${asked}`, { cmd: "profile" });
  return (
    <Panel name="profile" label="Profile">
      {isRunning && <Button onClick={() => setAsked(asked + 1)}>Update</Button>}
      {value && <Figures profile={value} goTo={goTo} />}
      <ErrorMessage text={error} />
    </Panel>
  );
}

function Figures({ profile, goTo }: { profile: Profile; goTo: (entry: number) => void }): JSX.Element {
  const { clock, usage, rows, streaming, flame } = profile;
  const [chosen, setMeasure] = useState<Measure>("seconds");
  const measures = (Object.keys(MEASURES) as Measure[]).filter((measure) => flame[measure] > 0);
  const measure = measures.includes(chosen) ? chosen : "seconds";
  if (!rows.length) return <Note>No calls yet.</Note>;
  return (
    <>
      <p>
        <b>{formatTime(clock.total)}</b> <Muted>{formatUsage(usage)}</Muted>
      </p>
      <ClockBar clock={clock} />
      {measures.length > 1 && (
        <fieldset class="ak-measures" aria-label="The width of a bar">
          {measures.map((each) => (
            <Button key={each} aria-pressed={each === measure} onClick={() => setMeasure(each)}>
              {MEASURES[each]}
            </Button>
          ))}
        </fieldset>
      )}
      <Flame flame={flame} measure={measure} goTo={goTo} />
      {(Object.keys(GROUPS) as (keyof typeof GROUPS)[]).map((by) => (
        <Table key={by} by={by} rows={rows.filter((row) => row.by === by)} />
      ))}
      {streaming.some(({ per_second }) => per_second !== null) && <Streaming streaming={streaming} />}
    </>
  );
}

function ClockBar({ clock }: { clock: Profile["clock"] }): JSX.Element {
  const parts = (Object.keys(CLOCK) as ClockPart[]).filter((part) => clock[part] > 0);
  return (
    <>
      <div class="ak-bar" aria-hidden="true">
        {parts.map((part) => (
          <i key={part} class={`ak-clock-${part}`} style={{ flexGrow: clock[part] / clock.total }} />
        ))}
      </div>
      <ul class="ak-legend" aria-label="Time on the clock">
        {parts.map((part) => (
          <li key={part}>
            <i class={`ak-clock-${part}`} /> {CLOCK[part]} <Muted>{formatTime(clock[part])}</Muted>
          </li>
        ))}
      </ul>
    </>
  );
}

interface FlameProps {
  flame: FlameBar;
  measure: Measure;
  goTo: (entry: number) => void;
}

function Flame({ flame, measure, goTo }: FlameProps): JSX.Element | null {
  const bars = useMemo(() => layout(flame, measure), [flame, measure]);
  const [chosen, setChosen] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const tabStop = Math.min(chosen, bars.length - 1);
  const levels = Math.max(...bars.map(({ level }) => level)) + 1;
  const onKeyDown = (event: KeyboardEvent): void => {
    const target = targetOf(event.key, bars, tabStop);
    if (target === undefined) return;
    event.preventDefault();
    setChosen(target);
    box.current?.querySelectorAll<HTMLElement>("[role=treeitem]")[target]?.focus();
  };
  const shown = bars[tabStop]?.bar;
  if (!shown) return null;
  return (
    <>
      <div
        role="tree"
        class="ak-flame"
        aria-label={`${MEASURES[measure]} of the run, by what it was spent on`}
        style={{ height: `${levels * ROW_HEIGHT}px` }}
        ref={box}
        onKeyDown={onKeyDown}
        {...SUPPRESS_SHORTCUTS}
      >
        {bars.map(({ bar, level, left, width, place, beside }, index) => (
          <Button
            key={index}
            role="treeitem"
            class={`ak-flame-bar ak-flame-${bar.kind}`}
            aria-level={level + 1}
            aria-posinset={place}
            aria-setsize={beside}
            aria-label={describe(bar)}
            aria-selected={index === tabStop}
            title={describe(bar)}
            tabIndex={index === tabStop ? 0 : -1}
            style={{ left: `${left * 100}%`, width: `${width * 100}%`, top: `${level * ROW_HEIGHT}px` }}
            onFocus={() => setChosen(index)}
            onClick={() => {
              setChosen(index);
              if (bar.entry) goTo(bar.entry);
            }}
          >
            {bar.name}
          </Button>
        ))}
      </div>
      <p class="ak-muted ak-flame-chosen" aria-hidden="true">
        {describe(shown)}
      </p>
    </>
  );
}

/** Return the bar that a key leads to: up to the bar around it, down into it, left and right beside it. */
function targetOf(key: string, bars: PlacedBar[], from: number): number | undefined {
  const { parent, firstChild, level } = bars[from] as PlacedBar;
  const row = bars.flatMap((bar, index) => (bar.level === level ? [index] : []));
  const target = {
    ArrowUp: parent,
    ArrowDown: firstChild,
    ArrowLeft: row[row.indexOf(from) - 1],
    ArrowRight: row[row.indexOf(from) + 1],
    Home: 0,
    End: bars.length - 1,
  }[key];
  return target === undefined || target < 0 ? undefined : target;
}

function describe({ name, seconds, tokens, cost, calls }: FlameBar): string {
  const parts = [formatTime(seconds)];
  if (tokens) parts.push(count(tokens, "token"));
  if (cost) parts.push(formatCost(cost));
  if (calls) parts.push(count(calls, "call"));
  return `${name}: ${parts.join(", ")}`;
}

function formatTime(seconds: number): string {
  if (seconds >= 3_600) return `${(seconds / 3_600).toFixed(1)} h`;
  return seconds >= 120 ? `${(seconds / 60).toFixed(1)} min` : formatSeconds(seconds);
}

function Table({ by, rows }: { by: keyof typeof GROUPS; rows: Profile["rows"] }): JSX.Element | null {
  if (!rows.length) return null;
  return (
    <table>
      <caption>{GROUPS[by]}</caption>
      <thead>
        <tr>
          {[by, "calls", "on the clock", "summed", "tokens", "cost"].map((label) => (
            <th key={label} scope="col">
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.name} class={row.apart ? "ak-muted" : ""}>
            <th scope="row">{row.name}</th>
            <td>{formatNumber(row.calls)}</td>
            <td>{formatTime(row.clock)}</td>
            <td>{formatTime(row.summed)}</td>
            <td>{row.input + row.output ? formatNumber(row.input + row.output) : ""}</td>
            <td>{row.cost ? formatCost(row.cost) : ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Streaming({ streaming }: { streaming: Profile["streaming"] }): JSX.Element {
  return (
    <table>
      <caption>Replies</caption>
      <thead>
        <tr>
          <th scope="col">model</th>
          <th scope="col">to the first piece</th>
          <th scope="col">tokens a second</th>
        </tr>
      </thead>
      <tbody>
        {streaming.map(({ model, first, per_second }) => (
          <tr key={model}>
            <th scope="row">{model}</th>
            <td>{first === null ? "" : formatTime(first)}</td>
            <td>{per_second === null ? "" : formatNumber(Math.round(per_second))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
