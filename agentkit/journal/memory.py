"""The journal in memory: the rows themselves, as long as the process lives."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from agentkit.errors import JournalError, JournalInUse, Unknown, UsageError
from agentkit.journal.entries import Row, RunInfo
from agentkit.journal.retention import outdated


@dataclass(slots=True)
class _Tree:
    rows: list[Row] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))


class MemoryJournal:
    """Runs in this process only. Needs no lock: what is shared between threads is changed in single steps of the interpreter."""

    durable = False

    def __init__(self) -> None:
        self._trees: dict[str, _Tree] = {}
        self._infos: dict[str, RunInfo] = {}
        self._held: dict[str, _Tree] = {}

    def __repr__(self) -> str:
        return f"MemoryJournal({len(self._infos)} runs)"

    @classmethod
    def of(cls, info: RunInfo, rows: list[Row]) -> MemoryJournal:
        """Make a journal that holds one run, as far as its `rows` go, and nothing else."""
        journal = cls()
        journal.create(info)
        held = journal._held[info.run]
        held.rows, held.numbers = list(rows), itertools.count(len(rows) + 1)
        for name in {row.run for row in rows}:
            journal._held[name] = held
        return journal

    def create(self, info: RunInfo) -> None:
        """Add a run and hold it. Raises `UsageError` where the name is taken."""
        info = replace(info)
        if self._infos.setdefault(info.run, info) is not info:
            raise UsageError(f"there is a run {info.run!r} already; claim it, or take another name")
        self._held[info.run] = self._trees.setdefault(info.tree, _Tree())

    def claim(self, run: str) -> RunInfo:
        """Hold an existing run. Raises `Unknown`, or `JournalInUse` where it is held already."""
        info = self._info(run)
        tree = self._trees[info.tree]
        if run in self._held:
            raise JournalInUse(
                f"run {run} is held by this process ({os.getpid()}) already; go on with that Run object, or release it"
            )
        self._held[run] = tree
        return self._line(info)

    def release(self, run: str) -> None:
        """Let go of a run; one that is not held is left alone."""
        self._held.pop(run, None)

    def append(self, row: Row, *, sync: bool = True) -> int:
        """Add a row to the tree of `row.run`, set its `id` and give it."""
        tree = self._held.get(row.run)
        if tree is None:
            raise JournalError(f"run {row.run} is not held; claim it first")
        number = row.id = next(tree.numbers)
        tree.rows.append(row)
        return number

    def rows(self, run: str, after: int = 0) -> list[Row]:
        """Give the rows of the run's tree behind row `after`, oldest first. Raises `Unknown`."""
        found = sorted(
            self._trees[self._info(run).tree].rows, key=_number
        )  # two threads can number in one order and add in the other
        return found[after:]

    def runs(self) -> list[RunInfo]:
        """List all runs, the newest first."""
        return sorted(map(self._line, list(self._infos.values())), key=lambda info: info.updated, reverse=True)

    def set_status(self, run: str, status: str) -> None:
        """Say how the run stands, for the list."""
        info = self._info(run)
        info.status, info.updated = status, time.time()

    def delete(self, run: str) -> None:
        """Forget a run; the rows of its tree go when the last run of the tree does. Raises `JournalInUse` where it is held."""
        info = self._info(run)
        if run in self._held:
            raise JournalInUse(f"run {run} is held by this process ({os.getpid()}); release it first")
        del self._infos[run]
        if all(other.tree != info.tree for other in list(self._infos.values())):
            self._trees.pop(info.tree, None)

    def prune(self, keep_days: float | None = None, keep_runs: int | None = None) -> list[str]:
        """Delete the runs not touched for `keep_days`, and all but the newest `keep_runs`; runs that are held stay."""
        gone = [run for run in outdated(self.runs(), keep_days, keep_runs) if run not in self._held]
        for run in gone:
            self.delete(run)
        return gone

    def close(self) -> None:
        """Let go of all runs; they stay in memory."""
        self._held.clear()

    def _info(self, run: str) -> RunInfo:
        if run not in self._infos:
            raise Unknown("run", run, self._infos)
        return self._infos[run]

    def _line(self, info: RunInfo) -> RunInfo:
        rows = self._trees[info.tree].rows
        at = next((_time(row) for row in reversed(rows) if row.run == info.run), 0.0)
        return replace(info, rows=len(rows), updated=max(info.updated, at))


def _number(row: Row) -> int:
    return row.id


def _time(row: Row) -> float:
    return getattr(row, "ended", 0.0) or getattr(row, "at", 0.0)


memory = MemoryJournal()
