"""A profile of a run: where its time, its tokens and its money went.

It is computed from what is recorded, and only when it is asked for, so a recording that is opened tomorrow has the same
one. Two times are told apart: the time on the clock, in which calls that ran in parallel count once, and the sum of the
times of all calls.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from agentkit.core.display import Displayed
from agentkit.core.text import counted
from agentkit.core.usage import Usage
from agentkit.errors import Unknown
from agentkit.export.frame import frame_of
from agentkit.export.tables import Table, to_html, to_markdown, to_text
from agentkit.inert import inert_lines
from agentkit.telemetry.calls import ASKED, LEFT, LOST, Called, Recorded, calls_of, gaps, length, shown, span_of
from agentkit.telemetry.flame import Bar, flame, folded

BY: dict[str, Callable[[Called], str]] = {
    "phase": lambda called: called.phase,
    "role": lambda called: called.role,
    "model": lambda called: called.model,
    "tool": lambda called: called.tool,
    "stage": lambda called: called.stage or "outside of any",
    "lane": lambda called: " › ".join(name for _, name in called.stack) or "the run's own steps",
    "step": lambda called: called.name,
}
"""What a profile can be grouped by, and the group of a call; a call without a group is left out."""

_SHOWN_STEPS = 10
"""How many of the longest steps are printed."""


@dataclass(slots=True)
class Part:
    """Some calls of a run: how many, how long, and what they used.

    `clock` is the time in which at least one of them was made, `summed` the sum of their times, both in seconds.
    `entry` is the longest of them, by its number in the tree. `apart` is why they are counted apart, or "".
    """

    name: str
    calls: int = 0
    clock: float = 0.0
    summed: float = 0.0
    usage: Usage = field(default_factory=Usage)
    entry: int = 0
    apart: str = ""


@dataclass(slots=True)
class Streaming:
    """How fast a model replied: its calls, how many replies came in pieces, and the median time to the first of them,
    None if none did. `per_second` is output tokens in a second of writing (of the whole call, if it came in one piece).
    """

    model: str
    calls: int
    streamed: int
    first: float | None
    per_second: float | None


@dataclass(slots=True)
class Clock:
    """The time of a run from its first entry to its last, in seconds; it is the sum of the others.

    `busy` is when at least one call was made. `waiting` is when everything waited for a person, `paused` when the run
    rested for another reason, `away` the time between two processes. `overhead` is the rest: the engine's own code,
    gates, hooks before a step, and the journal. In a recording that does not tell when the run rested, that and
    `overhead` together are `unknown`.
    """

    busy: float = 0.0
    overhead: float = 0.0
    waiting: float = 0.0
    paused: float = 0.0
    away: float = 0.0
    unknown: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.busy + self.overhead + self.waiting + self.paused + self.away + self.unknown


_CLOCK = {
    "busy": "models and tools",
    "overhead": "overhead",
    "waiting": "waiting for a person",
    "paused": "paused",
    "away": "away, between two processes",
    "unknown": "between the calls",
}


class Profile(Displayed):
    """Where the time, the tokens and the money of a run went.

    `clock` divides its time, and `usage` is what it used. `by("tool")` returns the parts by "phase", "role", "model",
    "tool", "stage" (a step of a plan, an episode, a round), "lane" (nested engines and parallel lanes) or "step".
    `streaming` tells how fast each model replied. `rows` are all parts as records, and `to_frame()` makes a data frame
    of them; `folded()` is text for speedscope and other programs that draw flame graphs.
    """

    def __init__(self, recorded: Recorded, *, usage: Usage) -> None:
        sittings = recorded.sittings()
        self.run = recorded.run
        self.usage = usage
        self.calls = calls_of(recorded, sittings)
        self.clock = _clock(recorded, self.calls, sittings)

    def by(self, group: str) -> list[Part]:
        """Return the parts of the run, the longest first, and then what is counted apart. Each call is in one part.

        Raises `Unknown` if a run cannot be grouped in this way.
        """
        if group not in BY:
            raise Unknown("grouping", group, list(BY))
        groups: dict[tuple[str, str], list[Called]] = {}
        key = BY[group]
        for number, called in enumerate(self.calls):
            name = key(called)
            if name:
                own = f"{number}" if group == "step" and not called.apart else called.apart or name
                groups.setdefault((called.apart, own), []).append(called)
        parts = [_part(apart or key(each[0]), apart, each) for (apart, _), each in groups.items()]
        order = ("", LEFT, LOST, ASKED)
        return sorted(parts, key=lambda part: (order.index(part.apart), -part.summed, -part.usage.total))

    @property
    def left(self) -> Part:
        """What was spent on lines that were left."""
        return _part(LEFT, LEFT, [called for called in self.calls if called.apart == LEFT])

    @property
    def lost(self) -> Part:
        """What was spent on calls without a result."""
        return _part(LOST, LOST, [called for called in self.calls if called.apart == LOST])

    @property
    def total(self) -> Part:
        """All calls together."""
        return _part("all calls", "", self.calls)

    @property
    def streaming(self) -> list[Streaming]:
        """How fast each model replied, by its name."""
        models: dict[str, list[Called]] = {}
        for called in self.calls:
            if called.model and called.calls and called.apart != LOST:
                models.setdefault(called.model, []).append(called)
        return [_streaming(name, models[name]) for name in sorted(models)]

    @property
    def flame(self) -> Bar:
        """The calls as a tree: the run, its nested engines and lanes, phases, models and tools, and steps."""
        return flame(self.calls, self.clock.overhead)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All parts as records: "clock" and "summed" in seconds, "input" and "output" in tokens, "cost" in dollars."""
        return self._rows(BY)

    def _rows(self, groups: Iterable[str]) -> list[dict[str, Any]]:
        return [{"by": group, **_record(part)} for group in groups for part in self.by(group)]

    def to_frame(self) -> Any:
        """Return `rows` as a pandas table. Raises `UsageError` if pandas is not installed."""
        return frame_of(self.rows, ["by", *_record(Part(""))])

    def folded(self) -> str:
        """Return the calls as collapsed stacks: one line for each, with its time in microseconds."""
        return folded(self.flame)

    # -- how it shows itself -------------------------------------------------------------------------------------------

    def data(self, by: Iterable[str] = tuple(BY)) -> dict[str, Any]:
        """Return the profile as JSON data, with the rows of these groupings."""
        clock = {name: getattr(self.clock, name) for name in _CLOCK}
        return {
            "run": self.run,
            "clock": {**clock, "total": self.clock.total},
            "usage": {name: getattr(self.usage, name) for name in Usage.__slots__},
            "rows": self._rows(by),
            "streaming": [{name: getattr(each, name) for name in Streaming.__slots__} for each in self.streaming],
        }

    def tables(self) -> list[tuple[str, Table]]:
        """Return what is shown as tables, each with a title."""
        tables = [("Time", self._time_table()), ("Phases", self._table("phase"))]
        for group, title in (("role", "Roles"), ("model", "Models"), ("tool", "Tools"), ("stage", "Stages")):
            names = {part.name for part in self.by(group) if not part.apart}
            if names and not (group in ("role", "stage") and len(names) == 1):
                tables.append((title, self._table(group)))
        if any(called.stack for called in self.calls):
            tables.append(("Nested engines and lanes", self._table("lane")))
        steps = [part for part in self.by("step") if not part.apart]
        if len(steps) > 1:
            title = "Steps" if len(steps) <= _SHOWN_STEPS else "The longest steps"
            tables.append((title, _table("step", steps[:_SHOWN_STEPS], "")))
        if streaming := self.streaming:
            tables.append(("Replies", _streaming_table(streaming)))
        return tables

    def _time_table(self) -> Table:
        total, summed = self.clock.total, self.total.summed
        parts = [(text, getattr(self.clock, name)) for name, text in _CLOCK.items()]
        rows = [[text, duration(each), share(each, total)] for text, each in parts if each or text == "overhead"]
        note = ""
        if summed > self.clock.busy + 0.001:
            note = f"Calls ran in parallel: {duration(summed)} of calls in {duration(self.clock.busy)} on the clock."
        return Table(["", "on the clock", "share"], [*rows, ["all", duration(total), ""]], note)

    def _table(self, group: str) -> Table:
        return _table(group, self.by(group), "")

    @inert_lines
    def __repr__(self) -> str:
        head = f"Profile of run {shown(self.run)}: {duration(self.clock.total)}, {_usage_text(self.usage)}"
        texts = (f"{title}\n{to_text(table, cell_width=60)}" for title, table in self.tables())
        return "\n\n".join([head, *texts])

    def _repr_html_(self) -> str:
        from agentkit.export.html import fragment

        pieces = (f"<p><b>{title}</b></p>{to_html(table)}" for title, table in self.tables())
        return fragment(f"<p>{duration(self.clock.total)}, {_usage_text(self.usage)}</p>", *pieces)

    def _repr_markdown_(self) -> str:
        head = f"{duration(self.clock.total)}, {_usage_text(self.usage).replace('$', '&#36;')}"
        return "\n\n".join([head, *(f"**{title}**\n\n{to_markdown(table)}" for title, table in self.tables())])


