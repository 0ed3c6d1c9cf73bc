"""Read a run back: what each row of a journal did to the run that wrote it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentkit.journal.base import Entry, Note, Row
from agentkit.tree import HIDDEN, lane_of

if TYPE_CHECKING:
    from agentkit.history import History


def load(history: History, rows: Iterable[Row]) -> None:
    """Take over rows in order: entries of the whole tree, and what this run did besides."""
    others: dict[str, Note] = {}
    for row in rows:
        if isinstance(row, Entry):
            history.entries[row.id] = row
            if row.run == history.run and not row.original:
                _step(history, row)
        elif row.run == history.run:
            _note(history, row, others)
        elif row.kind == "inject":
            others[row.data["id"]] = row
        history.latest = max(history.latest, row.id)


def _step(history: History, entry: Entry) -> None:
    if entry.kind in HIDDEN:
        history.extend(entry)
    else:
        history.tips[lane_of(entry.path)] = entry.id
        history.moves.undone.clear()
    history.begun.pop((entry.parent, entry.path, entry.index), None)


def _note(history: History, note: Note, others: dict[str, Note]) -> None:
    """`others` are the injected messages of other runs of the tree, which a fork may have inherited."""
    data, notes = note.data, history.injections.notes
    if note.kind == "call":
        history.begun[data["parent"], data["path"], data["index"]] = note
    elif note.kind == "inject":
        notes[data["id"]] = note
    elif note.kind == "recall":
        notes.pop(data["id"], None)
    elif note.kind == "head":
        history.moves.add(history.tips, data["tips"], data["why"])
        notes.update({key: others[key] for key in data.get("inherits", ()) if key in others})
        history.tips = dict(data["tips"])
