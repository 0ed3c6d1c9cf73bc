"""Open a recorded run where it stood: read its rows, say what is missing, and run the engine again on what is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentkit.errors import JournalDamaged
from agentkit.gates import budget
from agentkit.gates.base import forked
from agentkit.journal.entries import Entry, Journal, Note, RunInfo
from agentkit.journal.memory import MemoryJournal

if TYPE_CHECKING:
    from agentkit.agent.agent import Agent
    from agentkit.run.run import Run


def reopen(agent: Agent, journal: Journal, known: RunInfo, *, strict: bool) -> Run:
    """Open a run that is held in the journal, and bring it to where it stood. Raises `JournalDamaged`, `Diverged`."""
    name = known.run
    missing: list[str] = []
    sealed = ""
    try:
        rows = journal.rows(name)
    except JournalDamaged as damage:
        rows, missing, sealed = (
            damage.sound,
            [f"a sound journal ({damage})"],
            f"nothing can be added to a damaged journal ({damage})",
        )
    spec = next((row.result for row in rows if isinstance(row, Entry) and row.kind == "begin"), None)
    if spec is None:
        raise JournalDamaged(f"run {name}: its first entry cannot be read, and nothing can be shown without it")
    forked_with = (note.data.get("changes", {}) for note in rows if isinstance(note, Note) and _is_fork(note, name))
    spec = spec | next(forked_with, {})
    missing += [f"tool {tool!r}" for tool in spec["tools"] if agent.tools.find(tool) is None]
    kept = MemoryJournal.of(known, rows) if sealed else journal
    run = agent.attach(spec, name=name, journal=kept, gates=(forked,) if known.parent else ())
    run.desk.tree, run.control.sealed = known.tree, sealed
    if sealed:
        journal.release(name)
    run.missing = tuple(missing)
    run.desk.history.load(rows)
    try:
        run.desk.history.rebuild(strict=strict)
    except BaseException:
        run.control.lease.drop()
        raise
    if where := run.desk.history.stepper.diverged:
        before = spec["engine"].rpartition(":")[2]
        run.desk.hold = f"{where}, with the engine {before!r}; what was recorded from there on is in run.branches()"
    run.desk.count()
    run.desk.host.restore(rows, name)
    budget.restore(run.desk, rows)
    if run.status in ("done", "readonly") and not run.desk.history.behind.waiting:
        run.control.lease.drop()
    return run


def _is_fork(note: Note, name: str) -> bool:
    """Say whether a run begins with this note, as a fork of another one."""
    return note.run == name and note.kind == "head" and note.data["why"] == "fork"
