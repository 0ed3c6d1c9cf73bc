"""What surrounds the work of a run without changing it, such as the spans of a trace."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any, Protocol

from agentkit.core.text import error_line
from agentkit.runtime.in_flight import InFlight, Outcome


class Surrounding(Protocol):
    """Something that surrounds the work of one run. All methods are called while the run's lock is held.

    A run is driven from a `begins` to the next `rests`. Each step that is performed in between has a `step_begins` and
    a `step_ends`; a replay has neither. Context variables that `begins` sets apply to all that happens until the run
    rests, and those that `step_begins` sets to all that happens in the step, in whatever thread or task that is.
    """

    def begins(self) -> None:
        """The run begins to be driven."""

    def rests(self) -> None:
        """The run has come to rest."""

    def step_begins(self, flight: InFlight) -> None:
        """A step is about to be performed."""

    def step_ends(self, flight: InFlight, outcome: Outcome) -> None:
        """A step has its outcome; that of a step that was abandoned is `Stopped`, and says why."""


class Within:
    """The surroundings of a run; one that raises is not called any more, and a warning is recorded."""

    def __init__(self, warn: Callable[[str], Any]) -> None:
        self._warn = warn
        self._surroundings: list[Surrounding] = []

    def add(self, *surroundings: Surrounding) -> None:
        """Have something surround the run from now on."""
        self._surroundings += surroundings

    def begins(self, context: contextvars.Context) -> None:
        """Begin what surrounds the run, in the context in which it will be driven."""
        if self._surroundings:
            context.run(self._call, "begins")

    def rests(self) -> None:
        """End what surrounds the run."""
        self._call("rests")

    def step_begins(self, flight: InFlight) -> None:
        """Begin what surrounds a step, in a context of its own."""
        if self._surroundings:
            flight.context = contextvars.copy_context()
            flight.context.run(self._call, "step_begins", flight)

    def step_ends(self, flight: InFlight, outcome: Outcome) -> None:
        """End what surrounds a step."""
        if flight.context is not None:
            self._call("step_ends", flight, outcome)

    def _call(self, name: str, *args: Any) -> None:
        for surrounding in list(self._surroundings):
            try:
                getattr(surrounding, name)(*args)
            except Exception as error:  # what watches a run must not end it
                self._surroundings.remove(surrounding)
                self._warn(f"{type(surrounding).__name__} raised {error_line(error)}; it does not surround the run now")
