/** One live table of an experiment. */

import type { JSX } from "preact";
import { Button, SUPPRESS_SHORTCUTS } from "../elements/controls";
import { formatNumber } from "../elements/format";
import { editsText } from "../state/shortcuts";
import { useStore } from "../state/useStore";
import { Grid } from "./grid";
import { lookOf } from "./marks";
import { Status } from "./status";
import { Summary } from "./summary";
import type { TableStore } from "./tableStore";

interface TableViewProps {
  store: TableStore;
  /** Save the notebook, if the host allows it: the notebook's own shortcut does not work inside the table. */
  save?: (() => void) | undefined;
}

export function TableView({ store, save }: TableViewProps): JSX.Element {
  const onKeyDown = (event: KeyboardEvent): void => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s" && save) {
      event.preventDefault();
      save();
      return;
    }
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (isPlain || editsText(event)) event.stopPropagation();
  };
  return (
    <div
      class="ak-root ak-e-table"
      tabIndex={-1}
      {...SUPPRESS_SHORTCUTS}
      role="region"
      aria-label="Experiment"
      onKeyDown={onKeyDown}
    >
      <Status store={store} />
      <Notices store={store} />
      <Summary store={store} />
      <Grid store={store} />
      <Opened store={store} />
      <Legend store={store} />
      <Announcer store={store} />
    </div>
  );
}

function Notices({ store }: { store: TableStore }): JSX.Element {
  const notice = useStore(store, (s) => s.notice);
  const state = useStore(store, (s) => s.connectionState);
  const isBusy = useStore(store, (s) => s.isKernelBusy);
  const silence = isBusy ? "The kernel is busy, and answers as soon as it can." : "The kernel does not answer.";
  const connection = { lost: "The kernel is gone. This is the last that was known.", unresponsive: silence }[
    state as string
  ];
  return (
    <p class="ak-e-table-notice" role="status">
      {connection ?? notice}
    </p>
  );
}

const STATES = ["scored", "running", "failed", "unscored", "over budget", "waiting", "missing"] as const;

/** What the marks mean, with how many there are of each. */
function Legend({ store }: { store: TableStore }): JSX.Element {
  const { counts, running } = useStore(store, (s) => s.progress);
  const hasScores = useStore(store, (s) => s.figures.scores.length > 0);
  const number = (state: string): number => {
    if (state === "running") return running;
    return state === "missing" ? Math.max(0, (counts.missing ?? 0) - running) : (counts[state] ?? 0);
  };
  const shown = STATES.filter((state) => number(state) > 0 && !(hasScores && state === "scored"));
  return (
    <ul class="ak-e-legend" aria-label="What the marks mean">
      {hasScores &&
        [1, 0.5, 0].map((score) => {
          const look = lookOf([0, "scored", [score]], 0);
          return <Sample key={score} {...look} name={score === 0.5 ? "in tenths" : `score ${score}`} />;
        })}
      {shown.map((state) => {
        const look = lookOf([0, state], 0);
        return <Sample key={state} {...look} name={`${look.name}: ${formatNumber(number(state))}`} />;
      })}
    </ul>
  );
}

function Sample({ letter, kind, name, level }: ReturnType<typeof lookOf>): JSX.Element {
  return (
    <li>
      <span
        class={`ak-e-mark ak-e-mark-${kind}`}
        style={level === undefined ? undefined : `--level: ${level * 100}%`}
        aria-hidden="true"
      >
        {letter}
      </span>{" "}
      {name}
    </li>
  );
}

/** The runs that are open below the table, each with a button that closes it. */
function Opened({ store }: { store: TableStore }): JSX.Element | null {
  const opened = useStore(store, (s) => s.progress.opened);
  const { variants, cases, repeats } = useStore(store, (s) => s.head);
  const rows = useStore(store, (s) => s.rows);
  if (!opened.length) return null;
  const nameOf = (cell: number): string => {
    const number = Math.floor(cell / repeats);
    const id = rows.rows.find((row) => row.case === number % cases)?.id ?? `number ${number % cases}`;
    const repeat = repeats > 1 ? `, repeat ${cell % repeats}` : "";
    return `${variants[Math.floor(number / cases)]}, case ${id}${repeat}`;
  };
  return (
    <ul class="ak-e-opened" aria-label="Open below">
      {opened.map((cell) => (
        <li key={cell}>
          <span>{nameOf(cell)}</span>
          <Button
            class="ak-e-more"
            aria-label={`Close ${nameOf(cell)}`}
            onClick={() => void store.execute({ cmd: "close", cell })}
          >
            Close
          </Button>
        </li>
      ))}
    </ul>
  );
}

const SPOKEN = {
  asks: "waits for your yes",
  stopping: "is stopping",
  stopped: "is stopped",
  done: "is done",
  broken: "is broken",
};

/** What a screen reader is told: changes of the status, and each tenth of the way. */
function Announcer({ store }: { store: TableStore }): JSX.Element {
  const text = useStore(store, ({ progress: { status, done, all } }) => {
    const tenth = all ? Math.floor((10 * done) / all) * 10 : 0;
    return status === "running" ? `${tenth} % of the runs are over` : `The experiment ${SPOKEN[status]}.`;
  });
  return (
    <p class="ak-sr-only" role="log" aria-live="polite">
      {text}
    </p>
  );
}
