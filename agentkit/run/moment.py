"""A moment of the past: a step of a run as it was when the engine yielded it, and what the step before had changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentkit.core.secrets import mask
from agentkit.core.text import one_line
from agentkit.inert import inert, inert_lines
from agentkit.journal.entries import Entry
from agentkit.stepper.frames import FrameInfo
from agentkit.trace.replay import Replay
from agentkit.trace.trace import Trace

Variables = dict[tuple[str, str], dict[str, str]]
"""The local variables of the engine's frames as texts, by the path and the function of each frame."""


@dataclass(frozen=True, slots=True)
class Change:
    """A local variable that a step has changed: its values as texts; `before` is None if it is new."""

    function: str
    name: str
    before: str | None
    now: str

    @inert
    def __repr__(self) -> str:
        before = "" if self.before is None else f"{mask(one_line(self.before, 80))} → "
        return f"{self.name}: {before}{mask(one_line(self.now, 80))}"


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """A step of a run as it was when the engine yielded it; see `Run.at`.

    `entry` is the step with its result, which came later. `changes` are the local variables that changed since the step
    before. `problem` says why the engine could not be followed to this step; "" if it could.
    """

    entry: Entry
    changes: tuple[Change, ...]
    problem: str
    _frames: tuple[FrameInfo, ...]
    _replay: Replay

    def where(self) -> list[FrameInfo]:
        """Return the frames that led to the step, with their lines and local variables then; innermost last.

        Those in parallel lanes are left out. There are none before the engine begins and after it has returned, and if
        there is a `problem`.
        """
        return list(self._frames)

    @inert_lines
    def __repr__(self) -> str:
        first, *_ = repr(self.entry).split("\n")
        problem = [f"  ! {mask(one_line(self.problem))}"] if self.problem else []
        frames = [f"  {frame!r}" for frame in self._frames]
        return "\n".join([first, *problem, *frames, *(f"  * {change!r}" for change in self.changes)])


def moment(trace: Trace, line: list[Entry], entry: Entry) -> Moment:
    """Return the moment of an entry of a line. The engine stays there as long as somebody holds the moment."""
    replay = Replay(trace)
    seen = replay.to(line, entry, variables)
    changes = tuple(_changes(seen.before, variables(seen.frames)))
    return Moment(entry, changes, seen.problem, tuple(seen.frames), replay)


def variables(frames: list[FrameInfo]) -> Variables:
    """Return the local variables of the engine's frames; an around begins again at each step."""
    return {
        (frame.path, frame.function): {name: _text(value) for name, value in frame.locals.items()}
        for frame in frames
        if not frame.around
    }


def _text(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:  # a repr is foreign code
        return f"<its repr raised {type(error).__name__}>"


def _changes(before: Variables | None, now: Variables) -> list[Change]:
    """Return what differs in the frames that were there before."""
    return [
        Change(frame[1], name, old.get(name), text)
        for frame, texts in now.items()
        if (old := (before or {}).get(frame)) is not None
        for name, text in texts.items()
        if old.get(name) != text
    ]
