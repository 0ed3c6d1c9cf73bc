"""What a tree of runs has lost: its rows are compared with its head, which is kept apart from them."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from agentkit.errors import JournalDamaged
from agentkit.journal.chain import last, span
from agentkit.journal.database import snapshot
from agentkit.journal.heads import Head, Heads, clock
from agentkit.journal.listing import find, plain


@dataclass(frozen=True, slots=True)
class Loss:
    """The rows after row `after`, which were synced at the time `at`, and are missing; `rows` is 0 if unknown."""

    after: int
    rows: int
    at: float
    text: str


def lost(db: sqlite3.Connection, heads: Heads, run: str) -> str:
    """Return what the tree of a run has lost, as a sentence, or "". Raises `Unknown`."""
    try:
        tree, name = find(db, heads, run)
    except JournalDamaged as error:
        return str(error)
    found = loss(db, heads, run, tree, name)
    return found.text if found else ""


def loss(db: sqlite3.Connection, heads: Heads, run: str, tree: int, name: str) -> Loss | None:
    """Return what the tree of a run has lost, or None.

    The head is read before the rows: while another process writes, the rows can only be ahead of it.
    """
    try:
        head, problem = heads.get(name), ""
    except ValueError as error:
        head, problem = Head(), f"the head of run {run} is damaged ({error})"
    with snapshot(db):
        return _compared(db, head, problem, run, tree)


def _compared(db: sqlite3.Connection, head: Head | None, problem: str, run: str, tree: int) -> Loss | None:
    if not db.execute("SELECT 1 FROM runs WHERE run = ? AND tree = ?", (plain(run), tree)).fetchone():
        return None  # it was deleted meanwhile
    end = last(db, tree)[0]
    if head is None:
        if not db.execute("SELECT 1 FROM runs WHERE tree = ? AND holder != ''", (tree,)).fetchone():
            return None
        problem = f"run {run} was open when this journal was copied, or when its heads were deleted"
    if head is None or problem:
        return Loss(end, 0, 0.0, f"{problem}: rows after row {end} may be missing")
    when = clock(head.at)
    if end < head.number:
        missing = head.number - end
        rows = f"the last {missing} rows of run {run}" if missing > 1 else f"the last row of run {run}"
        verb = "are" if missing > 1 else "is"
        return Loss(end, missing, head.at, f"{rows}, synced at {when}, {verb} missing: it ends with row {end}")
    found = db.execute("SELECT hash FROM rows WHERE id = ?", (span(tree)[0] + head.number,)).fetchone()
    if head.number and (found is None or found[0] != head.hash):
        problem = f"row {head.number} of run {run} is not the row that was synced at {when}"
        return Loss(0, 0, head.at, f"{problem}: rows were replaced, or the journal is an older copy")
    return None
