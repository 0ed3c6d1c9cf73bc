"""Boxes and lines as an SVG picture, in the reader's colours; it runs no script and needs no style sheet."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentkit.core.text import one_line
from agentkit.export.escaping import escape_html, safe_text

_COLUMN, _ROW, _WIDTH, _HEIGHT = 190, 44, 160, 32  # in pixels: the distance of boxes, and their size
_MAX_TEXT = 200  # characters of the text of a box


@dataclass(slots=True)
class Box:
    """A box: its column and row from 0, its label, its text, and the numbers of the boxes from which a line leads here.

    These boxes come before it in the list or are in a column further left.
    """

    column: int
    row: int
    label: str
    text: str
    before: list[int] = field(default_factory=list)
    is_strong: bool = False
    is_faint: bool = False


def draw(title: str, boxes: list[Box]) -> str:
    """Return boxes as an SVG picture with a label that refers to the list below it.

    Where a notebook is not trusted, JupyterLab removes the elements of the picture and leaves its texts as words, so
    there is a space between them.
    """
    width = 8 + max(box.column for box in boxes) * _COLUMN + _WIDTH
    height = 8 + max(box.row for box in boxes) * _ROW + _HEIGHT
    lines = (_line(boxes[number], box) for box in boxes for number in box.before)
    label = escape_html(f"{title}. The list below has the same.")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" viewBox="0 0 {width} {height}" '
        f'width="{width}" style="max-width:100%;height:auto;font:12px system-ui,sans-serif">'
        f"{''.join(lines)}{' '.join(map(_box, boxes))}</svg>"
    )


def _place(box: Box) -> tuple[int, int]:
    return 4 + box.column * _COLUMN, 4 + box.row * _ROW


def _line(start: Box, end: Box) -> str:
    """Return a line that turns right behind the column of its start, and reaches its end from the left."""
    (x1, y1), (x2, y2) = _place(start), _place(end)
    turn = x1 + (_COLUMN + _WIDTH) // 2
    path = f"M{x1 + _WIDTH} {y1 + _HEIGHT // 2}H{turn}V{y2 + _HEIGHT // 2}H{x2}"
    return f'<path d="{path}" fill="none" stroke="currentColor"/>'


def _box(box: Box) -> str:
    x, y = _place(box)
    faint = ' opacity=".7" stroke-dasharray="4 3"' if box.is_faint else ""
    return (
        f"<g{faint}><title>{escape_html(one_line(safe_text(box.text, _MAX_TEXT)))}</title> "
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" fill="none" stroke="currentColor" '
        f'stroke-width="{2.5 if box.is_strong else 1}"/><text x="{x + _WIDTH // 2}" y="{y + 20}" text-anchor="middle" '
        f'fill="currentColor" stroke="none">{escape_html(box.label)}</text></g>'
    )
