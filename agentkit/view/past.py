"""The past of a run as its views show it: where the engine was at a step, and its variables then.

The engine runs again for that, which may take any time: it runs in a thread of its own, with a limit, one at a time.
"""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from agentkit.core import background, interrupts
from agentkit.core.secrets import mask
from agentkit.core.text import one_line
from agentkit.journal.entries import Entry
from agentkit.run.run import Run
from agentkit.stepper.frames import FrameInfo
from agentkit.trace.replay import Replay, Seen
from agentkit.view import values
from agentkit.view.head import frame_data

Data = dict[str, Any]

LIMIT = 2.0
"""How long the engine may take to get to a step, in seconds."""

_INTERRUPTS = 10

_Visit = tuple[Seen, Data]
_Variables = dict[tuple[str, str], dict[str, list[Any]]]


class Past:
    """Goes to any step of a run with a second engine, and performs nothing. Any thread may use it."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._replay = Replay(run.trace)
        self._stuck: Future[Any] | None = None
        self._entry = 0
        self._seen = Seen()
        self.files: set[str] = set()

    def at(self, entry: Entry) -> Data:
        """Return the moment of an entry: the engine's frames then, each with the variables that the step before had
        changed, and their previews before.
        """
        with self._lock:
            return self._go(entry)

    @contextmanager
    def frames(self, entry: Entry) -> Iterator[list[FrameInfo]]:
        """Hold the engine at the moment of an entry, and give its frames."""
        with self._lock:
            if self._entry != entry.id:
                self._go(entry)
            yield self._seen.frames

    def _go(self, entry: Entry) -> Data:
        self._entry, self._seen = 0, Seen()
        replay, run = self._replay, self._run

        def visit() -> _Visit:
            line: list[Entry] = run.control.read(lambda: run.trace.tree.line_with(entry, run.trace.line)[:])
            seen = replay.to(line, entry, _variables)
            return seen, {"where": [_frame_data(run, frame, seen.before) for frame in seen.frames]}

        visited = self._within_limit(lambda: interrupts.run_engine(visit))
        if visited is None:
            return {"entry": entry.id, "where": [], "problem": f"the engine takes more than {LIMIT:g} s to get there"}
        self._entry, (self._seen, data) = entry.id, visited
        self.files |= {frame.file for frame in self._seen.frames}
        return {"entry": entry.id, "problem": mask(one_line(self._seen.problem, 500)), **data}

    def _within_limit(self, visit: Callable[[], _Visit]) -> _Visit | None:
        """Return the result of a visit in a thread; None if it takes too long, and is then interrupted."""
        if self._stuck is not None and not self._stuck.done():
            return None
        thread = 0

        def in_thread() -> _Visit:
            nonlocal thread
            thread = threading.get_ident()
            return visit()

        future = background.in_thread(in_thread)
        if concurrent.futures.wait([future], timeout=LIMIT).done:
            visited: _Visit = future.result()
            return visited
        self._stuck, self._replay = future, Replay(self._run.trace)
        for _ in range(_INTERRUPTS):  # an engine may catch some of them
            interrupts.interrupt(thread)
            if concurrent.futures.wait([future], timeout=0.05).done:
                break
        return None


def _variables(frames: list[FrameInfo]) -> _Variables:
    """Return the variables of the engine's frames, with their previews and marks; an around begins again each step."""
    return {
        (frame.path, frame.function): {name: more for name, *more in values.variables(frame.locals)}
        for frame in frames
        if not frame.around
    }


def _frame_data(run: Run, frame: FrameInfo, before: _Variables | None) -> Data:
    """Return a frame with `before`: the previews of changed variables before; "" for a new one."""
    data = frame_data(run, frame)
    old = None if before is None or frame.around else before.get((frame.path, frame.function))
    changed = [name for name, _, mark in data["locals"] if old is not None and old.get(name, ("", ""))[1] != mark]
    data["before"] = {name: old[name][0]["text"] if old and name in old else "" for name in changed}
    return data
