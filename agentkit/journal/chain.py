"""The chain of hashes through the rows of a tree, and the reader that verifies it."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agentkit.errors import JournalDamaged
from agentkit.journal.entries import Row
from agentkit.journal.reader import Reader

Line = tuple[Any, ...]
"""A stored row: its number in its tree, its run, its time, its lines of JSON, and its hash."""

TREE = 32  # the id of a stored row is its tree's number, shifted by this many bits, plus its own: trees are contiguous
START = b"\0" * 32


def link(before: bytes, number: int, run: str, at: float, body: str) -> bytes:
    """Return the hash of a row that follows the row whose hash is `before`."""
    return hashlib.sha256(b"%b%d %b %r\n%b" % (before, number, run.encode(), at, body.encode())).digest()


def last(db: sqlite3.Connection, tree: int) -> tuple[int, bytes]:
    """Return the number and the hash of the last row of a tree; 0 and `START` if it has no rows."""
    first, end = span(tree)
    row = db.execute(
        "SELECT id, hash FROM rows WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1", (first, end)
    ).fetchone()
    return (row[0] - first, row[1]) if row else (0, START)


def span(tree: int) -> tuple[int, int]:
    """Return the lowest and the highest possible id of the rows of a tree."""
    return tree << TREE, ((tree + 1) << TREE) - 1


def seal(db: sqlite3.Connection, tree: int) -> tuple[int, bytes]:
    """Store the number and the hash of the last row, so that rows deleted at the end are noticed; return both."""
    number, mark = last(db, tree)
    db.execute("UPDATE trees SET sealed_row = ?, sealed_hash = ? WHERE id = ?", (number, mark, tree))
    return number, mark


def read(db: sqlite3.Connection, path: Path, tree: int, run: str) -> tuple[list[Row], Reader]:
    """Return the rows of a tree, oldest first, and verify the chain, its seal, and the digests of chats and messages.

    Raises `JournalDamaged` at the first row that is not as it was written.
    """
    chain = Chain(str(path), run)
    return chain.take(*since(db, tree, 0)), chain.reader


def since(db: sqlite3.Connection, tree: int, after: int) -> tuple[Iterator[Line], tuple[int, bytes]]:
    """Return the stored rows of a tree after row `after`, and the number and the hash that were sealed."""
    first, end = span(tree)
    sealed = db.execute("SELECT sealed_row, sealed_hash FROM trees WHERE id = ?", (tree,)).fetchone() or (0, START)
    return _lines(db, first, first + after + 1, end), sealed


def _lines(db: sqlite3.Connection, first: int, start: int, end: int) -> Iterator[Line]:
    sql = "SELECT id, run, at, body, hash FROM rows WHERE id BETWEEN ? AND ? ORDER BY id"
    try:
        for id, *line in db.execute(sql, (start, end)):
            yield (id - first, *line)
    except sqlite3.DatabaseError as error:
        raise Unreadable(f"cannot be read ({error})") from error


class Unreadable(Exception):
    """A row that the store cannot read; the message is the end of a sentence that begins with the row."""


class Chain:
    """The rows of a tree as they are read, one part after another: each is verified, decoded, and linked to the last.

    `place` and `run` name the journal and the run in an error.
    """

    def __init__(self, place: str, run: str) -> None:
        self.reader = Reader()
        self.number, self.hash = 0, START
        self._place, self._run = place, run

    def take(self, lines: Iterable[Line], sealed: tuple[int, bytes]) -> list[Row]:
        """Return the next rows; `sealed` is the number and the hash of a row that is known to have been written.

        Raises `JournalDamaged` at the first row that is not as it was written; then the same rows can be read again.
        """
        rows, problem, before = list[Row](), "", self.hash
        try:
            for number, of, at, body, mark in lines:
                problem = _problem(number, self.number + len(rows) + 1, before, of, at, body, mark)
                if problem:
                    break
                row = self.reader.decode(body)
                if number == sealed[0] and mark != sealed[1]:
                    problem = "was changed"
                    break
                row.run, row.id, before = of, number, mark
                rows.append(row)
        except Unreadable as error:
            problem = str(error)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            problem = f"is not valid ({type(error).__name__}: {error})"
        end = self.number + len(rows)
        if not problem and end < sealed[0]:
            problem = "is missing"
        if problem:
            bad = end + 1
            before_it = f"the {bad - 1} rows before it are intact and can be opened read-only"
            text = f"{self._place}: row {bad} of run {self._run} {problem}; {before_it}"
            raise JournalDamaged(text, run=self._run, row=bad, sound=rows)
        self.number, self.hash = end, before
        return rows


def _problem(number: int, due: int, before: bytes, run: object, at: object, body: object, mark: object) -> str:
    if number != due:
        return "is missing"
    if not (isinstance(run, str) and isinstance(at, float) and isinstance(body, str)):
        return "was changed"
    return "" if link(before, number, run, at, body) == mark else "was changed"
