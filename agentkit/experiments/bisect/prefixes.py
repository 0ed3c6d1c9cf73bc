"""The way from one run to another in small changes, and how a trial begins after some of them.

Two runs of one tree differ by what people did on their lines, and by the settings of forks. The way leads back along
the line of the one to where the two part, and from there along the line of the other. A trial at a point of the way
keeps what is recorded up to there, and goes on anew. What a model drew between two changes is a part of the way, too,
because it may be what turned the outcome.

Two runs that were started apart, on one task, differ by their settings. A trial is then a new run of the task.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from agentkit.agent.agent import Agent
from agentkit.core.messages import canonical, digest, message_from_json
from agentkit.core.secrets import mask
from agentkit.core.text import one_line
from agentkit.errors import UsageError
from agentkit.experiments.bisect.differences import (
    arguments,
    differing,
    entry_in_words,
    guard_options,
    in_words,
    is_by_person,
)
from agentkit.experiments.identity import content, identity_of_agent
from agentkit.inert import inert
from agentkit.journal.entries import TRIAL, Entry, Note, begun
from agentkit.run.answer import ASK
from agentkit.run.run import Run
from agentkit.trace.line import Line

DRAWN = "drawn"
"""The kind of a change that nobody made: what a model and its tools did between two changes."""


@dataclass(slots=True, frozen=True)
class Change:
    """One difference between two runs, in words; `kind` is "setting", "edit", "message" or "drawn"."""

    kind: str
    text: str

    @inert
    def __str__(self) -> str:
        return self.text


class Point(Protocol):
    """A point of the way: how a trial begins there.

    `agent` is the one of its trials, and `identity` what makes two trials the same.
    """

    @property
    def agent(self) -> Agent: ...
    @property
    def identity(self) -> Any: ...
    def begin(self, name: str) -> Run:
        """Return the trial of this name, paused: a new one, or the one that the journal has."""


@dataclass(slots=True)
class Way:
    """The changes that lead from one run to another, and the points before, between and after them.

    `alone` returns the point at which only one of the changes is made, if that can be done. `recorded` are the steps
    of both runs that trials do anew.
    """

    changes: list[Change]
    points: list[Point]
    recorded: list[list[Entry]]
    alone: Callable[[int], Point] | None = None

    @property
    def stops(self) -> list[int]:
        """The points at which the search looks first: between a change and what was drawn before it, it looks last."""
        drawn, last = [change.kind == DRAWN for change in self.changes], len(self.changes) - 1
        return [n for n in range(1, last + 1) if not drawn[n - 1] and not (n == last and drawn[n])]

    def number(self, count: int) -> int:
        """Return how many of the first `count` differences are changes that somebody made."""
        return sum(change.kind != DRAWN for change in self.changes[:count])


# -- two runs that were started apart ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Started:
    """A point at which a run is started: with the settings of `run`, but for those that are taken of `other`."""

    run: Run
    other: Run
    taken: frozenset[str]
    task: list[dict[str, Any]]
    output: Any
    tag: str
    _agent: Agent | None = field(default=None, repr=False)

    @property
    def agent(self) -> Agent:
        """The agent of the trials; what its runs are told before the task is in the task."""
        if self._agent is None:
            changes = arguments(self.run, self.other, self.taken)
            untold = {name: None for name in ("instructions", "context") if self.run.agent.options.get(name)}
            guards = {name: value for name, value in _own_guards(self.run).items() if name not in changes}
            changed = {**guards, **untold, **changes}
            self._agent = (self.run.agent.using(**changed) if changed else self.run.agent).prepared()
        return self._agent

    @property
    def temperature(self) -> float | None:
        """The temperature that is set for the trials."""
        return (self.other if "temperature" in self.taken else self.run).task.get("temperature")

    @property
    def identity(self) -> Any:
        """What makes two trials the same."""
        dialect = self.agent.dialect.name if self.agent.dialect else None
        return [
            identity_of_agent(self.agent),
            content(self.agent.engine),
            self.task,
            dialect,
            self.temperature,
            content(self.output),
        ]

    def begin(self, name: str) -> Run:
        """Return the trial of this name, paused."""
        task = [message_from_json(message) for message in self.task]
        run = self.agent.start(task, output=self.output, name=name, tags={TRIAL: self.tag}, paused=True)
        if len(run) == 1 and run.temperature != self.temperature:
            run.temperature = self.temperature
        return run


def _own_guards(run: Run) -> dict[str, Any]:
    """Return the guards that a run was opened with and its agent does not have, as options of an agent."""
    own = run.agent.guards
    return {
        name: value for name, value in guard_options(run).items() if getattr(run.guards, name) != getattr(own, name)
    }


def between_starts(run: Run, other: Run, output: Any) -> Way:
    """Return the way between two runs that were started apart. Raises `UsageError` if their tasks differ."""
    told, question = _told_and_asked(run)
    its, asked = _told_and_asked(other)
    if question != asked:
        raise UsageError(
            f"the two runs have different tasks ({_shown(question)} and {_shown(asked)}), so no change of settings "
            "explains their outcomes; bisect two runs of one task, or two forks of one run"
        )
    if (about := run.task.get("output")) != other.task.get("output") or (about and output is None):
        raise UsageError(
            "the runs have typed answers: pass that type, output=…"
            if about == other.task.get("output")
            else "the two runs have answers of different types; bisect two runs with the same output=…"
        )
    names = [*differing(run, other)]
    parts: list[tuple[Any, Any]] = [(told, its)]
    if len(told) == len(its):
        parts = list(zip(told, its, strict=True))
    texts = [f"instructions {n}" if len(parts) > 1 else "instructions" for n in range(1, len(parts) + 1)]
    places = {text: n for n, text in enumerate(texts) if parts[n][0] != parts[n][1]}
    words = {name: in_words(name, run, other) for name in names}
    words |= {text: f"{text}: {_shown(parts[n][0])} → {_shown(parts[n][1])}" for text, n in places.items()}
    order = [*words]

    def point(taken: frozenset[str]) -> Point:
        messages = [(part[1] if text in taken else part[0]) for text, part in zip(texts, parts, strict=True)]
        flat: list[Any] = [each for part in messages for each in (part if isinstance(part, list) else [part])]
        return Started(run, other, taken - {*texts}, [*flat, *question], output, run.id)

    changes = [Change("setting", words[name]) for name in order]
    points = [point(frozenset(order[:count])) for count in range(len(order) + 1)]
    recorded = [each.entries for each in (run, other)]
    return Way(changes, points, recorded, lambda number: point(frozenset([order[number]])))


def _told_and_asked(run: Run) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what a run was told before its task, but for the schema of its answer, and the task."""
    messages = run.task["task"]
    count = next((n for n, message in enumerate(messages) if message["role"] != "system"), len(messages))
    return [message for message in messages[:count] if not message["text"].startswith(ASK)], messages[count:]