def _clock(recorded: Recorded, calls: Iterable[Called], sittings: dict[int, int]) -> Clock:
    """Divide the time of a run. What the run rested is part of the time between calls, and no more than that."""
    own = [entry for entry in recorded.entries if entry.run == recorded.run and not entry.original]
    busy = [called.span for called in calls]
    spans = [*(span_of(entry, sittings[entry.id]) for entry in own if entry.started), *busy]
    rests: dict[str, float] = {"waiting": 0.0, "paused": 0.0, "away": 0.0}
    for entry in own:
        for why, seconds in (entry.rested or {}).items():
            rests[why if why in rests else "paused"] += seconds
    between = gaps(spans)
    is_known = all(entry.started for entry in recorded.entries if entry.kind == "begin")
    if own and own[0].kind != "begin":  # a fork begins with what its first entry has rested
        between += sum((own[0].rested or {}).values())
    between += length(spans) - length(busy)  # entries that took a moment, but no call
    rested = sum(rests.values())
    factor = min(1.0, between / rested) if rested else 1.0
    left = max(0.0, between - rested)
    clock = Clock(length(busy), **{why: seconds * factor for why, seconds in rests.items()})
    clock.overhead, clock.unknown = (left, 0.0) if is_known else (0.0, left)
    return clock


def _part(name: str, apart: str, calls: list[Called]) -> Part:
    longest = max(calls, key=lambda called: called.seconds, default=None)
    return Part(
        name,
        sum(called.calls for called in calls),
        length(called.span for called in calls),
        sum(called.seconds for called in calls),
        total_usage(calls),
        longest.entry if longest else 0,
        apart,
    )


