"""The calls of models and tools in a run, as the profile counts them, and the time in which at least one was made."""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentkit.core.secrets import mask
from agentkit.core.steps import Act, Think
from agentkit.core.text import one_line
from agentkit.core.usage import Usage
from agentkit.gates.state import Loss
from agentkit.journal.entries import Entry

LEFT, LOST, ASKED = "on lines that were left", "calls without a result", "asked again"
"""What is counted apart: steps that an edit or an undo has taken off the line; model calls that failed and calls that
were abandoned; and thoughts for which the model was only asked again.
"""

_PHASES = {"plan": "plan", "select_tools": "select tools", "synthesize": "synthesize", "compact": "compaction"}
"""The phases of thoughts with these roles; every other thought belongs to the phase "think"."""

_STAGES = (
    ("plan_step", "step {} of the plan"),
    ("plan_lane", "step {} of the plan"),
    ("episode", "episode {}"),
    ("round", "round {}"),
    ("node", "node {}"),
)
"""Tags that name a part of a loop, and how it is called."""

_TOKENS = re.compile(r"\.\d+|\[\d+\.(\d+)[^\]]*\]")
_MAX_DEPTH, _MAX_NAME = 12, 60

Span = tuple[int, float, float]
"""A time: the sitting that it is in, its beginning and its end. Times of two sittings may be those of two machines."""


@dataclass(slots=True)
class Called:
    """A call of a model or a tool, or several of which only the sum is known.

    `apart` is why it is counted apart, or "". `calls` is how many calls are counted: 0 if something else stands in its
    place. `entry` is its number in the tree, or 0. `stack` are the nested engines and lanes that it was made in, each
    as a path and a name. `first` is the time until the first piece of the reply came; None if it came in one piece.
    """

    span: Span
    phase: str
    role: str = ""
    model: str = ""
    tool: str = ""
    stage: str = ""
    stack: tuple[tuple[str, str], ...] = ()
    name: str = ""
    apart: str = ""
    calls: int = 1
    usage: Usage = field(default_factory=Usage)
    entry: int = 0
    first: float | None = None

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.span[2] - self.span[1]


@dataclass(slots=True)
class Recorded:
    """What a profile is made of: the entries of a run in the order in which they were recorded, and its losses.

    `line` are the entries on its line. Entries of other runs are forks in which its model was only asked again.
    """

    run: str
    entries: list[Entry]
    line: set[int]
    losses: list[Loss]

    def sittings(self) -> dict[int, int]:
        """Return the sitting of each entry: another one begins when the run was opened in another process."""
        sitting, found = 0, {}
        for entry in self.entries:
            sitting += entry.run == self.run and "away" in (entry.rested or ())
            found[entry.id] = sitting
        return found


def span_of(entry: Entry, sitting: int) -> Span:
    """Return the time of an entry; it has no length if a clock was set back meanwhile."""
    return sitting, entry.started, max(entry.started, entry.ended)


def calls_of(recorded: Recorded, sittings: Mapping[int, int]) -> list[Called]:
    """Return the calls of a run, those without a result last."""
    stacks = _Stacks(recorded.entries)
    made = [_called(entry, recorded, sittings[entry.id], stacks) for entry in recorded.entries if _is_call(entry)]
    known = sorted(entry.id for entry in recorded.entries)
    for loss in recorded.losses:
        before = bisect.bisect(known, loss.after)
        made.append(_without_result(loss, sittings[known[before - 1]] if before else 0))
    return made


def _without_result(loss: Loss, sitting: int) -> Called:
    used, is_tool = loss.used, loss.used.tool_calls > 0
    return Called(
        (sitting, loss.ended - max(0.0, used.seconds), loss.ended),
        LOST,
        LOST,
        "" if is_tool else LOST,
        LOST if is_tool else "",
        name="tool call without a result" if is_tool else "model call without a result",
        apart=LOST,
        calls=used.calls + used.tool_calls,
        usage=used,
    )


def _is_call(entry: Entry) -> bool:
    """Return whether something was called for an entry, or tried to be; what a person or a gate wrote took no call."""
    return not entry.original and type(entry.step) in (Think, Act) and entry.author in ("model", "tool", "host")


