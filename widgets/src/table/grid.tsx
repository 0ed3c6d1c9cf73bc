/** The runs of an experiment: a row for each case, a column for each variant, and a mark for each repeat. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button, ScrollArea, Select, TextField, ToolButton } from "../elements/controls";
import { formatNumber } from "../elements/format";
import { Note } from "../elements/text";
import { useStore } from "../state/useStore";
import type { CellData, RowFilter, RowOrder, TableRow } from "../tableProtocol";
import { describe, lookOf, Mark, short } from "./marks";
import type { TableStore } from "./tableStore";

/** Milliseconds without a key press after which a text is looked for. */
const TYPING = 300;
/** How many repeats of a case are drawn until the others are asked for. */
const REPEATS = 24;

const ORDERS: [RowOrder, string][] = [
  ["given", "as given"],
  ["id", "by id"],
  ["lost", "lost most first"],
  ["problems", "problems first"],
];
const FILTERS: [RowFilter, string][] = [
  ["all", "all cases"],
  ["lost", "lost against the first"],
  ["problems", "with a problem"],
  ["missing", "with missing runs"],
];

export function Grid({ store }: { store: TableStore }): JSX.Element {
  const { variants } = useStore(store, (s) => s.head);
  const rows = useStore(store, (s) => s.rows);
  const opened = useStore(store, (s) => s.progress.opened);
  const score = useStore(store, (s) => s.scoreIndex);
  const [entry, setEntry] = useState(-1);
  const [hovered, setHovered] = useState(-1);
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const table = useRef<HTMLTableElement>(null);
  const cells = rows.rows.flatMap((row) => row.cells.map((cell) => ({ row, cell })));
  const first = cells[0]?.cell[0] ?? -1;
  const entered = cells.some(({ cell }) => cell[0] === entry) ? entry : first;
  const pointed = cells.find(({ cell }) => cell[0] === hovered);
  const isOpen = new Set(opened);
  const open = (number: number): void => void store.execute({ cmd: "open", cell: number });
  const onFocus = (event: FocusEvent): void => {
    const number = numberOf(event.target);
    if (number < 0) return;
    setEntry(number);
    setHovered(number);
  };
  return (
    <section aria-label="Runs">
      <Controls store={store} />
      <ScrollArea class="ak-e-table-scroll ak-e-grid-scroll">
        {/* one handler for all marks: there may be hundreds of them */}
        {/* biome-ignore lint/a11y/useKeyWithMouseEvents: onFocusIn below is the same for keys */}
        <table
          class="ak-e-grid"
          ref={table}
          aria-label="Runs by case and variant"
          onClick={(event) => numberOf(event.target) >= 0 && open(numberOf(event.target))}
          onMouseOver={(event) => numberOf(event.target) >= 0 && setHovered(numberOf(event.target))}
          onFocusIn={onFocus}
          onKeyDown={(event) => moveFocus(event, table.current)}
        >
          <thead>
            <tr>
              <th scope="col">case</th>
              {variants.map((variant) => (
                <th scope="col" key={variant}>
                  {variant}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.rows.map((row, n) => (
              <tr key={row.case}>
                <th scope="row" title={row.task}>
                  <span class="ak-e-case">{row.id}</span> <span class="ak-e-task">{row.task}</span>
                  {row.lost > 0 && (
                    <span class="ak-e-lost" title={`What was lost against ${variants[0]}, at most`}>
                      {" "}
                      −{short(Number(row.lost.toPrecision(2)))}
                    </span>
                  )}
                </th>
                {variants.map((variant, v) => {
                  const key = `${row.case} ${v}`;
                  const all = cellsOf(row, v, variants.length);
                  const shown = unfolded.has(key) ? all : all.slice(0, REPEATS);
                  return (
                    <td key={variant}>
                      {shown.map((cell, repeat) => (
                        <Mark
                          key={cell[0]}
                          cell={cell}
                          score={score}
                          row={n}
                          label={describe(cell, score, placeOf(row, variant, repeat, all.length))}
                          isOpen={isOpen.has(cell[0])}
                          isEntry={cell[0] === entered}
                        />
                      ))}
                      {shown.length < all.length && (
                        <Button class="ak-e-more" onClick={() => setUnfolded(new Set([...unfolded, key]))}>
                          {formatNumber(all.length - shown.length)} more
                        </Button>
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollArea>
      {!rows.rows.length && <Note>No case matches.</Note>}
      <p class="ak-e-pointed" aria-hidden="true">
        {pointed ? (
          <Pointed {...pointed} score={score} store={store} />
        ) : (
          "Point at a mark, or move with the arrow keys."
        )}
      </p>
      <Pager store={store} />
    </section>
  );
}

/** What a mark stands for, in a line whose place does not change. */
function Pointed(props: { row: TableRow; cell: CellData; score: number; store: TableStore }): JSX.Element {
  const { row, cell, score, store } = props;
  const { variants, repeats } = store.head;
  const at = row.cells.indexOf(cell);
  const variant = variants[Math.floor(at / repeats)] ?? "";
  return (
    <>
      <b>{lookOf(cell, score).name}</b> · {placeOf(row, variant, at % repeats, repeats)}
      {cell[3] && <> · {cell[3]}</>}
    </>
  );
}

function placeOf(row: TableRow, variant: string, repeat: number, repeats: number): string {
  return `${variant}, case ${row.id}${repeats > 1 ? `, repeat ${repeat}` : ""}`;
}

function cellsOf(row: TableRow, variant: number, variants: number): CellData[] {
  const each = row.cells.length / variants;
  return row.cells.slice(variant * each, (variant + 1) * each);
}

/** Return the number of the cell whose mark an event is about, or -1. */
function numberOf(target: EventTarget | null): number {
  const mark = target instanceof Element ? target.closest<HTMLElement>("[data-cell]") : null;
  return mark ? Number(mark.dataset.cell) : -1;
}

/** Move the focus from mark to mark: within a row, and to the nearest one of the row above or below. */
function moveFocus(event: KeyboardEvent, table: HTMLElement | null): void {
  const marks = [...(table?.querySelectorAll<HTMLElement>("[data-cell]") ?? [])];
  const at = marks.indexOf(event.target as HTMLElement);
  const mark = marks[at];
  if (!mark || event.ctrlKey || event.metaKey || event.altKey) return;
  const row = Number(mark.dataset.row);
  const inRow = (number: number): HTMLElement[] => marks.filter((each) => Number(each.dataset.row) === number);
  const column = inRow(row).indexOf(mark);
  const beside = (number: number): HTMLElement | undefined => inRow(number)[column] ?? inRow(number).at(-1);
  const targets: { [key: string]: HTMLElement | undefined } = {
    ArrowLeft: marks[at - 1],
    ArrowRight: marks[at + 1],
    ArrowUp: beside(row - 1),
    ArrowDown: beside(row + 1),
    Home: inRow(row)[0],
    End: inRow(row).at(-1),
  };
  if (!(event.key in targets)) return;
  event.preventDefault();
  targets[event.key]?.focus();
}

function Controls({ store }: { store: TableStore }): JSX.Element {
  const { order, only, score } = useStore(store, (s) => s.window);
  const scores = useStore(store, (s) => s.figures.scores);
  const isOutdated = useStore(store, (s) => s.isOutdated);
  const hasSeveral = useStore(store, (s) => s.head.variants.length > 1);
  const [text, setText] = useState("");
  useEffect(() => {
    if (text === store.window.text) return;
    const timer = setTimeout(() => void store.show({ text }), TYPING);
    return () => clearTimeout(timer);
  }, [store, text]);
  const offered = <T extends string>(options: [T, string][]): [T, string][] =>
    options.filter(([value]) => hasSeveral || value !== "lost");
  return (
    <div class="ak-e-grid-controls">
      <span>
        Sort{" "}
        <Select
          aria-label="Sort"
          value={order}
          onChange={(e) => void store.show({ order: e.currentTarget.value as RowOrder })}
        >
          {offered(ORDERS).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </Select>
      </span>
      <span>
        Show{" "}
        <Select
          aria-label="Show"
          value={only}
          onChange={(e) => void store.show({ only: e.currentTarget.value as RowFilter })}
        >
          {offered(FILTERS).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </Select>
      </span>
      {scores.length > 1 && (
        <span>
          Score{" "}
          <Select
            aria-label="Score"
            value={score || scores[0]}
            onChange={(e) => void store.show({ score: e.currentTarget.value })}
          >
            {scores.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </Select>
        </span>
      )}
      <TextField
        type="search"
        placeholder="Find in ids, tasks, answers"
        aria-label="Find in ids, tasks and answers"
        maxLength={200}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      {isOutdated && (
        <ToolButton
          label="Sort again"
          title="Runs have changed since the rows were sorted"
          onClick={() => void store.show({})}
        />
      )}
    </div>
  );
}

function Pager({ store }: { store: TableStore }): JSX.Element | null {
  const { first, total, rows } = useStore(store, (s) => s.rows);
  const size = store.pageSize;
  if (total <= rows.length && first === 0) return null;
  const last = first + rows.length;
  return (
    <nav class="ak-e-pager" aria-label="Pages of cases">
      <ToolButton
        label="Previous"
        disabled={first === 0}
        onClick={() => void store.show({ first: Math.max(0, first - size) })}
      />
      <span role="status">
        Cases {formatNumber(first + 1)} to {formatNumber(last)} of {formatNumber(total)}
      </span>
      <ToolButton label="Next" disabled={last >= total} onClick={() => void store.show({ first: last })} />
    </nav>
  );
}