def total_usage(calls: Iterable[Called]) -> Usage:
    """Return what calls have used together; `calls` are those of models."""
    used = Usage()
    for called in calls:
        usage = called.usage
        used.input += usage.input
        used.output += usage.output
        used.cached += usage.cached
        used.reasoning += usage.reasoning
        used.cost += usage.cost
        used.calls += called.calls if called.model else 0
    return used


def _streaming(model: str, calls: list[Called]) -> Streaming:
    firsts = [called.first for called in calls if called.first is not None]
    writing = [(called.usage.output, called.seconds - (called.first or 0.0)) for called in calls if called.usage.output]
    tokens, seconds = sum(output for output, _ in writing), sum(time for _, time in writing)
    per_second = tokens / seconds if seconds > 0 else None
    return Streaming(model, len(calls), len(firsts), statistics.median(firsts) if firsts else None, per_second)


def _record(part: Part) -> dict[str, Any]:
    return {
        "name": part.name,
        "calls": part.calls,
        "clock": part.clock,
        "summed": part.summed,
        "input": part.usage.input,
        "output": part.usage.output,
        "cost": part.usage.cost,
        "entry": part.entry,
        "apart": bool(part.apart),
    }


def _table(group: str, parts: list[Part], note: str) -> Table:
    rows = [
        [
            part.name,
            str(part.calls),
            duration(part.clock),
            duration(part.summed),
            f"{part.usage.input:,}",
            f"{part.usage.output:,}",
            dollars(part.usage.cost),
        ]
        for part in parts
    ]
    return Table([group, "calls", "on the clock", "summed", "tokens in", "out", "cost"], rows, note)


def _streaming_table(streaming: list[Streaming]) -> Table:
    rows = [
        [
            each.model,
            str(each.calls),
            str(each.streamed),
            "" if each.first is None else duration(each.first),
            "" if each.per_second is None else f"{each.per_second:,.0f}",
        ]
        for each in streaming
    ]
    return Table(["model", "calls", "in pieces", "to the first piece (median)", "tokens a second"], rows)


def duration(seconds: float) -> str:
    """Return a duration as text: "12 ms", "3.4 s", "5.0 min", "2.0 h"."""
    for least, size, unit in ((3600, 3600, "h"), (120, 60, "min"), (1, 1, "s")):
        if seconds >= least:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds * 1000:.0f} ms"


def share(part: float, total: float) -> str:
    """Return a part of a total in percent."""
    return f"{100 * part / total:.0f} %" if total else ""


def dollars(cost: float) -> str:
    """Return US dollars, with more digits for small amounts; "" if there is no price."""
    return f"${cost:.{4 if cost < 0.1 else 2}f}" if cost else ""


def _usage_text(usage: Usage) -> str:
    texts = [counted(usage.calls, "model call"), f"{usage.input:,} tokens in", f"{usage.output:,} out"]
    return ", ".join([*texts, *([dollars(usage.cost)] if usage.cost else [])])
