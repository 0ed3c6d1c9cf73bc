"""Tables as plain text, as HTML and as Markdown. All cells are text, and nothing in them is interpreted."""

from __future__ import annotations

from dataclasses import dataclass

from agentkit.core.secrets import mask
from agentkit.core.text import counted, one_line
from agentkit.export.escaping import escape_html, markdown_inline
from agentkit.inert import for_terminal

MAX_ROWS, MAX_COLUMNS = 50, 20
_MAX_CELL = 500
"""Characters of one cell in HTML and in Markdown."""

_TH = 'style="text-align:left;padding:.1em .6em;border-bottom:1px solid rgba(128,128,128,.5)"'
_TD = 'style="text-align:left;padding:.1em .6em;vertical-align:top"'


@dataclass(slots=True)
class Table:
    """Rows of cells; `header` may be empty, and rows may be shorter than others.

    `note` is a sentence below the table.
    """

    header: list[str]
    rows: list[list[str]]
    note: str = ""


def to_text(table: Table, *, cell_width: int = 100, line_width: int | None = None, max_rows: int | None = None) -> str:
    """Return a table in columns of plain text; longer cells, and longer lines if `line_width` is set, are cut."""
    header, rows, notes = _visible_part(table, max_rows, None)
    cells = [[one_line(cell, cell_width, mask) for cell in row] for row in ([header] if header else []) + rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    if line_width is not None:
        lines = [line if len(line) <= line_width else f"{line[: line_width - 1]}…" for line in lines]
    return "\n".join([*lines, *map(for_terminal, notes)])


def to_html(table: Table, *, max_rows: int | None = MAX_ROWS, max_columns: int | None = MAX_COLUMNS) -> str:
    """Return a table as an HTML element."""
    header, rows, notes = _visible_part(table, max_rows, max_columns)
    head = f"<thead>{_html_row(header, 'th', _TH)}</thead>" if header else ""
    body = "".join(_html_row(row, "td", _TD) for row in rows)
    below = "".join(f"<p><i>{escape_html(note)}</i></p>" for note in notes)
    return f'<table style="border-collapse:collapse">{head}<tbody>{body}</tbody></table>{below}'


def to_markdown(table: Table, *, max_rows: int | None = MAX_ROWS, max_columns: int | None = MAX_COLUMNS) -> str:
    """Return a table in Markdown."""
    header, rows, notes = _visible_part(table, max_rows, max_columns)
    width = len(header or next(iter(rows), []))
    lines = [_markdown_row(header or [""] * width), f"|{' --- |' * width}", *map(_markdown_row, rows)]
    return "\n\n".join(["\n".join(lines), *(f"*{markdown_inline(note)}*" for note in notes)])


def _visible_part(
    table: Table, max_rows: int | None, max_columns: int | None
) -> tuple[list[str], list[list[str]], list[str]]:
    """Return the header and the rows that are shown, all equally long, and the lines below them."""
    columns = max((len(row) for row in [table.header, *table.rows]), default=0)
    width = columns if max_columns is None else min(columns, max_columns)
    header = _padded(table.header, width) if table.header else []
    rows = [_padded(row, width) for row in table.rows[:max_rows]]
    hidden = [(len(table.rows) - len(rows), "more row"), (columns - width, "more column")]
    cut = " and ".join(counted(number, noun) for number, noun in hidden if number)
    return header, rows, [note for note in (f"… and {cut}" if cut else "", table.note) if note]


def _padded(row: list[str], width: int) -> list[str]:
    return [*row[:width], *[""] * (width - len(row))]


def _html_row(cells: list[str], tag: str, style: str) -> str:
    return f"<tr>{''.join(f'<{tag} {style}>{escape_html(cell, _MAX_CELL)}</{tag}>' for cell in cells)}</tr>"


def _markdown_row(cells: list[str]) -> str:
    return f"| {' | '.join(markdown_inline(cell, _MAX_CELL) for cell in cells)} |"
