"""Play a recording against today's code. Replies and results are those of the recording: no model is asked.

Each step that the engine proposes today is compared with the recorded one: the request that would be sent, how the
reply is read, the call, its arguments and its tool, the answer. Times, ids and prices are not compared. What a gate, a
hook or a person decided is taken from the recording.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agentkit.agent import recorded as recordings
from agentkit.agent.agent import Agent
from agentkit.core.messages import Call, Message, Reply, canonical
from agentkit.core.secrets import mask, mask_json
from agentkit.core.steps import Act, Conclude, Step, Think
from agentkit.core.text import call_text, error_line, one_line
from agentkit.engines import registry
from agentkit.errors import ArgumentsError, UsageError
from agentkit.experiments.regression.differences import Mismatch
from agentkit.export import rows_of
from agentkit.gates.guards import disallow
from agentkit.journal.entries import Entry, Note, Row, RunInfo
from agentkit.journal.memory import MemoryJournal
from agentkit.models import structured_output
from agentkit.models.base import Abilities, name_of
from agentkit.models.dialects.base import Dialect
from agentkit.run.run import Missing, Run
from agentkit.runtime.in_flight import InFlight
from agentkit.runtime.listeners import Listeners
from agentkit.stepper.stepper import Pending
from agentkit.tools import observations
from agentkit.tools.sources import is_unread
from agentkit.trace.line import Tree
from agentkit.trace.trace import Position

Tools = Literal["recorded", "call"]

UNDONE = ("audit", "on_event", "on_step", "steering", "within", "raise_errors")
"""The options of an agent that tell somebody what its runs do: nobody is told what is only played."""

_ABILITIES = Abilities()


class Unplayable(Exception):
    """A recording cannot be played; the text says why, and what to do."""


@dataclass(slots=True)
class Recorded:
    """What is known about a recorded run: its rows, its `spec` as it was last, its line, and how it ended."""

    data: dict[str, Any]
    rows: list[Row]
    spec: dict[str, Any]
    position: Position

    @property
    def id(self) -> str:
        """The id of the run."""
        id: str = self.data["run"]
        return id

    @property
    def steps(self) -> list[Entry]:
        """The entries of its line after the task."""
        return [entry for entry in self.position.line if entry.kind != "begin"]

    @property
    def error(self) -> str:
        """The error that the engine ended with, if that is the last that happened; else ""."""
        own = [row for row in self.rows if row.run == self.id and not (isinstance(row, Note) and row.kind == "status")]
        last = own[-1] if own else None
        is_error = isinstance(last, Note) and last.kind == "error" and last.data.get("retry") is False
        return f"{last.data.get('type')}: {last.data.get('text')}" if is_error else ""  # type: ignore[union-attr]


@dataclass(slots=True)
class Played:
    """What came of playing a recording: today's run up to where it stands, and the differences that were met.

    If it `stopped`, the run could not go on after the last difference.
    """

    run: Run
    recorded: Recorded
    differences: list[Mismatch] = field(default_factory=list)
    stopped: bool = False


def read(data: Any) -> Recorded:
    """Return what is known about a recorded run, from its data. Raises `UsageError` if they are damaged."""
    rows = rows_of(data)
    tree, positions = Tree(), dict[str, Position]()
    for row in rows:
        if isinstance(row, Entry):
            tree.add(row)
        if row.run not in positions:
            positions[row.run] = Position(row.run, tree)
        positions[row.run].take(row)
    spec = recordings.spec_of(rows, data["run"])
    if spec is None or data["run"] not in positions:
        raise UsageError("nothing is recorded of this run itself; export it again")
    return Recorded(data, rows, spec, positions[data["run"]])


def play(
    recorded: Recorded, agent: Agent | None, *, tools: Tools = "recorded", go_on: bool = False, live: bool = False
) -> Played:
    """Play a recording up to the first difference, against an agent, or against the recorded one as it is today.

    With `go_on`, a step whose request, reading or answer differs is passed as if it had been recorded like that. The
    run that comes out is in memory; with `live`, it has the agent's model and could continue. Raises `Unplayable`.
    """
    today, spec, stand_ins = _today(recorded, agent, live)
    journal, about = MemoryJournal(), recorded.data["runs"]
    info = next(each for each in about if each["run"] == recorded.id)
    texts = (info["task"], spec["engine"], spec["model"], info["status"])
    journal.create(RunInfo(recorded.id, recorded.id, *texts, 0, info["created"], info["created"]))
    run = today.attach(spec, guards=today.guards, name=recorded.id, journal=journal, is_copy=True)
    begin = recorded.position.line.entries[0]
    run.trace.start(spec, begin.started)
    forced = agent.dialect if agent is not None else None
    return _Player(run, recorded, stand_ins, forced, calls_pure_tools=tools == "call").play(go_on=go_on)


def _today(recorded: Recorded, agent: Agent | None, live: bool) -> tuple[Agent, dict[str, Any], set[str]]:
    """Return the agent that is tested, the spec of its run, and the names of tools that it has no functions of."""
    spec = recorded.spec
    model = recordings.AbsentModel(spec["model"])
    if agent is not None:
        is_known = len(spec.get("sources", ())) == sum(map(is_unread, agent.given_tools))
        if any(map(is_unread, agent.given_tools)) and not is_known:
            raise Unplayable("the recording has other sources of tools; pass agent.prepared(), which asks today's")
        changes: dict[str, Any] = {} if live else {"model": model}
        if agent.roles and not live:
            changes["roles"] = {role: recordings.AbsentModel(name_of(other)) for role, other in agent.roles.items()}
        quiet = {name: None for name in UNDONE if agent.options.get(name) is not None}
        today = agent.prepared(spec.get("sources", [])).using(journal="memory", **changes, **quiet)
        return today, today.spec_like(spec), set()
    opener = Agent(model, journal="memory")
    restored = recordings.restore(opener, spec, recorded.rows, to_look=True)
    if needed := [str(part) for part in restored.missing if part.option != "tools"]:
        raise Unplayable(f"{', '.join(needed)}: pass the agent that is to be tested")
    first = Entry(0, "begin", result=dict(spec), run=recorded.id)
    disallow(first)
    stand_ins = {name for name in spec["tools"] if Missing("tools", f"tool {name!r}") in restored.missing}
    today = opener.using(**restored.changes)
    offered = {tool.name for entry in recorded.steps if isinstance(entry.step, Think) for tool in entry.step.tools}
    if recorded.steps and (unknown := stand_ins - offered) and "tools" in registry.parameters(today.engine):
        listed = ", ".join(sorted(map(repr, unknown)))
        raise Unplayable(f"the recording does not say what {listed} takes: pass the agent that is to be tested")
    return today, first.result, stand_ins


class _Player:
    """One recording that is being played. `forced` is the dialect of the agent, if it has one of its own."""

    def __init__(
        self, run: Run, recorded: Recorded, stand_ins: set[str], forced: Dialect | None, *, calls_pure_tools: bool
    ) -> None:
        self.run, self.recorded, self.trace = run, recorded, run.trace
        self._stand_ins, self._forced, self._calls_pure_tools = stand_ins, forced, calls_pure_tools
        self._entries = {(entry.path, entry.index): entry for entry in recorded.steps}
        self._numbers = {entry.id: number for number, entry in enumerate(recorded.position.line.entries)}
        self._played: set[int] = set()
        spec = recorded.spec
        self._dialect_name = recordings.last_dialect(spec, recorded.rows, recorded.id) or "text"
        today = run.performer.settings
        known = "settings" not in (spec.get("needs") or ())
        self._settings: dict[str, Any] = ((spec.get("agent") or {}).get("settings") or {}) if known else today

    def play(self, *, go_on: bool) -> Played:
        """Send the engine what was recorded, in the recorded order, up to the first difference that counts."""
        played = Played(self.run, self.recorded)
        while (due := self._due()) is not None:
            pending, entry = due
            difference, blocks = self._proposal(pending, entry)
            result = entry.result
            if difference is None or (go_on and not blocks):
                now, unexpected = self._result(pending, entry)
                if unexpected is not None:
                    result = now
                    difference, blocks = difference or unexpected, now is None
            if difference is not None:
                played.differences.append(difference)
                if blocks or not go_on:
                    played.stopped = True
                    break
            self._commit(pending, entry, result, is_same=difference is None)
        if not played.stopped and (difference := self._end()) is not None:
            played.differences.append(difference)
            played.stopped = difference.what != ANSWER
        if answer := self.trace.stepper.answer:
            last = self.trace.line.entries[-1]
            data = {"answer": answer.text, "interrupted": answer.interrupted}
            self.trace.note("completed", data, at=last.ended)
        self.run.control.scheduler.count()
        return played

    def _due(self) -> tuple[Pending, Entry] | None:
        """Return the pending step that comes first in the recording, and its entry; None if none is recorded."""
        found = [
            (self._numbers[entry.id], pending, entry)
            for pending in self.trace.pending
            if (entry := self._entries.get((pending.path, pending.index))) and entry.id not in self._played
        ]
        return min(found, key=lambda each: each[0])[1:] if found else None

    def _commit(self, pending: Pending, entry: Entry, result: Any, *, is_same: bool) -> None:
        """Record a step of today's run, and send its result to the engine."""
        performed: Step = pending.step
        if isinstance(performed, Act):
            if isinstance(entry.performed, Act):  # a hook has changed the arguments
                pending.original, pending.step = pending.proposed, entry.performed
                performed = entry.performed
            if entry.author == "tool":
                self.trace.begin_call(pending, self._effect(pending), entry.started)
        elif isinstance(performed, Think) and isinstance(result, Reply) and result.heard:
            performed = replace(performed, chat=performed.chat + result.heard)
        elif entry.performed is not None and is_same:
            performed = entry.performed
        blank: dict[str, Any] = {"parent": 0, "step": None, "performed": None, "original": 0, "repeats": 0, "id": 0}
        self._played.add(entry.id)
        self.trace.commit(pending, performed, result, replace(entry, run=self.run.id, **blank))

    def _effect(self, pending: Pending) -> str:
        assert isinstance(pending.step, Act)
        tool = self.run.performer.tools.find(pending.step.call.name)
        return tool.effect if tool is not None else "irreversible"

    # -- what the engine proposes --------------------------------------------------------------------------------------

    def _proposal(self, pending: Pending, entry: Entry) -> tuple[Mismatch | None, bool]:
        """Return how a proposed step differs from the recorded one, and whether its recorded result cannot be used."""
        now, then = pending.proposed, entry.step
        if then is None or now.kind != then.kind or now.role != then.role:
            return self._differ(entry, "the step", _step_text(then), _step_text(now)), True
        if isinstance(now, Think) and isinstance(then, Think):
            return self._request(entry, now, then), False
        if isinstance(now, Act) and isinstance(then, Act):
            return self._differ(entry, "the call", _call_text(then.call), _call_text(now.call)), True
        what = ANSWER if now.kind == "conclude" else "the step"
        return self._differ(entry, what, _step_text(then), _step_text(now)), False

    def _request(self, entry: Entry, now: Think, then: Think) -> Mismatch | None:
        """Return how the request that would be sent today differs from the recorded one."""
        today, forced = self.run.performer.settings, self._forced
        is_like = (now.choice, now.shape) == (then.choice, then.shape) and self._settings == today and forced is None
        if is_like and now.chat.digest == then.chat.digest and _digests(now) == _digests(then):
            return None
        sent = [
            _sent(step, dialect, settings)
            for step, dialect, settings in (
                (then, self._dialect(then, entry, None), self._settings),
                (now, self._dialect(now, entry, forced), today),
            )
        ]
        return self._differ(entry, "the request", *map(_request_text, sent))

    def _dialect(self, step: Think, entry: Entry, forced: Dialect | None) -> Dialect:
        if forced is not None:
            return forced if step.shape is None else structured_output.dialect_for(step.shape, _ABILITIES, forced)
        name = entry.dialect or ("text" if step.shape is not None else self._dialect_name)
        return structured_output.dialect_named(name, step.shape, _ABILITIES)

    def _differ(self, entry: Entry, what: str, recorded: str, today: str) -> Mismatch | None:
        if recorded == today:
            return None
        return Mismatch(self._numbers[entry.id], _name(entry), what, recorded, today)

    # -- what becomes of it --------------------------------------------------------------------------------------------

    def _result(self, pending: Pending, entry: Entry) -> tuple[Any, Mismatch | None]:
        """Return the result that the step would have today, if it differs from the recorded one, and how it differs.

        The result is None if it is not known, because a tool would have to be called for it.
        """
        if entry.original or entry.repeats:
            return None, None
        if isinstance(pending.step, Think) and isinstance(entry.result, Reply) and entry.author == "model":
            reply = self._read_again(pending.step, entry)
            return reply, self._differ(entry, "the reply as it is read", *map(_reply_text, (entry.result, reply)))
        if isinstance(pending.step, Act) and isinstance(entry.result, Message) and entry.author in ("tool", "host"):
            return self._call_again(pending, entry)
        return None, None

    def _read_again(self, step: Think, entry: Entry) -> Reply:
        """Return what is read today in what the model wrote; the recorded reply if that is the same."""
        then: Reply = entry.result
        written = replace(Reply(then.raw + then.cut), finish=then.finish)
        called = replace(written, calls=then.calls)
        if step.shape is not None:  # the data may have been the arguments of a call
            data = _object(then.raw)
            problem = "" if data is not None else "the arguments are not JSON"
            called = replace(
                written, text="", calls=(Call(step.shape.name, data or {}, raw=then.raw, problem=problem),)
            )
        native = entry.dialect == "native" or then.dialect == "native"
        dialect = self._dialect(step, entry, None)
        readings = [dialect.read(sent, step.tools) for sent in ((called, written) if native else (written, called))]
        if any(_reply_text(reading) == _reply_text(then) for reading in readings):
            return then
        kept = {name: getattr(then, name) for name in ("usage", "model", "opaque", "reasoning", "attempts", "heard")}
        return replace(readings[0], **kept)

    def _call_again(self, pending: Pending, entry: Entry) -> tuple[Message | None, Mismatch | None]:
        """Return what a call gives today, as far as that is known without calling anything but pure tools."""
        step = entry.performed if isinstance(entry.performed, Act) else pending.step
        assert isinstance(step, Act)
        call, performer = step.call, self.run.performer
        tool = performer.tools.find(call.name)
        if call.name in self._stand_ins:
            return None, None
        then: Message = entry.result
        if tool is None:
            now = observations.not_found(call, [known.name for known in performer.tools.tools])
        else:
            try:
                tool.bind(call)
            except ArgumentsError as error:
                now = observations.invalid_arguments(call, error)
            else:
                if entry.author == "host":
                    return None, self._differ(entry, "the result", then.text, f"{tool.name} would be called")
                if not self._calls_pure_tools or tool.effect != "pure":
                    return None, None
                now = self._performed(pending, step)
        return now, self._differ(entry, "the result", then.text, mask(now.text))

    def _performed(self, pending: Pending, step: Act) -> Message:
        """Return the result of calling a pure tool again."""
        flight = InFlight(pending, step, Entry(0, "act"), self.trace.place(pending))
        came_back, value = self.run.performer.perform(flight, Listeners(self.trace, str))
        if not came_back:
            raise value
        result: Message = value
        return result

    # -- the end -------------------------------------------------------------------------------------------------------

    def _end(self) -> Mismatch | None:
        """Return how the end differs: what today's engine does after the last recorded step, or instead of another."""
        stepper, end = self.trace.stepper, self.recorded.position.end
        left = [entry for entry in self.recorded.steps if entry.id not in self._played]
        if any(entry.kind == "end" for entry in self.trace.line):
            left = []  # it also ends parallel lanes, whose results are ignored
        if stepper.error is not None:
            now = f"the engine fails: {mask(error_line(stepper.error))}"
        elif stepper.answer is not None:
            now = f"the answer: {mask(stepper.answer.text)}"
        else:
            now = "\n".join(_step_text(pending.proposed) for pending in stepper.pending) or "nothing"
        number = self._numbers[left[0].id] if left else len(self._numbers)
        if left:
            return Mismatch(number, _name(left[0]), "the step", _step_text(left[0].step), now)
        if end is not None:
            then, what = f"the answer: {end['answer']}", ANSWER if stepper.answer is not None else "the end"
        elif error := self.recorded.error:
            then, what = f"the engine fails: {error}", "the end"
        elif stepper.error is not None or (stepper.answer is not None and not self._has_ended):
            then, what = "(the recording ends here, before the end of the run)", "the end"
        else:
            return None
        return None if then == now else Mismatch(number, "the end", what, then, now)

    @property
    def _has_ended(self) -> bool:
        """Whether the last step is one that ends a run."""
        return self.trace.line.entries[-1].kind in ("conclude", "end")