def _shown(messages: Any) -> str:
    listed = messages if isinstance(messages, list) else [messages]
    return repr(one_line(" / ".join(message["text"] for message in listed), 60, mask)) if listed else "none"


# -- two runs of one tree ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Forked:
    """A point at which a run is forked: at the end of a line, without some injected messages, and with some settings.

    `base` is the run that has the line, and `opposite` the other one, from which the settings `taken` are.
    """

    base: Run
    opposite: Run
    line: list[Entry]
    recalled: frozenset[str]
    taken: frozenset[str]
    _agent: Agent | None = field(default=None, repr=False)

    @property
    def ids(self) -> list[int]:
        """The ids of the entries that are kept."""
        return [entry.id for entry in self.line]

    @property
    def changes(self) -> dict[str, Any]:
        """The changes with which the run is forked."""
        return arguments(self.base, self.opposite, self.taken)

    @property
    def agent(self) -> Agent:
        """The agent of the trials."""
        if self._agent is None:
            changes = self.changes
            self._agent = (self.base.agent.using(**changes) if changes else self.base.agent).prepared()
        return self._agent

    @property
    def temperature(self) -> float | None:
        """The temperature that is set for the trials."""
        return (self.opposite if "temperature" in self.taken else self.base).task.get("temperature")

    @property
    def identity(self) -> Any:
        """What makes two trials the same."""
        guards = self.base.guards.changed(self.changes).to_json()
        dialect = (self.opposite if "dialect" in self.taken else self.base).task.get("dialect")
        place = [self.base.tree_id, self.base.id, self.ids, sorted(self.recalled)]
        return [place, identity_of_agent(self.agent), content(self.agent.engine), dialect, self.temperature, guards]

    def begin(self, name: str) -> Run:
        """Return the trial of this name, paused."""
        run = _known(self.agent, name) or self.base.trial_at(self.line, name, **self.changes)
        if all(entry.run != run.id for entry in run.entries):  # it has not gone on yet
            for key in self.recalled & run.trace.injections.notes.keys():
                run.control.do(functools.partial(run.trace.recall, key, time.time()))
            if run.temperature != self.temperature:
                run.temperature = self.temperature
        return run


