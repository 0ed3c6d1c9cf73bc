/** Records as a table whose columns sort it. */

import type { JSX } from "preact";
import { Button, SUPPRESS_SHORTCUTS } from "./controls";

const NUMERIC = /^-?[\d.,]+%?$|^$/;

/** Return which columns contain nothing but numbers. */
export function numericColumns(header: unknown[], rows: string[][]): boolean[] {
  return header.map((_, column) => rows.every((row) => NUMERIC.test(row[column] ?? "")));
}

/** Return rows in the order of a column: numbers as numbers, everything else by its text, and what is empty last. */
export function sortRows<Row extends [number, string[]]>(rows: Row[], order: [number, 0 | 1] | undefined): Row[] {
  if (!order) return rows;
  const [column, descending] = order;
  const cell = ([, cells]: Row): string => cells[column] ?? "";
  const compare = (a: string, b: string): number =>
    !Number.isNaN(Number(a)) && !Number.isNaN(Number(b)) ? Number(a) - Number(b) : a < b ? -1 : a > b ? 1 : 0;
  const sorted = rows.filter((row) => cell(row)).sort((a, b) => compare(cell(a), cell(b)) * (descending ? -1 : 1));
  return [...sorted, ...rows.filter((row) => !cell(row))];
}

interface RecordTableProps {
  header: string[];
  rows: [number: number, cells: string[]][];
  order?: [column: number, descending: 0 | 1] | undefined;
  /** Without it, the columns do not sort. */
  onSort?: (column: number) => void;
}

export function RecordTable({ header, rows, order, onSort }: RecordTableProps): JSX.Element {
  const isNumeric = numericColumns(
    header,
    rows.map(([, cells]) => cells),
  );
  const direction = (column: number): "ascending" | "descending" | "none" =>
    order?.[0] !== column ? "none" : order[1] ? "descending" : "ascending";
  const arrows = { ascending: " ↑", descending: " ↓", none: "" };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard
    <div class="ak-table" role="group" aria-label="Table" tabIndex={0} {...SUPPRESS_SHORTCUTS}>
      <table>
        <thead>
          <tr>
            {header.map((name, column) => (
              <th
                key={column}
                scope="col"
                class={isNumeric[column] ? "ak-numeric" : ""}
                aria-sort={onSort ? direction(column) : undefined}
              >
                {onSort ? (
                  <Button class="ak-sort" title="Sort by this column" onClick={() => onSort(column)}>
                    {name}
                    <span aria-hidden="true">{arrows[direction(column)]}</span>
                  </Button>
                ) : (
                  name
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([number, cells]) => (
            <tr key={number}>
              {cells.map((cell, column) => (
                <td key={column} class={isNumeric[column] ? "ak-numeric" : ""}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
