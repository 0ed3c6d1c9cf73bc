"""What differs between a recorded step and today's: two texts, side by side, with the words that differ marked.

However long the texts are, the time is bounded: only the lines between their common beginning and end are compared, a
limited number of them, and the words of a limited number of characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import NamedTuple

from agentkit.export.escaping import code_fence, escape_html
from agentkit.inert import for_terminal, inert_lines

_MAX_LINES = 300  # compared line by line
_MAX_ROWS = 30  # shown of one difference
_MAX_WORDS = 400  # compared one by one, on each side of a change
_MAX_TEXT = 400  # characters shown of one piece
_AROUND = 2  # lines, and below words, that are shown before and after a change
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")

Piece = tuple[bool, str]
"""A part of a line: whether it differs, and its text."""


class Row(NamedTuple):
    """A line of each text, in pieces; None if one of them has no such line. In equal lines, nothing differs."""

    recorded: list[Piece] | None
    today: list[Piece] | None

    @property
    def is_equal(self) -> bool:
        """Whether the line is the same in both texts."""
        return self.recorded is not None and self.recorded == self.today and not any(d for d, _ in self.recorded)


@dataclass(slots=True, frozen=True)
class Mismatch:
    """The first step at which today's code differs from a recording.

    `entry` is the number of the entry in the recording, or of the one that would be next; `step` is its name, and
    `what` what differs of it: "the request", "the reply as it is read", "the step", "the call", "the result", "the
    answer" or "the end". `recorded` and `today` are the texts that are compared.
    """

    entry: int
    step: str
    what: str
    recorded: str
    today: str

    @property
    def title(self) -> str:
        """What differs, in a few words."""
        return for_terminal(f"entry {self.entry}, {self.step}: {self.what} differs")

    def rows(self) -> list[Row]:
        """Return the lines that differ with a few lines around them, side by side."""
        return _shortened(_rows(self.recorded.split("\n"), self.today.split("\n")))

    @inert_lines
    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """Return the difference as plain text, with [-words that were-] and {+words that are new+}."""
        lines = [self.title]
        for row in self.rows():
            if row.is_equal:
                lines.append(f"           │ {_plain(row.recorded)}")
                continue
            is_pair = row.recorded is not None and row.today is not None
            if row.recorded is not None:
                lines.append(f"  recorded │ {_plain(row.recorded, *(('[-', '-]') if is_pair else ()))}")
            if row.today is not None:
                lines.append(f"  today    │ {_plain(row.today, *(('{+', '+}') if is_pair else ()))}")
        return "\n".join(line.rstrip() for line in lines)

    def to_markdown(self) -> str:
        """Return the difference as a block of code in Markdown, in which lines begin with - and +."""
        lines = []
        for row in self.rows():
            if row.is_equal:
                lines.append(f"  {_plain(row.recorded)}")
                continue
            lines += [f"- {_plain(row.recorded)}"] if row.recorded is not None else []
            lines += [f"+ {_plain(row.today)}"] if row.today is not None else []
        return code_fence("\n".join(line.rstrip() for line in lines), "diff")

    def to_html(self) -> str:
        """Return the difference as a table in HTML, the recording on the left."""
        rows = "".join(
            f"<tr>{_cell(row.recorded, 'del', '#d9534f33')}{_cell(row.today, 'ins', '#3c963c33')}</tr>"
            for row in self.rows()
        )
        head = f"<tr><th {_HEAD}>recorded</th><th {_HEAD}>today</th></tr>"
        return f'<table style="border-collapse:collapse;table-layout:fixed;width:100%">{head}{rows}</table>'


_CELL = (
    'style="width:50%;vertical-align:top;text-align:left;white-space:pre-wrap;overflow-wrap:anywhere;'
    'font-family:monospace;padding:.05em .6em;border-left:1px solid rgba(128,128,128,.4)"'
)
_HEAD = 'style="width:50%;text-align:left;padding:.1em .6em;border-left:1px solid rgba(128,128,128,.4)"'


def _cell(pieces: list[Piece] | None, tag: str, colour: str) -> str:
    style = f'style="background:{colour};color:inherit"'
    written = "".join(
        f"<{tag} {style}>{escape_html(text)}</{tag}>" if differs else escape_html(text)
        for differs, text in _cut(pieces or [])
    )
    return f"<td {_CELL}>{written}</td>"


def _plain(pieces: list[Piece] | None, begin: str = "", end: str = "") -> str:
    """Return a line as one line of plain text."""
    return for_terminal("".join(f"{begin}{text}{end}" if differs else text for differs, text in _cut(pieces or [])))


def _cut(pieces: list[Piece]) -> list[Piece]:
    """Return pieces of which long ones are cut: equal ones in the middle, or on the side away from a change."""
    cut = []
    for number, (differs, text) in enumerate(pieces):
        if len(text) > _MAX_TEXT and (differs or len(pieces) == 1):
            text = f"{text[:_MAX_TEXT]}… (+{len(text) - _MAX_TEXT:,} characters)"
        elif len(text) > _MAX_TEXT:
            half = _MAX_TEXT // 4
            before = text[:half] if number else ""
            after = text[-half:] if number < len(pieces) - 1 else ""
            text = f"{before}…{after}"
        cut.append((differs, text))
    return cut


# -- comparing ---------------------------------------------------------------------------------------------------------


def _rows(old: list[str], new: list[str]) -> list[Row]:
    """Return the rows of two texts: their equal lines, and what differs between them."""
    start = _common(old, new)
    old_rest, new_rest = old[start:], new[start:]
    end = _common(old_rest[::-1], new_rest[::-1])
    middle = _middle(old_rest[: len(old_rest) - end], new_rest[: len(new_rest) - end])
    return [*map(_equal, old[:start]), *middle, *map(_equal, old_rest[len(old_rest) - end :])]


def _common(one: list[str], other: list[str]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _equal(line: str) -> Row:
    return Row([(False, line)], [(False, line)])


def _middle(old: list[str], new: list[str]) -> list[Row]:
    left_out = max(len(old), len(new)) - _MAX_LINES
    old, new, rows = old[:_MAX_LINES], new[:_MAX_LINES], list[Row]()
    for what, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            rows += map(_equal, old[a:b])
            continue
        pairs = min(b - a, d - c)
        rows += [_pair(one, other) for one, other in zip(old[a : a + pairs], new[c : c + pairs], strict=True)]
        rows += [Row([(True, line)], None) for line in old[a + pairs : b]]
        rows += [Row(None, [(True, line)]) for line in new[c + pairs : d]]
    if left_out > 0:
        rows.append(_equal(f"… (up to {left_out:,} more lines are not compared)"))
    return rows


def _pair(old: str, new: str) -> Row:
    """Return two lines that differ, with their differing words apart."""
    start = _common_text(old, new)
    old_rest, new_rest = old[start:], new[start:]
    end = _common_text(old_rest[::-1], new_rest[::-1])
    one, other = old_rest[: len(old_rest) - end], new_rest[: len(new_rest) - end]
    left, right = [(False, old[:start])], [(False, new[:start])]
    words, others = _words(one), _words(other)
    if not words or not others:
        left.append((True, one))
        right.append((True, other))
    else:
        for what, a, b, c, d in SequenceMatcher(None, words, others, autojunk=False).get_opcodes():
            left.append((what != "equal", "".join(words[a:b])))
            right.append((what != "equal", "".join(others[c:d])))
    tail = old_rest[len(old_rest) - end :]
    return Row(*([piece for piece in (*pieces, (False, tail)) if piece[1]] for pieces in (left, right)))


def _words(text: str) -> list[str]:
    """Return the words of a text, with the spaces and signs between them; nothing if there are too many."""
    words = [match[0] for match in islice(_WORDS.finditer(text), _MAX_WORDS + 1)]
    return words if len(words) <= _MAX_WORDS else []


def _common_text(one: str, other: str) -> int:
    """Return the length of the common beginning of two lines, in whole words."""
    length = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    while length and any(
        length < len(text) and text[length].isalnum() and text[length - 1].isalnum() for text in (one, other)
    ):
        length -= 1
    return length


def _shortened(rows: list[Row]) -> list[Row]:
    """Return the rows that differ with a few around them, and a note for those that are left out."""
    near = {
        n + shift for n, row in enumerate(rows) if not row.is_equal for shift in range(-_AROUND, _AROUND + 1)
    } & set(range(len(rows)))
    shown, last = list[Row](), -1
    for n in sorted(near):
        if len(shown) >= _MAX_ROWS:
            shown.append(_equal("… (more differs further on)"))
            return shown
        if n > last + 1:
            shown.append(_equal(f"… ({n - last - 1:,} equal lines)" if n - last > 2 else "…"))
        shown.append(rows[n])
        last = n
    return shown