def _known(agent: Agent, name: str) -> Run | None:
    """Return the run of this name, if the journal has one that has begun."""
    return agent.resume(name) if agent.journal is not None and begun(agent.journal, name) else None


@dataclass(slots=True)
class _Event:
    """Something that a person did to a run: before the entry at a position of its line, or to that entry."""

    index: int
    row: int
    entry: Entry | None = None
    message: Note | None = None
    setting: str = ""

    @property
    def order(self) -> tuple[int, bool, int]:
        return self.index, self.entry is not None, self.row


def between_lines(run: Run, other: Run) -> Way:
    """Return the way between two runs of one tree. Raises `UsageError` if only luck has made them differ."""
    lines = [each.entries for each in (run, other)]
    common = next(
        (n for n, (mine, its) in enumerate(zip(*lines, strict=False)) if mine.id != its.id), min(map(len, lines))
    )
    names = differing(run, other)
    shared = run.trace.injections.notes.keys() & other.trace.injections.notes.keys()
    placed = [_settings_on(each, names) for each in (run, other)]
    mine = {name: at for name, at in placed[0].items() if name not in placed[1] and at[0] >= common}
    its = {name: placed[1].get(name, (common, 0)) for name in names if name not in mine}
    back, forth = _Side(run, other, common, mine, shared, is_back=True), _Side(run, other, common, its, shared)
    if not back.events and not forth.events:
        raise UsageError(
            "the two runs have the same edits, messages and settings in the end, so they took different ways by luck, "
            "or by a setting that was changed and changed back; run.resample(entry) shows how often a model replies "
            "what it replied"
        )
    back.walk(taken=frozenset(mine))
    forth.walk(taken=frozenset(mine))
    changes, points = _joined(back, forth)
    kept = min(len(point.line) for point in points)
    return Way(changes, list(points), [line[kept:] for line in lines])


