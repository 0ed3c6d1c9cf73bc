"""The chain of hashes through the rows of a tree, and the reader that verifies it."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

from agentkit.errors import JournalDamaged
from agentkit.journal.entries import Row
from agentkit.journal.reader import Reader

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
    reader, rows, before, first = Reader(), list[Row](), START, span(tree)[0]
    sealed = db.execute("SELECT sealed_row, sealed_hash FROM trees WHERE id = ?", (tree,)).fetchone() or (0, START)
    cursor = db.execute("SELECT id, run, at, body, hash FROM rows WHERE id BETWEEN ? AND ? ORDER BY id", span(tree))
    problem = ""
    try:
        for number, of, at, body, mark in cursor:
            problem = _problem(number - first, len(rows) + 1, before, of, at, body, mark)
            if problem:
                break
            row = reader.decode(body)
            row.run, row.id, before = of, number - first, mark
            if (row.id, mark) != sealed and row.id == sealed[0]:
                problem = "was changed"
                break
            rows.append(row)
    except sqlite3.DatabaseError as error:
        problem = f"cannot be read ({error})"
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        problem = f"is not valid ({type(error).__name__}: {error})"
    if not problem and len(rows) < sealed[0]:
        problem = "is missing"
    if problem:
        bad = len(rows) + 1
        before_it = f"the {bad - 1} rows before it are intact and can be opened read-only"
        text = f"{path}: row {bad} of run {run} {problem}; {before_it}"
        raise JournalDamaged(text, run=run, row=bad, sound=rows)
    return rows, reader


def _problem(number: int, due: int, before: bytes, run: object, at: object, body: object, mark: object) -> str:
    if number != due:
        return "is missing"
    if not (isinstance(run, str) and isinstance(at, float) and isinstance(body, str)):
        return "was changed"
    return "" if link(before, number, run, at, body) == mark else "was changed"
