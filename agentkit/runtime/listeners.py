"""The listeners of a run, which are called for each of its events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from agentkit.core.secrets import mask_json
from agentkit.core.text import error_line
from agentkit.journal.entries import Row
from agentkit.trace.events import Event, RowEvents
from agentkit.trace.progress import Progress
from agentkit.trace.trace import Trace

Listener = Callable[[Event], Any]


class Listeners:
    """The listeners of a run; one that raises is not called any more, and a warning is recorded."""

    def __init__(self, trace: Trace, warn: Callable[[str], Any]) -> None:
        self._trace = trace
        self._warn = warn
        self._listeners: list[Listener] = []
        self._progress: Progress | None = None
        self._events = RowEvents()

    def __bool__(self) -> bool:
        return bool(self._listeners)

    def add(self, listener: Listener) -> None:
        """Call a listener for every event from now on."""
        if self._progress is None:
            self._progress = Progress(self._trace.tree.entries.values())
            self._trace.on_row = self._tell_row
        self._listeners.append(listener)

    def restore(self, rows: Iterable[Row]) -> None:
        """Follow the rows of a run that is opened; its listeners are told what happens from then on."""
        for row in rows:
            self._events.skip(row)

    def remove(self, listener: Listener) -> None:
        """Stop calling a listener."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def tell(self, kind: str, **data: Any) -> None:
        """Send the listeners an event that is not stored."""
        if self._listeners:
            self.tell_masked(kind, mask_json(data))

    def tell_masked(self, kind: str, data: dict[str, Any]) -> None:
        """Send the listeners an event that is not stored, and whose texts are masked already."""
        self._tell(Event(kind, self._trace.run, 0, data))

    def tell_call(self, **data: Any) -> None:
        """Send the listeners the beginning of a call that has no row of its own."""
        self._events.begin(self._trace.run, data["path"], data["index"])
        self.tell("tool_call", **data, performed=True)

    def _tell_row(self, row: Row) -> None:
        assert self._progress is not None
        for event in self._progress.take(row):
            self._tell(event)
        for event in self._events.take(row):
            self._tell(event)

    def _tell(self, event: Event) -> None:
        for listener in list(self._listeners):
            try:
                listener(event)
            except BaseException as error:  # the row of the event is written already, and the engine must continue
                self.remove(listener)
                self._warn(f"a listener raised {error_line(error)}; it is not called any more")
