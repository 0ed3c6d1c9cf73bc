"""What going back would do, told before it is done: what is kept, what is performed again, and what is not undone."""

from __future__ import annotations

from typing import Any

from agentkit.core.secrets import mask
from agentkit.core.text import call_text, counted
from agentkit.gates.effects import still_performed
from agentkit.journal.entries import Entry
from agentkit.run.run import Run
from agentkit.trace.line import Line, lane_of
from agentkit.view.feed import Feed
from agentkit.view.queries import find_entry
from agentkit.view.words import steps_text

Data = dict[str, Any]


def forecast(feed: Feed, *, entry: int) -> Data:
    """Return, by verb, what it would do with an entry: `undo`, `rewind`, `retry` and `fork`; "" if it cannot be done.

    The last entry stands for 0. Nothing is changed, and the engine is not replayed.
    """
    run = feed.run
    target = find_entry(feed, entry) if entry else run.entries[-1]
    forecasts: Data = run.control.read(lambda: _forecasts(run, target))
    return forecasts


def _forecasts(run: Run, target: Entry) -> Data:
    trace = run.trace
    here = trace.until(target)
    return {
        "undo": _undo(run) if trace.can_undo else "",
        "rewind": _sentence(f"Keeps {_kept(here)} and performs nothing.{_left(run, here)}", run, here),
        "retry": _retry(run, target),
        "fork": _sentence(f"Starts a second run that reuses {_kept(here)} without a call.", run, here),
    }


def _undo(run: Run) -> str:
    trace = run.trace
    before = Line(trace.tree, trace.before_last_change()).entries
    what = "Takes back the last edit or move" if trace.moved_last else "Takes back the last step"
    return _sentence(f"{what}, keeps {_kept(before)} and performs nothing.", run, before)


def _retry(run: Run, target: Entry) -> str:
    line = run.entries
    if target.kind == "begin" or lane_of(target.path) or all(target is not entry for entry in line):
        return ""
    before = run.trace.until(line[next(n for n, entry in enumerate(line) if entry is target) - 1])
    return _sentence(f"Keeps {_kept(before)}, then {_again(target)}.{_left(run, before)}", run, before)


def _again(entry: Entry) -> str:
    """Return what performing a step once more means."""
    step: Any = entry.step
    if entry.kind == "act":
        return f"performs {mask(call_text(step.call))} once more"
    return {"think": "asks the model again", "ask": "asks you again"}.get(entry.kind, "ends again")


def _kept(entries: list[Entry]) -> str:
    count = sum(entry.kind != "begin" for entry in entries)
    return steps_text(entries) if count else "only the task"


def _left(run: Run, line: list[Entry]) -> str:
    """Return a sentence about the entries that would not be on the line any more."""
    kept = {entry.id for entry in line}
    count = sum(entry.id not in kept for entry in run.entries)
    return f" {counted(count, 'step').capitalize()} stay{'s' * (count == 1)} as a branch." if count else ""


def _sentence(text: str, run: Run, entries: list[Entry]) -> str:
    """Return a forecast, and which calls would be left behind and so are not undone."""
    return " ".join(filter(None, (text, still_performed(run.state, Line(run.trace.tree, entries)))))