def _settings_on(run: Run, names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return where on the line of a run settings got their present values: before which entry, and by which row."""
    line, found = run.entries, dict[str, tuple[int, int]]()
    history = list(_history(run))
    for name in names:
        values = [(row, canonical(_recorded(spec, name))) for row, spec in history]
        at = next((n for n in reversed(range(1, len(values))) if values[n][1] != values[n - 1][1]), 0)
        if at:
            row = values[at][0]
            found[name] = sum(entry.id < row for entry in line), row
    return found


def _history(run: Run) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the specs that the steps of a run were made with, each with the row from which on it held.

    Steps before a fork were made by the runs that it was forked from.
    """
    rows = run.rows()
    runs = [*dict.fromkeys(entry.run for entry in run.entries), run.id]
    runs = list(dict.fromkeys(reversed(runs)))[::-1]  # the run itself is the last one
    forks = {row.run: row.id for row in rows if isinstance(row, Note) and _is_fork(row)}
    begin: dict[str, Any] = run.entries[0].result
    spec = begin
    yield 0, begin
    for name, following in zip(runs, [*runs[1:], ""], strict=True):
        for row in rows:
            if not isinstance(row, Note) or row.run != name or row.id >= forks.get(following, row.id + 1):
                continue
            if _is_fork(row):
                spec = {**begin, **(row.data.get("changes") or {})}
            elif row.kind == "changed":
                spec = {**spec, **row.data}
            elif row.kind == "guards":
                spec = {**spec, "guards": {**(spec.get("guards") or {}), **row.data}}
            else:
                continue
            yield row.id, spec


def _is_fork(row: Note) -> bool:
    return row.kind == "head" and row.data["why"] == "fork"


def _recorded(spec: dict[str, Any], name: str) -> Any:
    """Return what a spec records about a setting."""
    options: dict[str, Any] = spec.get("agent") or {}
    if name == "engine":
        return [spec["engine"], spec.get("source_digest"), spec["options"]]
    for prefix, values in (
        ("engine option ", spec["options"]),
        ("model for ", options.get("roles") or {}),
        ("setting ", options.get("settings") or {}),
        ("tool ", spec["tools"]),
        ("option ", {**options, "synthesize": spec.get("synthesize")}),
    ):
        if name.startswith(prefix):
            return values.get(name.removeprefix(prefix))
    return spec.get(name) if name in spec else (spec.get("guards") or {}).get(name)


class _Side:
    """The way from where two runs part to the end of one of them."""

    def __init__(
        self,
        run: Run,
        other: Run,
        common: int,
        settings: dict[str, tuple[int, int]],
        shared: Iterable[str],
        *,
        is_back: bool = False,
    ) -> None:
        self.runs, self.is_back = (run, other), is_back
        self.base, self.opposite = (run, other) if is_back else (other, run)
        self.line, self.common = self.base.entries, common
        self.keys = frozenset(differing(run, other))
        self.events = sorted(self._events(settings, set(shared)), key=lambda event: event.order)
        self.points: list[Forked] = []
        self.changes: list[Change] = []

    def _events(self, settings: dict[str, tuple[int, int]], shared: set[str]) -> Iterator[_Event]:
        for index, entry in enumerate(self.line):
            if index >= self.common and is_by_person(entry):
                yield _Event(index, entry.id, entry)
        tree = self.base.trace.tree
        slots = {tree.slot(entry.id): index for index, entry in enumerate(self.line)}
        for note in self.base.trace.injections.live(Line(tree, self.line)):
            if note.data["id"] not in shared and "by" not in note.data:
                index = slots.get(tree.slot(note.data["anchor"]), self.common - 1) + 1
                yield _Event(max(index, self.common), note.id, message=note)
        for name, (index, row) in settings.items():
            yield _Event(max(index, self.common), row, setting=name)

    def walk(self, *, taken: frozenset[str]) -> None:
        """Go along the line; `taken` are the settings that already are those of the other run where the two part."""
        messages = frozenset(event.message.data["id"] for event in self.events if event.message)
        self.points = [self._point(self.line[: self.common], messages, taken)]
        for event in self.events:
            kept = self.line[: event.index]
            original = None
            if event.entry is not None and event.entry.original:
                original = self.base.trace.tree.entries[event.entry.original]
                kept = [*kept, original]
            self._draw(self._point(kept, messages, taken))
            if event.message is not None:
                messages -= {event.message.data["id"]}
            elif event.setting:
                taken = taken - {event.setting} if self.is_back else taken | {event.setting}
            elif event.entry is not None:
                kept = self.line[: event.index + 1]
            self.points.append(self._point(kept, messages, taken))
            self.changes.append(self._change(event, original))

    def _point(self, line: list[Entry], recalled: frozenset[str], taken: frozenset[str]) -> Forked:
        """Return a point; `taken` are the settings of the second run, and the others are those of the first."""
        return Forked(self.base, self.opposite, line, recalled, taken if self.is_back else self.keys - taken)

    def _draw(self, point: Forked) -> None:
        """Go on to a point to which only the model and the tools have led."""
        before = self.points[-1]
        new = [entry for entry in point.line if entry.id not in before.ids]
        if not any(entry.kind == "think" for entry in new):
            self.points[-1] = replace(point)
            return
        names = [entry.step_name for entry in new if entry.step_name]
        what = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        self.points.append(point)
        self.changes.append(Change(DRAWN, f"what the model drew in {self.base.id}: {what}"))

    def _change(self, event: _Event, original: Entry | None) -> Change:
        if event.setting:
            return Change("setting", in_words(event.setting, *self.runs))
        if event.message is not None:
            text = one_line(event.message.data["text"], 60, mask)
            change = Change("message", f"the injected message {text!r}")
        else:
            assert event.entry is not None
            change = Change("edit", entry_in_words(event.entry, original))
        return replace(change, text=f"{change.text}, taken back") if self.is_back else change


def _joined(back: _Side, forth: _Side) -> tuple[list[Change], list[Forked]]:
    """Return the way from the end of one side to the end of the other."""
    changes, points = [*reversed(back.changes)], [*reversed(back.points)]
    if _is_drawn(forth) and (_is_drawn(back) or (not back.changes and _is_on(forth.points[1], back.line))):
        if _is_drawn(back):
            changes.pop()
        points.pop()
        following, then = forth.changes[1:], forth.points[1:]
        if points and points[-1].ids == then[0].ids:
            points.pop()
        elif points:
            following = [Change(DRAWN, "what the model drew in the two runs"), *following]
        return [*changes, *following], [*points, *then]
    if _is_drawn(back) and not forth.changes and _is_on(back.points[1], forth.line):
        return changes[:-1], points[:-1]
    if forth.changes:
        return [*changes, *forth.changes], [*points[:-1], *forth.points]
    return changes, points


def _is_drawn(side: _Side) -> bool:
    return bool(side.changes) and side.changes[0].kind == DRAWN


def _is_on(point: Forked, line: list[Entry]) -> bool:
    """Return whether a line begins with what is kept at a point."""
    return point.ids == [entry.id for entry in line[: len(point.ids)]]


def name_of_trials(point: Point) -> str:
    """Return the beginning of the names of the trials at a point, which follows from what decides how they go."""
    return f"bisect.{digest(canonical(content(point.identity, 12)))[:20]}"