ANSWER = "the answer"


# -- steps as texts ----------------------------------------------------------------------------------------------------


def _name(entry: Entry) -> str:
    role = f" ({entry.step.role})" if isinstance(entry.step, Think) else ""
    return one_line(f"{entry.step_name or entry.kind}{role}", 80)


def _digests(step: Think) -> list[str]:
    return [tool.digest for tool in step.tools]


def _sent(step: Think, dialect: Dialect, settings: dict[str, Any]) -> dict[str, Any]:
    """Return what would be sent to a model, as JSON data without secrets."""
    request = structured_output.request_for(step, dialect, settings, None, _ABILITIES)
    sent: dict[str, Any] = mask_json(json.loads(canonical(request.to_dict())))
    return sent


def _request_text(sent: dict[str, Any]) -> str:
    """Return a request as text: its messages, then the tools and everything else that is not empty."""
    lines = []
    for message in sent.pop("messages"):
        lines += [f"[{message.pop('role', '')}]", str(message.pop("content", "") or "")]
        lines += [f"{name}: {_data(value)}" for name, value in message.items() if value]
    lines += [f"[{name}]\n{_data(value)}" for name, value in sent.items() if value]
    return "\n".join(lines)


def _reply_text(reply: Reply) -> str:
    """Return what was read in a reply, as text: its calls, or its answer."""
    if reply.calls:
        return "\n".join(map(_call_text, reply.calls))
    return (reply.answer or "") if reply.readable else f"(not readable)\n{reply.answer or ''}"


def _call_text(call: Call) -> str:
    problem = f"\n({call.problem})" if call.problem else ""
    return f"{call.name}\n{_data(mask_json(call.arguments))}{problem}"


def _step_text(step: Step | None) -> str:
    """Return what a step asks for, as text."""
    if isinstance(step, Think):
        last = step.chat.last.text if step.chat.last is not None else ""
        return f"ask the model ({step.role}):\n{mask(last)}"
    if isinstance(step, Act):
        return f"call a tool ({step.role}): {mask(call_text(step.call))}"
    if isinstance(step, Conclude):
        return f"the answer: {mask(step.answer)}"
    question, choices = getattr(step, "question", ""), getattr(step, "choices", ())
    return f"ask a person: {mask(question)}\n{_data(list(choices)) if choices else ''}" if question else "nothing"


def _data(value: Any) -> str:
    """Return JSON data as text for people to read, with keys in an order of their own."""
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, default=str).replace("\\n", "\n")


def _object(text: str) -> dict[str, Any] | None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