def _called(entry: Entry, recorded: Recorded, sitting: int, stacks: _Stacks) -> Called:
    step: Any = entry.performed or entry.step
    is_thought, span = type(step) is Think, span_of(entry, sitting)
    role = shown(entry.step.role)  # type: ignore[union-attr]
    apart = ASKED if entry.run != recorded.run else "" if entry.id in recorded.line else LEFT
    first = entry.streamed - span[1] if span[1] <= entry.streamed <= span[2] else None
    tool = "" if is_thought else shown(step.call.name)
    return Called(
        span,
        _PHASES.get(role, "think") if is_thought else "act",
        role,
        shown(entry.model) if is_thought else "",
        tool,
        stage_of(step.tags),
        stacks.of(entry),
        " ".join(filter(None, (entry.step_name, tool or role))),
        apart,
        int(entry.author == "model" if is_thought else entry.author == "tool"),
        entry.usage or Usage(),
        entry.id,
        first,
    )


def shown(name: object) -> str:
    """Return a name that an engine, a model or a tool has chosen: one short line without secrets."""
    return one_line(name, _MAX_NAME, mask) or "(no name)"


def stage_of(tags: Mapping[str, Any]) -> str:
    """Return which part of its loop a step belongs to, as its tags say: "step 2 of the plan", "episode 1", or ""."""
    if not tags:
        return ""
    values = [(text, tags.get(name)) for name, text in _STAGES]
    return " › ".join(
        dict.fromkeys(text.format(shown(value)) for text, value in values if isinstance(value, int | str))
    )


class _Stacks:
    """The nested engines and lanes of paths. A lane that holds nothing but one call of a tool is none."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._lone = Counter(entry.path for entry in entries)
        self._stages: dict[str, str] = {}
        for entry in entries:
            if type(entry.step) is Think:
                self._lone[entry.path] += 2
            if entry.path and entry.step is not None:
                stage = stage_of(entry.step.tags)
                for prefix, _ in _levels(entry.path):
                    if self._stages.setdefault(prefix, stage) != stage:
                        self._stages[prefix] = ""  # several stages run inside it
        self._known: dict[str, tuple[tuple[str, str], ...]] = {}

    def of(self, entry: Entry) -> tuple[tuple[str, str], ...]:
        """Return the nested engines and lanes that an entry is in, the outermost first."""
        path = entry.path
        if path.endswith("]") and self._lone[path] == 1:
            path = path[: path.rfind("[")]
        if path not in self._known:
            self._known[path] = tuple(self._named(path))
        return self._known[path]

    def _named(self, path: str) -> Iterable[tuple[str, str]]:
        above = ""
        for prefix, name in _levels(path):
            stage = self._stages.get(prefix, "")
            yield prefix, stage if stage and stage != above else name
            above = stage or above


@functools.lru_cache(maxsize=1024)
def _levels(path: str) -> tuple[tuple[str, str], ...]:
    """Return the outermost levels of a path, each as the path up to there and a name."""
    levels: list[tuple[str, str]] = []
    for match in _TOKENS.finditer(path):
        if len(levels) == _MAX_DEPTH:
            break
        name = f"lane {int(match[1]) + 1}" if match[1] else f"nested engine {int(match[0][1:]) + 1}"
        levels.append((path[: match.end()], name))
    return tuple(levels)


# -- time --------------------------------------------------------------------------------------------------------------


def union(spans: Iterable[Span]) -> list[Span]:
    """Return the times in which at least one of these goes on, in order."""
    merged: list[Span] = []
    for sitting, start, end in sorted(spans):
        if merged and merged[-1][0] == sitting and start <= merged[-1][2]:
            merged[-1] = (sitting, merged[-1][1], max(end, merged[-1][2]))
        else:
            merged.append((sitting, start, end))
    return merged


def length(spans: Iterable[Span]) -> float:
    """Return the time in which at least one of these goes on, in seconds."""
    return sum(end - start for _, start, end in union(spans))


def gaps(spans: Iterable[Span]) -> float:
    """Return the time between these, in seconds; no time is less than none, whatever the clocks said."""
    merged = union(spans)
    return sum(max(0.0, after[1] - before[2]) for before, after in itertools.pairwise(merged))
