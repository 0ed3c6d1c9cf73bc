"""The score table: which predictions came true, in one notebook or in a whole class."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentkit.core.text import counted, one_line
from agentkit.errors import UsageError
from agentkit.export import tables
from agentkit.export.html import fragment
from agentkit.inert import inert_lines
from agentkit.view import guesses

_COLUMNS = ["student", "question", "guess", "actual", "right"]
_RIGHT = {True: "yes", False: "no", None: ""}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet would execute (OWASP, CSV Injection)."""


@dataclass(frozen=True, slots=True)
class Score:
    """A prediction and what really happened.

    `guess` is None if there was none; `right` is None if there was no guess, or if only a reader can judge it.
    """

    question: str
    guess: str | None
    actual: str
    right: bool | None
    student: str = ""


class Scores:
    """A table of predictions, of one reader or of a class: its `rows`."""

    def __init__(self, rows: Iterable[Score]) -> None:
        self.rows = tuple(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Score]:
        return iter(self.rows)

    @property
    def students(self) -> list[str]:
        """The names of the students, sorted."""
        return sorted({row.student for row in self.rows if row.student})

    @inert_lines
    def __repr__(self) -> str:
        return tables.to_text(self.table())

    def _repr_html_(self) -> str:
        return fragment(tables.to_html(self.table(), max_rows=None))

    def _repr_markdown_(self) -> str:
        return tables.to_markdown(self.table(), max_rows=None)

    def table(self) -> tables.Table:
        """Return the table: one row for each prediction, or for each question if these are the scores of a class."""
        return self._by_question() if self.students else self._by_row()

    def to_csv(self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False) -> str:
        """Return the table as CSV with one row for each prediction; write it to `path` if there is one.

        The name of the file, such as `ada.csv`, is the name of the student, unless the rows have one already.
        Raises `UsageError` if the file exists, unless it may `overwrite` it.
        """
        student = Path(path).stem if path is not None else ""
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for row in self.rows:
            cells = row.student or student, row.question, row.guess or "", row.actual, _RIGHT[row.right]
            writer.writerow([_no_formula(cell) for cell in cells])
        if path is not None:
            if Path(path).exists() and not overwrite:
                raise UsageError(f"{os.fspath(path)!r} already exists: choose another name, or pass overwrite=True")
            Path(path).write_text(lines.getvalue(), encoding="utf-8")
        return lines.getvalue()

    def _by_row(self) -> tables.Table:
        rows = [
            [one_line(row.question), "none" if row.guess is None else row.guess, row.actual, _RIGHT[row.right]]
            for row in self.rows
        ]
        return tables.Table(["Question", "Your guess", "In fact", "Right"], rows, self._summary())

    def _by_question(self) -> tables.Table:
        rows = []
        for question in dict.fromkeys(row.question for row in self.rows):
            answers = [row for row in self.rows if row.question == question]
            guesses = Counter(row.guess for row in answers if row.guess is not None)
            listed = ", ".join(f"{guess} ({number})" for guess, number in guesses.most_common())
            rows.append([one_line(question), _tally(answers), listed, answers[0].actual])
        return tables.Table(["Question", "Right", "Guesses", "In fact"], rows, self._summary())

    def _summary(self) -> str:
        students = f"{counted(len(self.students), 'student')}: " if self.students else ""
        unjudged = sum(row.guess is not None and row.right is None for row in self.rows)
        return f"{students}{_tally(self.rows)} right{f', {unjudged} to judge for yourself' if unjudged else ''}"


def _tally(rows: Sequence[Score]) -> str:
    judged = [row.right for row in rows if row.right is not None]
    return f"{sum(judged)} of {len(judged)}"


_of_this_kernel: dict[str, Score] = {}


def scores() -> Scores:
    """Return the predictions that were made in this kernel, including those in views of runs.

    The first guess at each question counts.
    """
    return Scores([*_of_this_kernel.values(), *(Score(*guess) for guess in guesses.made.values())])


def record(score: Score) -> None:
    """Note a prediction in the score table, unless there is a guess at this question already."""
    known = _of_this_kernel.get(score.question)
    if known is None or known.guess is None:
        _of_this_kernel[score.question] = score


def read_scores(folder: str | os.PathLike[str]) -> Scores:
    """Return the scores of a class: those of all CSV files in a folder.

    Raises `UsageError` if there are none, or if a file is not a score table.
    """
    paths = sorted(Path(folder).glob("*.csv"))
    if not paths:
        raise UsageError(f"there are no score tables (*.csv) in {os.fspath(folder)!r}")
    return Scores(row for path in paths for row in _rows(path))


def _rows(path: Path) -> Iterator[Score]:
    """Yield the rows of one file. Raises `UsageError` if it is not a score table."""
    wrong = UsageError(f"{str(path)!r} is not a score table: write one with agentkit.classroom.scores().to_csv(path)")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            columns, lines = reader.fieldnames, list(reader)
    except (csv.Error, UnicodeDecodeError, OSError) as error:
        raise wrong from error
    if columns != _COLUMNS:
        raise wrong
    judged = {text: right for right, text in _RIGHT.items()}
    for line in lines:
        if None in line or None in line.values() or line["right"] not in judged:  # more or fewer cells than columns
            raise wrong
        cells = {name: _cell(line[name]) for name in _COLUMNS}
        right = judged[cells["right"]]
        yield Score(cells["question"], cells["guess"] or None, cells["actual"], right, cells["student"] or path.stem)


def _no_formula(cell: str) -> str:
    """Return a cell that no spreadsheet executes: an apostrophe comes before what would be a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) and not _is_number(cell) else cell


def _cell(text: str) -> str:
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
