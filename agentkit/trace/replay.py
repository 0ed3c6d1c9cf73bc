"""A second engine of a run, brought to a step of the past: it is sent what was recorded, and performs nothing.

The stepper of the run itself is never touched. A generator cannot go back, so the replay goes on from where it is if
the step comes later, and otherwise starts again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from agentkit.core import interrupts
from agentkit.core.secrets import mask
from agentkit.core.text import error_line
from agentkit.journal.entries import Entry
from agentkit.stepper.frames import FrameInfo
from agentkit.stepper.stepper import Pending, Stepper, difference, is_same, step_at
from agentkit.trace.line import led_to
from agentkit.trace.trace import Trace

Look = Callable[[list[FrameInfo]], Any]
"""Reads what it needs from the frames at a step, because they change when the replay goes on."""


@dataclass(slots=True)
class Seen:
    """The engine at a step of the past.

    `frames` are those that led to the step, outermost first, with the arounds in progress. `before` is what `look`
    returned at the step before, if it was there. `problem` says why the engine could not be brought to the step.
    """

    frames: list[FrameInfo] = field(default_factory=list)
    before: Any = None
    problem: str = ""


class Replay:
    """An engine that can be looked at as it was at any step of a run. Not safe in two threads at the same time."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._stepper: Stepper | None = None
        self._fed: set[int] = set()
        self._problem = ""

    def to(self, line: list[Entry], entry: Entry, look: Look = list) -> Seen:
        """Bring the engine to the step of an entry of a line, before it had a result, and return what is there."""
        if entry.kind == "begin":
            return Seen()
        seen: Seen = interrupts.run_engine(self._to, line, entry, look)
        return seen

    def close(self) -> None:
        """Close the engine."""
        if self._stepper is not None:
            interrupts.run_engine(self._stepper.close)
            self._stepper = None

    def _to(self, line: list[Entry], entry: Entry, look: Look) -> Seen:
        causes = [other for other in line if other.kind != "begin" and led_to(self._trace.tree, other, entry)]
        later = {entry.id, *(other.id for other in causes[-1:])}
        stepper = self._stepper
        if stepper is None or self._problem or later & self._fed or not self._fed <= {other.id for other in line}:
            self.close()
            stepper, self._fed, self._problem = self._trace.new_stepper(), set(), ""
        self._stepper = None  # until it has arrived: an interrupt leaves it useless
        before = None
        self._feed(stepper, causes[:-1])
        if causes and (pending := self._pending(stepper, causes[-1])):
            before = look(stepper.frames_to(pending))
        self._feed(stepper, causes)
        pending = self._pending(stepper, entry)
        if pending is None:  # it may have waited until fewer lanes were in progress, see `All.limit`
            for other in line:
                if other.kind != "begin" and other is not entry:
                    self._feed(stepper, [other])
                    if pending := self._pending(stepper, entry):
                        break
        self._stepper = stepper
        if pending is None:
            self._problem = self._problem or _problem(stepper, entry)
            return Seen(problem=self._problem)
        return Seen(stepper.frames_to(pending), before)

    def _feed(self, stepper: Stepper, entries: Iterable[Entry]) -> None:
        """Feed the results of entries in their order; those that are not pending yet wait for the others."""
        left = [entry for entry in entries if entry.id not in self._fed]
        while left:
            waiting = []
            for entry in left:
                if pending := self._pending(stepper, entry):
                    self._fed.add(entry.id)
                    stepper.feed(pending, entry.result)
                else:
                    waiting.append(entry)
            if len(waiting) == len(left):
                return
            left = waiting

    def _pending(self, stepper: Stepper, entry: Entry) -> Pending | None:
        """Return the pending step at the position of an entry, if it is the same one."""
        for pending in stepper.pending:
            if pending.path == entry.path and pending.index == entry.index:
                if is_same(pending.step, entry):
                    return pending
                self._problem = self._problem or difference(pending, entry)
        return None


def _problem(stepper: Stepper, entry: Entry) -> str:
    if stepper.error:
        return f"the engine now fails ({mask(error_line(stepper.error))})"
    now = "ends" if stepper.answer is not None else f"asks for {', '.join(map(step_at, stepper.pending)) or 'nothing'}"
    return f"the engine now {now}, but {step_at(entry)} was recorded there"
