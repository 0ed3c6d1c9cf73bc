"""Breakpoints: pause a run when something happens."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agentkit.core.messages import Call, canonical
from agentkit.core.secrets import mask
from agentkit.core.steps import Act
from agentkit.core.text import error_line
from agentkit.errors import Unknown, UsageError
from agentkit.journal.entries import Entry
from agentkit.stepper.frames import FrameInfo
from agentkit.stepper.stepper import Pending
from agentkit.trace.trace import Trace


@dataclass(slots=True)
class _Calls:
    """The calls in a tree, by name and arguments; a tree only grows, so each entry is read only once."""

    last: int = 0
    ids: dict[bytes, set[int]] = field(default_factory=dict)

    def has(self, pending: Pending, trace: Trace) -> bool:
        """Return whether a call with the same arguments is on the line already, or is pending before this one."""
        first, self.last = self.last + 1, trace.latest
        for number in range(first, self.last + 1):
            entry = trace.tree.entries.get(number)
            if entry is not None and type(entry.step) is Act:
                self.ids.setdefault(_key(entry.step.call), set()).add(number)
        key = _key(pending.step.call)  # type: ignore[union-attr]
        if not trace.line.ids.isdisjoint(self.ids.get(key, ())):
            return True
        before = itertools.takewhile(lambda other: other is not pending, trace.pending)
        return any(type(other.step) is Act and _key(other.step.call) == key for other in before)


def _key(call: Call) -> bytes:
    return canonical([call.name, call.arguments])


@dataclass(slots=True)
class Breakpoint:
    """A breakpoint: it pauses a run when its condition is met; it has exactly one condition.

    `tool` and `role` are names, `line` is a line of the engine's file (or of the file whose path ends in `file`),
    `error` is a tool that failed, `repeat` is a call of the same tool with the same arguments as an earlier one, and
    `when` is a predicate of the entry that was just recorded. `number` identifies the breakpoint in this process.
    """

    CONDITIONS: ClassVar = ("tool", "role", "line", "error", "repeat", "when")
    tool: str | None = None
    role: str | None = None
    line: int | None = None
    error: bool = False
    repeat: bool = False
    when: Callable[[Any], bool] | None = None
    file: str = ""
    enabled: bool = field(default=True, compare=False)
    hits: int = field(default=0, compare=False)
    number: int = field(default_factory=itertools.count(1).__next__, repr=False, compare=False)
    _calls: _Calls = field(default_factory=_Calls, repr=False, compare=False)

    @classmethod
    def of(cls, condition: dict[str, Any]) -> Breakpoint:
        """Return a breakpoint with conditions given by name. Raises `Unknown` for an unknown name."""
        for name in condition:
            if name not in (*cls.CONDITIONS, "file"):
                raise Unknown("breakpoint condition", name, cls.CONDITIONS)
        return cls(**condition)

    def copy(self) -> Breakpoint:
        """Return the same breakpoint for another run."""
        conditions = {name: getattr(self, name) for name in (*self.CONDITIONS, "file", "enabled")}
        return Breakpoint(**conditions)

    @property
    def text(self) -> str:
        """The condition as a short text, for example "tool look"."""
        kind = next(name for name in self.CONDITIONS if getattr(self, name) not in (None, False))
        value = self.when_text if kind == "when" else getattr(self, kind)
        return kind if value is True else f"{kind} {value}"

    @property
    def when_text(self) -> str:
        """The text of the predicate: its docstring, which is its source if it was typed in a view, or else its name."""
        text: str = getattr(self.when, "__doc__", None) or getattr(self.when, "__name__", None) or "a function"
        return text

    def __post_init__(self) -> None:
        conditions = [self.tool, self.role, self.line, self.error or None, self.repeat or None, self.when]
        if sum(condition is not None for condition in conditions) != 1:
            raise UsageError(
                "a breakpoint needs exactly one condition: tool=, role=, line=, error=True, repeat=True or when="
            )

    def before(self, pending: Pending, trace: Trace) -> str:
        """Return why to pause before a step, for example "on tool look", or ""."""
        step = pending.step
        if self.role is not None and step.role == self.role:
            return f"on role {self.role}"
        if self.line is not None and any(map(self._is_at, trace.stepper.where())):
            return f"on line {self.line}"
        if type(step) is Act:
            if self.tool is not None and step.call.name == self.tool:
                return f"on tool {self.tool}"
            if self.repeat and self._calls.has(pending, trace):
                return f"on a repeated call of {step.call.name}"
        return ""

    def _is_at(self, frame: FrameInfo) -> bool:
        return frame.line == self.line and (frame.file.endswith(self.file) if self.file else not frame.around)

    def after(self, entry: Entry) -> str:
        """Return why to pause after a step, or ""."""
        if self.error and entry.kind == "act" and not entry.result.ok:
            return f"on a failure of {entry.result.name}"
        if self.when is None:
            return ""
        try:
            return "on its condition" if self.when(entry) else ""
        except BaseException as error:
            return f"on its condition, which raised {error_line(error)}"


def hit(breakpoints: Iterable[Breakpoint], look: Callable[[Breakpoint], str]) -> str:
    """Return why the run pauses, or "", and count the hits. `look` returns the reason of one breakpoint."""
    reasons = []
    for breakpoint in list(breakpoints):
        if breakpoint.enabled and (why := look(breakpoint)):
            breakpoint.hits += 1
            reasons.append(why)
    return f"breakpoint {mask(', '.join(reasons))}" if reasons else ""
