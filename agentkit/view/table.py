"""What is sent to the live table of an experiment: how far it is, its figures, and the cells that have changed.

The cost of an update follows from how much has changed, not from the number of cells. Only the figures need all of
them: they are computed the less often, the longer that takes.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from agentkit.core import background
from agentkit.core.secrets import mask
from agentkit.core.text import one_line
from agentkit.errors import JournalInUse, Unknown, UsageError
from agentkit.experiments import table
from agentkit.experiments.experiment import Cell, Experiment
from agentkit.experiments.outcome import FAILED, SCORED, UNSCORED
from agentkit.experiments.statistics import Estimate
from agentkit.run.run import Run
from agentkit.view.outbox import Carrier, Outbox
from agentkit.view.wire import CLOCK

Data = dict[str, Any]

INTERVAL = 0.5
"""Seconds between two updates that no page has asked for: nobody can read faster."""

SHARE = 0.05
"""The share of the time that may be spent on the figures while the experiment is running."""

RUNNING, STOPPING = "running", "stopping"

_MAX_TEXT = 160
_MAX_CELLS = 500
"""How many cells one message contains at most."""


class TablePage(Carrier, Protocol):
    """The place that shows the table."""

    def show(self, run: Run) -> None:
        """Show a run below the table."""

    def hide(self, run: Run) -> None:
        """Show a run no longer."""

    def shows(self, run: Run) -> bool:
        """Return whether a run is shown below the table: a person may have deleted its output."""


@dataclass(slots=True, eq=False)
class _Opened:
    """A run that is shown below the table; `mark` is its mark when it was opened, or when it was scored since."""

    run: Run
    mark: Any


class TableFeed(Outbox):
    """Keeps the live tables of one experiment up to date; `opened` are the runs that are shown below it, by cell."""

    page: TablePage

    def __init__(self, found: Experiment, page: TablePage) -> None:
        super().__init__(found.name)
        self.found, self.page = found, page
        self.opened: dict[int, _Opened] = {}
        self._numbers = {cell.run_name: number for number, cell in enumerate(found.cells)}
        self._tally: dict[int, tuple[str, float]] = {}
        self._counts, self._cost = Counter[str](), 0.0
        self._given_out: set[int] = set()
        self._dirty: dict[int, None] = {}
        self._dirty_lock, self._opening = threading.Lock(), threading.Lock()
        self._score_names: list[str] = []
        self._is_due, self._status = True, ""
        self._latest = 0.0
        self._progress: Data = {}
        self._figures: Data = {}
        self._figures_version, self._figures_due = -1, 0.0
        self._comparing: tuple[int, Future[Any]] | None = None
        found.on_change(self._on_change)
        self._take(range(len(found.cells)))
        self.open()

    def _end(self) -> None:
        self.found.off_change(self._on_change)

    def _on_change(self, cells: list[Cell]) -> None:
        with self._dirty_lock:
            self._dirty.update(dict.fromkeys(self._numbers[cell.run_name] for cell in cells))
        self._is_due = True
        if not cells:
            CLOCK.wake(at_once=True)

    # -- cells ---------------------------------------------------------------------------------------------------------

    def cell(self, number: int) -> Cell:
        """Return a cell by its number. Raises `UsageError` if there is none."""
        if not 0 <= number < len(self.found.cells):
            raise UsageError(f"there is no run number {number}; the experiment has {len(self.found.cells):,}")
        return self.found.cells[number]

    def cell_data(self, number: int) -> list[Any]:
        """Return what is shown of a cell: its number, its state, its scores in the order of their names, and what it
        says in short.
        """
        cell = self.found.cells[number]
        outcome = cell.outcome
        if outcome is None:
            return [number, RUNNING if number in self._given_out else "missing"]
        scores = [outcome.scores.get(name) for name in self._names_of(outcome.scores)]
        return [number, outcome.state, scores, one_line(outcome.problem or outcome.answer, _MAX_TEXT, mask)]

    def _names_of(self, scores: Data) -> list[str]:
        """Return the names of all scores, which these may add to: a name keeps its place."""
        self._score_names += [name for name in scores if name not in self._score_names]
        return self._score_names

    def _take(self, numbers: Iterable[int]) -> None:
        """Count cells that have changed."""
        for number in numbers:
            outcome = self.found.cells[number].outcome
            state, cost = self._tally.get(number, ("", 0.0))
            if state:
                self._counts[state] -= 1
            now = (outcome.state, outcome.cost + outcome.judging) if outcome else ("missing", 0.0)
            self._tally[number] = now
            self._counts[now[0]] += 1
            self._cost += now[1] - cost
            if outcome:
                self._names_of(outcome.scores)
                if (opened := self.opened.get(number)) is not None:  # what was edited by hand has been scored
                    opened.mark = _mark(opened.run)

    # -- runs below the table ------------------------------------------------------------------------------------------

    def open_run(self, number: int) -> Run:
        """Show the run of a cell below the table: to step, fork and edit; to look at if somebody else holds it."""
        with self._opening:
            if (opened := self.opened.get(number)) is not None:
                is_current = not opened.run.read_only or opened.run is self.found.live(self.cell(number))
                if is_current and self.page.shows(opened.run):
                    return opened.run
                self.page.hide(opened.run)
                del self.opened[number]
            run = _run_of(self.found, self.cell(number))
            self.page.show(run)
            self.opened[number] = _Opened(run, _mark(run))
        self._is_due = True
        return run

    def close_run(self, number: int) -> None:
        """Show the run of a cell no longer; the run itself stays as it is."""
        with self._opening:
            if (opened := self.opened.pop(number, None)) is not None:
                self.page.hide(opened.run)
        self._is_due = True

    def _edited(self) -> list[int]:
        """Return the cells whose runs have been changed by hand since they were opened."""
        return [
            number
            for number, opened in list(self.opened.items())
            if self.found.cells[number].outcome is not None
            and not opened.run.read_only
            and _mark(opened.run) != opened.mark
        ]

    # -- sending -------------------------------------------------------------------------------------------------------

    @property
    def status(self) -> str:
        """The status of the experiment; "stopping" as long as runs have still to come to an end."""
        return STOPPING if self.found.is_stopping else self.found.status

    def _failed(self) -> None:
        self._is_due, self._progress, self._figures = True, {}, {}

    def _changes(self) -> list[Data]:
        now = time.monotonic()
        is_live = self._status in ("", RUNNING, STOPPING)
        if not (self._is_due or is_live or self.opened or self._comparing):
            return []
        if not self._needs_reset and now - self._latest < INTERVAL and not self._has_new_status():
            return []
        self._latest, self._is_due = now, False  # before it is looked at: what happens from now on is not lost
        self._status = self.status
        with self._dirty_lock:
            dirty, self._dirty = self._dirty, {}
        given_out = {self._numbers[cell.run_name] for cell in self.found.given_out}
        self._given_out = given_out
        self._take(dirty)
        events = self._if_changed("progress", self._progress_data())
        if dirty:
            events.append({"k": "cells", "cells": [self.cell_data(number) for number in dirty]})
        if self._figures_are_due(now):
            events += self._if_changed("figures", self._figures_data())
        return events

    def _has_new_status(self) -> bool:
        return self._is_due and self.status != self._status

    def _if_changed(self, kind: str, data: Data) -> list[Data]:
        name = f"_{kind}"
        if getattr(self, name) == data:
            return []
        setattr(self, name, data)
        return [{"k": kind, kind: data}]

    def _batches(self, events: list[Data]) -> Iterator[list[Data]]:
        """Yield the events of each message: cells in messages of limited size."""
        rest = [event for event in events if event["k"] != "cells"]
        cells = [each for event in events if event["k"] == "cells" for each in event["cells"]]
        first = [{"k": "cells", "cells": cells[:_MAX_CELLS]}] if cells else []
        if rest or first:
            yield rest + first
        for at in range(_MAX_CELLS, len(cells), _MAX_CELLS):
            yield [{"k": "cells", "cells": cells[at : at + _MAX_CELLS]}]

    def _progress_data(self) -> Data:
        found, counts = self.found, self._counts
        total, missing = len(found.cells), counts["missing"]
        done = total - missing
        is_live = self._status in (RUNNING, STOPPING)
        made = done - found.cached
        return {
            "status": self._status,
            "done": done,
            "all": total,
            "cached": found.cached,
            "running": len(self._given_out),
            "counts": {state: count for state, count in counts.items() if count > 0},
            "cost": self._cost if self._cost > 1e-12 else 0.0,
            "rest_cost": self._cost / done * missing if done and missing else 0.0,
            "left": (time.time() - found.began) / made * missing if is_live and made > 0 else None,
            "question": mask(found.question),
            "problem": mask(found.problem),
            "again": counts[FAILED] + counts[UNSCORED],
            "opened": sorted(number for number, each in list(self.opened.items()) if self.page.shows(each.run)),
            "edited": len(self._edited()),
        }

    def _figures_are_due(self, now: float) -> bool:
        compared = self._comparing is not None and self._comparing[1].done()
        if self._figures_version == self.found.version and not compared:
            return False
        return now >= self._figures_due or self._status not in (RUNNING, STOPPING)

    def _figures_data(self) -> Data:
        found = self.found
        began, version = time.monotonic(), found.version
        lines = [_line_data(line, self._score_names) for line in table.lines(found)]
        data = {
            "scores": list(self._score_names),
            "lines": lines,
            "differences": self._comparisons(version),
            "remarks": [mask(remark) for remark in table.remarks(found)],
            "comparing": self._comparing is not None,
        }
        self._figures_version = version
        now = time.monotonic()
        self._figures_due = now + max(INTERVAL, (now - began) / SHARE)
        return data

    def _comparisons(self, version: int) -> list[Data]:
        """Return the differences between the variants, as soon as nothing is missing: that can take a second."""
        if self._counts["missing"] or len(self.found.variants) < 2:
            self._comparing = None
            return []
        if self._comparing is None or self._comparing[0] != version:
            self._comparing = version, background.in_thread(lambda: table.comparisons(self.found))
        future = self._comparing[1]
        if not future.done():
            return []
        self._comparing = None
        return [_comparison_data(each) for each in future.result()]

    def _reset(self) -> Data:
        found = self.found
        repeats = len(found.cells) // max(1, len(found.cases) * len(found.variants))
        about = {
            "name": found.name,
            "variants": found.variants,
            "cases": len(found.cases),
            "repeats": repeats,
            "failed": found.failed,
        }
        return {"t": "reset", "head": about, "progress": self._progress, "figures": self._figures}


def _run_of(found: Experiment, cell: Cell) -> Run:
    """Return the run of a cell: the very one that a thread is driving, or it is opened, or looked at."""
    if (run := found.live(cell)) is not None:
        return run
    try:
        return cell.run
    except JournalInUse:
        return cell.agent.look(cell.run_name)
    except Unknown:
        raise UsageError("this run has not begun yet") from None


def _mark(run: Run) -> Any:
    """Return something that is another thing when a run has been changed, or has gone on."""
    return len(run.trace.tree.entries), run.entries[-1].id if run.entries else 0


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _estimate_data(estimate: Estimate | None) -> list[float | None] | None:
    """Return a value and its interval; an end that is not known is None."""
    return [estimate.value, _finite(estimate.low), _finite(estimate.high)] if estimate else None


def _line_data(line: table.Line, names: list[str]) -> Data:
    return {
        "variant": line.variant,
        "estimates": [_estimate_data(line.estimates.get(name)) for name in names],
        "scored": line.counts[SCORED],
        "counts": {state: line.counts[state] for state in table.COUNTED if line.counts[state]},
        "calls": line.calls,
        "tokens": line.tokens,
        "cost": line.cost,
        "seconds": line.seconds,
    }


def _comparison_data(comparison: table.Comparison) -> Data:
    return {
        "score": comparison.score,
        "variant": comparison.variant,
        "estimate": _estimate_data(comparison.difference.estimate),
        "verdict": comparison.verdict,
        "title": comparison.title,
        "counts": comparison.counts,
        "hint": comparison.hint,
    }
