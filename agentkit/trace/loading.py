"""Read a run back: what each row of a journal did to the run that wrote it, and the engine, run again to where the line ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from agentkit.core import interrupts
from agentkit.errors import Diverged
from agentkit.journal.entries import Entry, Note, Row
from agentkit.stepper.stepper import Pending, Stepper
from agentkit.trace.tree import HIDDEN, Tips, extend, lane_of, recordings

if TYPE_CHECKING:
    from agentkit.trace.history import History


def load(history: History, rows: Iterable[Row]) -> None:
    """Take over rows in order: entries of the whole tree, and what this run did besides."""
    others: dict[str, Note] = {}
    for row in rows:
        if isinstance(row, Entry):
            history.entries[row.id] = row
            if row.run == history.run and not row.replaces:
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


Replayed = list[tuple[Pending, Any]]


def rebuild(history: History, *, strict: bool = False) -> None:
    """Run the engine again and send it what is recorded on the line.

    Where the engine asks for something else, the line ends there and the rest stays in the tree as a branch. Raises
    `Diverged` instead with `strict`, before anything is changed.
    """
    history.torn = True
    stepper, done = interrupts.foreign(_again, (history,), {})
    if stepper.diverged and strict:
        raise Diverged(stepper.diverged)
    before, history.stepper, history.torn = history.stepper, stepper, False
    history.injections.heard.clear()
    for pending, entry in done:
        history.proposed[entry.id] = pending.step
        if history.injections.notes:
            history.injections.hear(entry.result)
    if stepper.diverged:
        history.behind.attempt(lambda: _diverge(history, done, stepper.diverged))
    history.behind.attempt(history.settle)
    interrupts.foreign(before.close, (), {})


def _again(history: History) -> tuple[Stepper, Replayed]:
    stepper = history.begin_anew()
    return stepper, stepper.replay(recordings(history.line))


def _diverge(history: History, done: Replayed, why: str) -> None:
    tips: Tips = {"": next((entry.id for entry in history.line if entry.kind == "begin"), 0)}
    for _, entry in done:
        extend(tips, entry)
    history.note("head", {"tips": tips, "why": "diverged", "text": why})
    history.tips = dict(tips)
