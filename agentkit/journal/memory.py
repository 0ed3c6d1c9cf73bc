"""The journal in memory: it keeps the rows until the process ends."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from agentkit.errors import JournalError, JournalInUse, Unknown, UsageError
from agentkit.inert import inert
from agentkit.journal import retention
from agentkit.journal.entries import NO_TAGS, NOT_BEGUN, Note, Row, RunInfo, Tail, left_by


@dataclass(slots=True)
class _Tree:
    rows: list[Row] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))


class MemoryJournal:
    """Runs in this process only. It needs no lock: threads share only data that one interpreter operation changes."""

    durable = False

    def __init__(self) -> None:
        self._trees: dict[str, _Tree] = {}
        self._infos: dict[str, RunInfo] = {}
        self._held: dict[str, _Tree] = {}

    @inert
    def __repr__(self) -> str:
        return f"MemoryJournal({len(self._infos)} runs)"

    @classmethod
    def of(cls, infos: list[RunInfo], rows: list[Row]) -> MemoryJournal:
        """Return a journal that contains one tree with these `rows`, and nothing else; the first run is held."""
        journal = cls()
        journal.create(infos[0])
        held = journal._held[infos[0].run]
        for info in infos[1:]:
            journal._infos.setdefault(info.run, replace(info))
        held.rows, held.numbers = list(rows), itertools.count(len(rows) + 1)
        for name in {row.run for row in rows}:
            journal._held[name] = held
        return journal

    def create(self, info: RunInfo) -> None:
        """Add a run, and hold it. Raises `UsageError` if the name is taken."""
        info = replace(info)
        if info.run == info.tree and info.tree in self._trees and info.run not in self._infos:
            raise UsageError(left_by(info.run))
        if self._infos.setdefault(info.run, info) is not info:
            raise UsageError(f"there is already a run {info.run!r}; claim it, or use another name")
        self._held[info.run] = self._trees.setdefault(info.tree, _Tree())

    def claim(self, run: str) -> RunInfo:
        """Hold an existing run. Raises `Unknown`, or `JournalInUse` if it is held already."""
        info = self._info(run)
        tree = self._trees[info.tree]
        if run in self._held:
            raise JournalInUse(
                f"this process ({os.getpid()}) holds run {run} already; use that Run object, or close it first"
            )
        self._held[run] = tree
        return self._line(info)

    def release(self, run: str) -> None:
        """Release a run; do nothing if it is not held."""
        self._held.pop(run, None)

    def append(self, row: Row, *, sync: bool = True) -> int:
        """Add a row to the tree of `row.run`, set its `id`, and return it."""
        tree = self._held.get(row.run)
        if tree is None:
            raise JournalError(f"run {row.run} is not held; claim it first")
        number = row.id = next(tree.numbers)
        tree.rows.append(row)
        return number

    def sync(self, run: str) -> None:
        """Do nothing: no row survives the process."""

    def count(self, run: str) -> int:
        """Return the number of rows of the run's tree. Raises `Unknown`."""
        return len(self._trees[self._info(run).tree].rows)

    def rows(self, run: str, after: int = 0) -> list[Row]:
        """Return the rows of the run's tree after row `after`, oldest first. Raises `Unknown`."""
        rows = sorted(
            self._trees[self._info(run).tree].rows, key=_number
        )  # two threads may get their numbers in one order and append in the other
        return rows[after:]

    def tail(self, run: str, after: int = 0) -> Tail:
        """Return a reader of the rows of the run's tree after row `after`, as they are written. Raises `Unknown`."""
        self._info(run)
        read = after

        def more() -> list[Row]:
            nonlocal read
            rows = self.rows(run, read)
            sound = [row for place, row in enumerate(rows, read + 1) if row.id == place]
            read += len(sound)
            return sound

        return Tail(after, more)

    def extend(self, infos: list[RunInfo], rows: list[Row]) -> None:
        """Add rows that another journal has numbered to the tree of some runs, and its lines about these runs."""
        tree = self._trees[infos[0].tree]
        self._infos.update({info.run: replace(info) for info in infos})
        tree.rows += rows
        tree.numbers = itertools.count(len(tree.rows) + 1)

    def lost(self, run: str) -> str:
        """Return "": the rows are lost only with the process. Raises `Unknown`."""
        self._info(run)
        return ""

    def runs(self, prefix: str = "", tags: Mapping[str, str] = NO_TAGS) -> list[RunInfo]:
        """Return all runs, newest first, or those whose names begin with `prefix` and that have these `tags`."""
        found = [self._line(info) for info in list(self._infos.values()) if info.fits(prefix, tags)]
        return sorted(found, key=lambda info: info.updated, reverse=True)

    def closing_notes(self, kind: str, prefix: str = "") -> dict[str, Note]:
        """Return the notes of this kind that are the last row of their run, by run."""
        found = dict[str, Note]()
        for info in list(self._infos.values()):
            if info.run.startswith(prefix):
                row = next((row for row in reversed(self._trees[info.tree].rows) if row.run == info.run), None)
                if isinstance(row, Note) and row.kind == kind:
                    found[info.run] = row
        return found

    def set_status(self, run: str, status: str) -> None:
        """Set the status of a run that the list of runs shows."""
        info = self._info(run)
        info.status, info.updated = status, time.time()

    def delete(self, run: str) -> None:
        """Delete a run, and its rows with the last run of the tree. Raises `JournalInUse` if it is held."""
        info = self._info(run)
        if run in self._held:
            raise JournalInUse(f"this process ({os.getpid()}) holds run {run}; release it first")
        del self._infos[run]
        if all(other.tree != info.tree for other in list(self._infos.values())):
            self._trees.pop(info.tree, None)

    def prune(self, keep_days: float | None = None, keep_runs: int | None = None) -> list[str]:
        """Delete runs older than `keep_days` and all but the newest `keep_runs`, except those that are held."""
        return retention.prune(self, keep_days, keep_runs)

    def close(self) -> None:
        """Release all runs; they stay in memory."""
        self._held.clear()

    def _info(self, run: str) -> RunInfo:
        if run not in self._infos:
            raise Unknown("run", run, self._infos)
        return self._infos[run]

    def _line(self, info: RunInfo) -> RunInfo:
        rows = self._trees[info.tree].rows
        at = next((_time(row) for row in reversed(rows) if row.run == info.run), None)
        status = NOT_BEGUN if at is None else info.status
        return replace(info, status=status, rows=len(rows), updated=max(info.updated, at or 0.0))


def _number(row: Row) -> int:
    return row.id


def _time(row: Row) -> float:
    return getattr(row, "ended", 0.0) or getattr(row, "at", 0.0)


memory = MemoryJournal()
