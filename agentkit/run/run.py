"""A run: an ordinary Python object that you can step, pause, edit, inject messages into, undo and fork."""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, overload

from agentkit.core import background, display
from agentkit.core.display import Displayed
from agentkit.core.messages import Message, Reply
from agentkit.core.near_misses import NearMisses
from agentkit.core.secrets import mask
from agentkit.core.steps import Act, Think
from agentkit.core.text import call_text, error_line
from agentkit.core.usage import Usage
from agentkit.engines.registry import check_role
from agentkit.errors import (
    Ended,
    Fenced,
    JournalError,
    ReadOnly,
    Undecided,
    Unknown,
    UsageError,
)
from agentkit.gates import permission_file
from agentkit.gates.approval import approval
from agentkit.gates.base import ask_gates
from agentkit.gates.breakpoints import Breakpoint
from agentkit.gates.budget import BudgetGate
from agentkit.gates.effects import repeated_call, still_performed
from agentkit.gates.guards import OPTIONS as GUARDS
from agentkit.gates.guards import WAIVABLE, Guards
from agentkit.gates.permissions import Rule
from agentkit.gates.state import State, Status
from agentkit.gates.verdict import Verdict
from agentkit.inert import inert, inert_lines
from agentkit.journal.entries import ASKED_AGAIN, NO_TAGS, OUTCOME, TRIAL, Entry, Note, Row, RunInfo, Wish
from agentkit.models import dialects
from agentkit.run import answer, changes, signals, studies
from agentkit.run.asked_again import Asking, Question, is_reply, question, question_without_stop, recorded_replies
from agentkit.run.followed import Followed
from agentkit.run.messages import messages_of
from agentkit.run.moment import Moment, moment
from agentkit.run.samples import Samples
from agentkit.run.talked_on import TalkedOn, observations_of
from agentkit.runtime.control import GRACE, Control, check_timeout
from agentkit.runtime.performer import Performer
from agentkit.stepper.frames import FrameInfo, next_yield
from agentkit.stepper.stepper import Pending, is_at
from agentkit.tools import observations
from agentkit.tools.tool import UNDECLARED
from agentkit.trace.asking_thought import asked_by
from agentkit.trace.events import Event, RowEvents
from agentkit.trace.ledger import PastCall
from agentkit.trace.line import has_drifted
from agentkit.trace.progress import Progress
from agentkit.trace.recordings import recordings
from agentkit.trace.trace import Trace

if TYPE_CHECKING:
    from agentkit.telemetry.profile import Profile

Path = str | os.PathLike[str]

SETTLE_TIMEOUT = 0.5
"""How long a wait whose time is up waits for the run to rest, in seconds; a listener that blocks may prevent that."""


class Missing(NamedTuple):
    """Something that a recorded run needs and that was not available when it was opened.

    `option` is the argument of `Agent` that would bring it, or "breakpoints".
    """

    option: str
    text: str

    @inert
    def __str__(self) -> str:
        return self.text


class Maker(Protocol):
    """What a run needs from the agent that made it."""

    engine_name: str

    def using(self, **changes: Any) -> Maker:
        """Return an agent like this one with some options changed."""

    def prepared(self) -> Maker:
        """Return an agent like this one with the tools that its sources have now."""

    def changed(self, spec: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
        """Return the part of a run's spec that these changes affect, with its new values."""

    def attach(
        self, spec: dict[str, Any], *, parent: Run, guards: Guards, new_name: str, tags: Mapping[str, str]
    ) -> Run:
        """Return a run for a spec."""


_ATTRIBUTES = {
    **dict.fromkeys(("chat", "conversation", "history", "transcript", "memory"), "run.messages"),
    **dict.fromkeys(("steps", "log", "events_log"), "run.entries"),
    **dict.fromkeys(("text", "content", "final_answer", "response", "value"), "run.answer"),
    **dict.fromkeys(("cost", "tokens", "spent"), "run.usage"),
    **dict.fromkeys(("output", "data"), "run.result.output"),
    "tool_calls": "run.result.tool_calls_count",
    **dict.fromkeys(("start", "run", "resume", "go", "continue_", "unpause"), "run.play(), or run.drive() to wait"),
    **dict.fromkeys(("cancel", "abort", "kill", "terminate", "interrupt"), "run.stop()"),
    **dict.fromkeys(("back", "rollback", "revert"), "run.undo(), or run.rewind(entry)"),
    **dict.fromkeys(("send", "say", "message", "add_message", "prompt", "ask"), "run.inject(text)"),
    **dict.fromkeys(("allow", "deny", "accept"), "run.approve() or run.reject()"),
    "model": "run.performer.model",
    "tools": "run.performer.tools",
    **dict.fromkeys(("breakpoint", "add_breakpoint", "set_breakpoint", "tbreak"), "run.break_at(tool=…)"),
    **dict.fromkeys(("copy", "clone", "branch"), "run.fork()"),
    **dict.fromkeys(("locals", "stack", "frames"), "run.where()"),
    **dict.fromkeys(("sample", "samples", "ask_again"), "run.resample(entry)"),
    **dict.fromkeys(("reveal", "talk_on", "let_talk_on"), "run.without_stop(entry)"),
    **dict.fromkeys(("save", "export", "dump"), "run.to_json(path), to_notebook, to_html, to_markdown or to_python"),
    **dict.fromkeys(("name", "run_id"), "run.id"),
}
"""What to write instead of attributes that a run does not have."""


class Run(NearMisses, Displayed):
    """A run of an agent, which waits at its pending step.

    `next(run)` performs one step in this thread, and `for entry in run` performs all of them; `play()` continues the
    run in the background, and `await run` or `run.wait()` wait for it. `run[3]` is entry 3 of the trace, and `run[0]`
    the task. `edit`, `inject`, `undo` and `fork` change what happens next; nothing that was recorded is ever lost.

    `trace` is what the run has done, `state` its current state, `control` drives it, and `performer` performs its
    steps. `missing` lists what was not available when it was opened, and `expected` says what it would cost or reuse
    when it began.
    """

    meant_by = _ATTRIBUTES

    def __init__(
        self,
        agent: Any,
        task: dict[str, Any],
        control: Control,
        *,
        tree_id: str = "",
        missing: tuple[Missing, ...] = (),
    ) -> None:
        self.agent = agent
        self.task = task
        self.control = control
        self.state: State = control.state
        self.trace: Trace = control.trace
        self.performer: Performer = control.scheduler.performer
        self.missing = missing
        self.id = self.trace.run
        self.tree_id = tree_id or self.id
        self.expected = ""
        self.asking: dict[str, Asking] = {}
        """The questions that its model is being asked again at the moment, by their digests."""
        self.fulfils: Callable[[Wish], None] | None = None
        """What obeys the wishes of others, while the run is held here."""
        self.followed: Followed | None = None
        """Of a run that was opened to look at: what is recorded of it since, and who holds it."""
        self.attached: dict[Any, Any] = {}
        """What other rooms keep about this run as long as it is there, such as the log of its frames."""
        self.saved_status = str(Status.PAUSED)
        """The status in the list of runs; of a read-only run, what it was when it was opened."""
        control.on_rest = self._save_status

    # -- reading -------------------------------------------------------------------------------------------------------

    @property
    def status(self) -> Status:
        """The status: readonly, diverged, done, running, waiting, failed, stopped or paused."""
        return Status.RUNNING if self.control.running else self.control.read(self._status_at_rest)

    def _status_at_rest(self) -> Status:
        """Return the status without regard to whether there is a driver."""
        state, trace = self.state, self.trace
        if self.read_only:
            return Status.READONLY
        if trace.difference:
            return Status.DIVERGED
        if trace.answer is not None and not trace.unsaved.waiting:
            return Status.DONE
        if state.decisions and (waiting := state.waiting) and len(waiting) == len(trace.pending):
            return Status.WAITING
        if state.error:
            return Status.FAILED
        return Status.STOPPED if state.interrupted else Status.PAUSED

    @property
    def entries(self) -> list[Entry]:
        """The entries of the trace: entry 0 is the task, followed by one entry for each performed step."""
        return list(self.control.read(lambda: self.trace.line.entries))

    @property
    def messages(self) -> list[Message]:
        """The messages of the trace in its order: the task, what models replied, what tools returned, injections.

        What exactly was sent to a model is in `request(entry)`: an engine may show it only some of them.
        """
        return list(messages_of(self.entries))

    @property
    def pending(self) -> list[Pending]:
        """The steps that can be performed now."""
        pending: list[Pending] = self.control.read(lambda: self.trace.pending)
        return pending

    @property
    def waiting(self) -> list[tuple[Pending, Verdict]]:
        """The steps that wait for a person, each with the reason."""
        waiting: list[tuple[Pending, Verdict]] = self.control.read(lambda: self.state.waiting)
        return waiting

    @property
    def answer(self) -> str | None:
        """The final answer, once there is one."""
        answer = self.control.read(lambda: self.trace.answer)
        return answer.text if answer else None

    @property
    def usage(self) -> Usage:
        """Tokens, calls and money so far, including steps that were undone."""
        return self.state.spent.total

    @property
    def error(self) -> BaseException | None:
        """The last error, until the run continues; None if there is none."""
        return self.state.error

    @property
    def hold(self) -> str:
        """Why the run does not continue by itself, for example a breakpoint or an error; "" if nothing holds it."""
        hold: str = self.control.read(lambda: self.state.hold or self._difference())
        return hold

    def _difference(self) -> str:
        """Return how the engine differs from the recording, and what follows from that; "" if it does not."""
        difference = self.trace.difference
        return f"{difference}; continuing the run makes a branch, and keeps the recording" if difference else ""

    @property
    def forecast(self) -> str:
        """What the run was expected to cost or reuse, and which calls would be asked about if it made them again."""
        return ". ".join(filter(None, (self.expected, self.control.read(lambda: still_performed(self.state)))))

    @property
    def result(self) -> Result:
        """The current result of the run."""
        result: Result = self.control.read(self._result)
        return result

    def _result(self) -> Result:
        state, trace = self.state, self.trace
        done = trace.answer
        error = error_line(state.error) if state.error else ""
        held = state.interrupted or state.hold or self._difference()
        reason = done.interrupted if done else held or error or "paused"
        text = done.text if done else ""
        output, misfit = answer.result(self.task, text) if done else (None, None)
        return Result(
            answer=text,
            error=misfit if done and not trace.unsaved.waiting else state.error,
            interrupted=bool(reason),
            reason=reason,
            usage=self.usage,
            run=self,
            step_count=state.spent.model_calls,
            tool_calls_count=state.spent.tool_calls,
            pending_injections=tuple(note.data["text"] for note in trace.unheard()),
            output=output,
            denied=tuple(_denied(entry) for entry in trace.line if _is_denied(entry)),
        )

    @property
    def dialect(self) -> str:
        """The dialect in which the model is asked; it can be set at any time, and applies from the next step on."""
        return self.performer.dialect_for(self.performer.model).name

    @dialect.setter
    def dialect(self, name: str | None) -> None:
        self._check_writable()
        self.performer.dialect = dialects.get(name) if name else None
        self.task = {**self.task, "dialect": name or None}
        self._record("changed", {"dialect": name or None, "author": "human"})

    @property
    def temperature(self) -> float | None:
        """The temperature that is set in the requests to models that take one, from 0 to 2; None leaves it to the
        settings of the agent and the model.

        It can be set at any time, and applies from the next step on. Raises `UsageError` if it is not such a number, or
        if no model of the run takes a temperature.
        """
        return self.performer.temperature

    @temperature.setter
    def temperature(self, value: float | None) -> None:
        self._check_writable()
        self.performer.temperature = self.performer.checked_temperature(value)
        self.task = {**self.task, "temperature": value}
        self._record("changed", {"temperature": value, "author": "human"})

    def _record(self, kind: str, data: dict[str, Any]) -> None:
        """Record a change between two steps, even while another thread drives the run."""
        trace, at = self.trace, time.time()
        put = self.control.post(lambda: trace.unsaved.attempt(lambda: trace.note(kind, data, at=at)))
        if put.done():
            put.result()

    def profile(self) -> Profile:
        """Return where the time, the tokens and the money of the run went so far: by phase, role, model, tool and step.

        It is computed from what is recorded; a call that is being made is not in it yet.
        """
        from agentkit.telemetry.calls import Recorded
        from agentkit.telemetry.profile import Profile

        def recorded() -> Recorded:
            known = self.trace.tree.entries.values()
            own = sorted((entry for entry in list(known) if entry.run in self.state.counted), key=lambda e: e.id)
            return Recorded(self.id, own, set(self.trace.line.ids), list(self.state.spent.losses))

        return Profile(self.control.read(recorded), usage=self.usage)

    def where(self) -> list[FrameInfo]:
        """Return where the engine is: the function, file, line, source line and local variables of each frame."""
        frames: list[FrameInfo] = self.control.read(lambda: self.trace.stepper.where())
        return frames

    def at(self, entry: int | Entry) -> Moment:
        """Return the moment of an entry: where the engine was when it yielded that step, its local variables then, and
        which of them had changed since the step before.

        The engine is started a second time and is sent the recorded results: nothing is performed, and the run stays
        where it is. An interrupt ends an engine that computes for too long.
        """
        recorded, trace = self._entry(entry), self.trace
        line: list[Entry] = self.control.read(lambda: trace.tree.line_with(recorded, trace.line)[:])
        return moment(trace, line, recorded)

    def request(self, entry: int | Entry | None = None) -> dict[str, Any]:
        """Return the exact request of a model call as it was sent; without an entry, that of the pending call."""
        if entry is None:
            pending = next((pending for pending in self.pending if pending.step.kind == "think"), None)
            if pending is None:
                raise UsageError("no model call is pending; use run.request(entry) for the request of a recorded one")
            return self.performer.sent(pending.step, pending.path)
        recorded = self._entry(entry)
        if recorded.kind != "think":
            name = next((f"entry {n}" for n, other in enumerate(self.entries) if other is recorded), "this entry")
            raise UsageError(f"{name} is not a model call (it is {recorded.kind}); only thoughts have a request")
        step = recorded.performed or recorded.step
        return self.performer.sent(step, recorded.path, recorded)

    def events(self, after: int = 0) -> Iterator[Event]:
        """Return the recorded events with a cursor above `after`, in order, and `resume_done` at the end.

        Those of a fork begin with the events of its past, which belong to the run in which they happened.
        """
        if isinstance(after, bool) or not isinstance(after, int):
            raise UsageError(f"a cursor must be an integer, such as that of an event, not {after!r:.200}")
        return self._events(after)

    def _events(self, after: int) -> Iterator[Event]:
        progress, reader, past = Progress(), RowEvents(), set[int]()
        rows = self.rows()
        for row in rows:
            if isinstance(row, Note) and row.run == self.id and row.kind == "head" and row.data["why"] == "fork":
                past.update(row.data["then"])
                break
        for row in rows:
            is_past = isinstance(row, Entry) and row.id in past  # the rows of its calls are those of another run
            events = [*progress.take(row), *(RowEvents() if is_past else reader).take(row)]
            if row.id > after and (row.run == self.id or is_past):
                yield from events
        yield Event("resume_done", self.id)

    def rows(self) -> list[Row]:
        """Return all rows of the run's tree; without a journal, its entries."""
        trace = self.trace
        return trace.journal.rows(self.id) if trace.journal else list(trace.tree.entries.values())

    def on_event(self, listener: Callable[[Event], Any]) -> Callable[[Event], Any]:
        """Call `listener` for each event as it happens, in the thread that drives the run; it must return quickly.

        `off_event(listener)` ends this.
        """
        self.control.scheduler.listeners.add(listener)
        return listener

    def off_event(self, listener: Callable[[Event], Any]) -> None:
        """Stop calling `listener`; nothing happens if it is not called any more."""
        self.control.scheduler.listeners.remove(listener)

    def __getitem__(self, index: int) -> Entry:
        try:
            return self.trace.line.entries[index]
        except IndexError:
            raise IndexError(f"there is no entry {index}; the trace has entries 0 to {len(self) - 1}") from None

    def __len__(self) -> int:
        return len(self.trace.line)

    # -- stepping ------------------------------------------------------------------------------------------------------

    def __next__(self) -> Entry:
        """Perform one step in this thread and return its entry; a run that plays in the background is paused first.

        Raises `StopIteration` if the run is over, `Undecided` if the step waits for a person, and the error of a model;
        the step then stays pending and can be tried again.
        """
        self._check_writable()
        entry = self.control.step()
        if entry is not None:
            return entry
        if waiting := self.waiting:
            methods = ", ".join(f"run.{name}()" for name in choices(*waiting[0]))
            raise Undecided(f"{waiting[0][1].why}: decide with {methods}")
        if self.state.error:
            raise self.state.error
        if self.pending:
            raise UsageError("the step was stopped; it is still pending, and next(run) tries it again")
        raise StopIteration("the run is over; use undo() or fork() to continue from an earlier step")

    def __iter__(self) -> Iterator[Entry]:
        """Perform steps and yield their entries, until the run ends, is paused in the loop, or hits a breakpoint."""
        self.control.stopping = ""
        while not self.control.stopping:
            try:
                entry = next(self)
            except StopIteration:
                return
            except UsageError:
                if self.control.stopping in ("", "pause"):
                    raise
                return
            yield entry
            if self.state.hold:
                return

    def step(self) -> Entry:
        """Perform one step and return its entry; like `next(run)`, but raises `Ended` instead of `StopIteration`."""
        try:
            return next(self)
        except StopIteration as end:
            raise Ended(str(end)) from None

    def step_over(self) -> list[Entry]:
        """Perform all pending steps and return their entries: parallel calls together, a nested engine to its end."""
        before = {entry.id for entry in self.entries}
        self._check_writable()
        self.state.hold, self.state.error = "", None
        if self.status != Status.DONE:
            self._play_and_wait(self._until_over())
        return [entry for entry in self.entries if entry.id not in before]

    def drive(self, timeout: float | None = None) -> Result:
        """Perform steps until the run ends, pauses, or waits for a person, and return the result.

        The steps are performed in a thread of the run, so that time limits can be enforced. After `timeout` seconds the
        run is stopped: a model or a tool that is still running is abandoned, and its result is not used. An interrupt
        stops the run, too. Steps that were being performed stay pending.
        """
        check_timeout(timeout)
        self._ready()
        if self.status != Status.DONE:
            self._play_and_wait(str, timeout)
        return self.result

    def _play_and_wait(
        self,
        until: Callable[[], str],
        timeout: float | None = None,
        may_start: Callable[[], list[Pending]] | None = None,
    ) -> None:
        try:
            self._wait_for(self.control.play(until, may_start), timeout)
        except KeyboardInterrupt:
            self.control.stop("interrupted")
            if (playing := self.control.playing) is not None:
                self._settle(playing, GRACE)
            self.state.interrupted = ""
            raise

    def _wait_for(self, playing: Future[None], timeout: float | None) -> None:
        """Wait until the run rests; after `timeout` seconds it is stopped, and the calls that are out are abandoned."""
        try:
            background.wait(playing, timeout)
        except TimeoutError:
            self.control.stop("timeout", grace=0.0)
            self.state.interrupted = "timeout"
            self._settle(playing)

    @staticmethod
    def _settle(playing: Future[None], grace: float = 0.0) -> None:
        """Wait until a run that was stopped rests; not for long, because a listener may block it."""
        with contextlib.suppress(TimeoutError):
            background.wait(playing, grace + SETTLE_TIMEOUT)

    def play(self, until: Callable[[], str] = str, pace: float | None = None) -> Run:
        """Continue in the background, and return at once.

        `until()` may return a reason to pause, and `pace` is the time to wait between two steps, in seconds.
        """
        self._ready()
        if pace is not None:
            self.set_pace(pace)
        if self.status != Status.DONE:
            self.control.play(until)
        return self

    def set_pace(self, seconds: float) -> None:
        """Set the time to wait between two steps while the run plays, in seconds from 0 to 3600."""
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= 3600:
            raise UsageError(f"the pace must be a number of seconds from 0 to 3600, not {seconds!r}")
        self.state.pace = float(seconds)

    def play_step(self, *, over: bool = False) -> None:
        """Perform one step in the background, or with `over` the same steps as `step_over`.

        Breakpoints at the first steps are ignored.
        """
        if (playing := self.control.playing) is not None:
            self.pause()
            background.wait(playing)
            if self.control.stopping != "pause":
                return  # it was stopped, or set playing again, in the meantime
        self._ready()
        begun: list[Pending] = []

        def may_start() -> list[Pending]:
            if begun and not over:
                return []
            scheduler = self.control.scheduler
            due = scheduler.due(stepping=not begun)
            due = due if over else due[:1]
            begun.extend(pending for pending in due if not scheduler.hooks_for(pending))
            return due

        if self.status != Status.DONE:
            self.control.play(self._until_over() if over else str, may_start)

    def pause(self) -> Run:
        """Pause at the next step boundary: steps that are being performed finish first. Returns at once.

        Of a run that is only looked at, because another process holds it, that process is asked to do it, as with
        `stop` and `inject`: `run.followed.asked` has what was asked and is not done yet, and `read_only` says it.
        """
        if self.followed is not None:
            self.followed.ask("pause")
        else:
            self.control.pause()
        return self

    def stop(self, reason: str = "stopped") -> Run:
        """Stop now, and cancel running calls if possible. The run keeps all its entries, and `play()` continues it."""
        if self.followed is not None:
            self.followed.ask("stop", "" if reason == "stopped" else reason)
            return self
        self.control.stop(reason)
        self.state.interrupted = reason
        return self

    def wait(self, timeout: float | None = None) -> Result:
        """Wait until the run rests, and return the result; an interrupt pauses it, `timeout` seconds stop it.

        A model or a tool that is then still running is abandoned, and its result is not used.
        """
        check_timeout(timeout)
        playing = self.control.playing
        if playing is not None:
            try:
                self._wait_for(playing, timeout)
            except KeyboardInterrupt:
                self.pause()
                raise
        return self.result

    def __await__(self) -> Generator[Any, None, Result]:
        """Play the run, unless it is playing already, and wait for it without blocking the event loop."""
        return self._awaited().__await__()

    async def _awaited(self) -> Result:
        if self.status in (Status.PAUSED, Status.DIVERGED, Status.STOPPED, Status.FAILED):
            self.play()
        await self._at_rest(self.pause)
        return self.result

    async def __aiter__(self) -> AsyncIterator[Entry]:
        """Perform steps and yield their entries without blocking the event loop; leaving the loop cancels the step."""
        while self.status not in (Status.DONE, Status.WAITING, Status.READONLY) and not self.state.hold:
            before = {entry.id for entry in self.entries}
            self.play(self._until_batch())
            await self._at_rest(lambda: self.stop("interrupted"))
            if self.state.error:
                raise self.state.error
            for entry in self.entries:
                if entry.id not in before:
                    yield entry

    async def _at_rest(self, interrupted: Callable[[], Any]) -> None:
        """Wait until the run rests, in steps of 0.1 s, so that an interrupt is noticed."""
        import asyncio

        try:
            while (playing := self.control.playing) is not None:
                await asyncio.wait([asyncio.wrap_future(playing)], timeout=0.1)
        except asyncio.CancelledError:
            interrupted()
            raise

    def _until_over(self) -> Callable[[], str]:
        """Return a function that says "pause" when the nested engine in progress has returned; else `_until_batch`."""
        frame = next((pending.path for pending in self.pending), "")
        if "." not in frame.rpartition("]")[2]:
            return self._until_batch()
        inner = (f"{frame}.", f"{frame}[")
        trace = self.trace
        return lambda: "" if any(p.path == frame or p.path.startswith(inner) for p in trace.pending) else "pause"

    def _until_batch(self) -> Callable[[], str]:
        """Return a function that says "pause" when the steps that are pending now have been performed."""
        first, trace, state = set(self.pending), self.trace, self.state

        def until() -> str:
            left = first.intersection(trace.pending)
            return "" if left and left.difference(pending for pending, _ in state.waiting) else "pause"

        return until

    def _ready(self) -> None:
        """Check that the run can continue, and clear what held it before."""
        self._check_writable()
        self.state.hold, self.state.error, self.state.interrupted = "", None, ""

    def _check_writable(self) -> None:
        if self.read_only:
            raise ReadOnly(f"this run is read-only: {self.read_only}")

    @property
    def read_only(self) -> str:
        """Why nothing about this run can be changed; "" if it can."""
        if self.missing:
            missing = ", ".join(map(str, self.missing))
            options = {part.option for part in self.missing}
            waivable = [name for name in WAIVABLE if name in options]
            otherwise = f"waive {' and '.join(waivable)}" if waivable else "fork it"
            return f"it was opened without {missing}; resume it with an agent that has what is missing, or {otherwise}"
        said = self.followed.text if self.followed is not None else ""
        return f"{self.control.sealed}; {said}" if said else self.control.sealed

    def close(self) -> None:
        """Release the run in its journal, so that it can be resumed or deleted; this object is then read-only.

        Raises `JournalError` if the journal still refuses rows that it has refused before, because they would be lost.
        """
        self.wait()
        if self.trace.unsaved.waiting:
            self.control.do(str)
        self.fulfils = None  # wishes wait for the object that resumes the run
        while not self.control.seal("it was closed, or resumed as another object; resume it to change it"):
            self.wait()  # another thread has begun to play it meanwhile

    def record_outcome(self, data: dict[str, Any]) -> None:
        """Record what an experiment makes of the run as it is now. Raises `JournalError`, `ReadOnly`."""
        self._check_writable()
        self.control.do(lambda: self.trace.note(OUTCOME, data, at=time.time()))

    # -- asking again --------------------------------------------------------------------------------------------------

    @overload
    def resample(self, entry: int | Entry, times: int = 20, *, until: Literal["thought"] = "thought") -> Samples: ...

    @overload
    def resample(
        self,
        entry: int | Entry,
        times: int = 20,
        *,
        until: Literal["end"],
        score: Callable[[Result, dict[str, Any]], Any] | None = None,
        case: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Any: ...

    def resample(
        self,
        entry: int | Entry,
        times: int = 20,
        *,
        until: str = "thought",
        score: Callable[[Result, dict[str, Any]], Any] | None = None,
        case: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Return what the model replies if it is asked `times` times what it was asked in a recorded thought.

        Nothing is asked yet: the samples say how many calls that takes and what they will probably cost, and `go()`
        makes them, until `stop()` is called in another thread. Each is the first step of a fork, and nothing else is
        performed. The calls count in the budget of this run. Replies that are recorded are not asked for again.

        With `until="end"`, return `Trials`: forks that ask the thought again and then go on to their ends, each at most
        `timeout` seconds. `score` takes the `Result` of each and a dict with its "task" and what `case` has, as in an
        experiment. They use the results of calls that were made before, and `go()` asks before any of them makes
        another call of a tool that is irreversible or whose effect is not declared.
        """
        if until == "end":
            return studies.studies.trials(self, self._thought(entry), times, score=score, case=case, timeout=timeout)
        if until != "thought":
            raise UsageError(f'until must be "thought" (this reply only) or "end" (to the end), not {until!r:.100}')
        if score is not None or case is not None or timeout is not None:
            raise UsageError('score, case and timeout are for whole endings: add until="end"')
        if isinstance(times, bool) or not isinstance(times, int) or times < 1:
            raise UsageError(f"times must be an integer of at least 1, not {times!r:.100}")
        asked = question(self.performer, self._thought(entry))
        return Samples(
            asked,
            times,
            lambda: recorded_replies(asked, self.trace.tree),
            self.asking,
            lambda calls: list(self._ask_again(asked, calls)),
            self.fork,
        )

    def decided(
        self,
        times: int = 20,
        *,
        score: Callable[[Result, dict[str, Any]], Any],
        case: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Return how good the endings are if the run is driven to its end again from each thought, `times` times each:
        where the score changes, it was decided. Nothing is done yet; the arguments are those of `resample`.
        """
        return studies.studies.decided(self, times, score=score, case=case, timeout=timeout)

    def without_stop(self, entry: int | Entry) -> TalkedOn:
        """Return what the model writes for a recorded thought if the request has no stop sequence, and so nothing stops
        it from inventing an observation; beside it, what really happened.

        This takes one model call, which counts in the budget of this run, and calls no tool. It is recorded, so that it
        is made only once. Raises `UsageError` if the request has no stop sequence, as in the native dialect.
        """
        thought, tree = self._thought(entry), self.trace.tree
        line = tree.line_with(thought, self.trace.line)
        reply = thought
        if not thought.result.cut:
            asked = question_without_stop(self.performer, thought)
            replies = recorded_replies(asked, tree) or list(self._ask_again(asked, 1))
            reply = replies[-1]
        return TalkedOn(thought, reply, observations_of(thought, line, tree))

    def _thought(self, entry: int | Entry) -> Entry:
        """Return a recorded thought. Raises `UsageError` if the entry is something else."""
        recorded = self._entry(entry)
        if recorded.kind != "think":
            raise UsageError(f"only a thought can be asked again, and this entry is not one (it is {recorded.kind})")
        return recorded

    def _ask_again(self, asked: Question, calls: int) -> Iterator[Entry]:
        """Ask a question `calls` times in a fork, until it is stopped, and yield the entry of each reply.

        Raises the error of the model, and `UsageError` if the question is being asked at the moment.
        """
        if not calls:
            return
        asking = Asking(asked, calls)
        if self.asking.setdefault(asked.digest, asking) is not asking:
            raise UsageError("this is being asked at the moment; wait for the replies, or stop it with samples.stop()")
        try:
            other = self._forked(self.trace.before(asked.thought), {})
            yield from self._replies(asking, other)
        finally:
            del self.asking[asked.digest]

    def _replies(self, asking: Asking, other: Run) -> Iterator[Entry]:
        """Ask a question in a fork, and yield the entry of each reply."""
        asked, own = asking.question, self._budget_gate()
        thought = asked.thought
        try:
            pending = next((p for p in other.pending if (p.path, p.index) == (thought.path, thought.index)), None)
            if pending is None or has_drifted(pending.step, thought.step):
                raise UsageError("the engine does not ask the same at this step any more, so it cannot be asked again")
            other.performer.dialect = asked.dialect or other.performer.dialect
            other._record(ASKED_AGAIN, {"of": self.id, "request": asked.digest})
            other.state.counted |= self.state.counted
            self.state.counted.add(other.id)
            gate = other._budget_gate()
            if gate is not None and own is not None:  # what a person has added to the budget holds, and nobody is asked
                gate.limits, gate.ask = dict(own.limits), False
            asking.cancel = other.stop
            before = other.entries
            while asking.calls and not asking.is_stopped:
                if len(other) > len(before):
                    other._change_line(lambda: other.trace.move(before, "rewind", at=time.time()))
                entry = other._perform_only(pending, asking)
                if entry is None:
                    return
                asking.calls -= 1
                self.state.spent.add(entry)
                self.trace.latest = max(self.trace.latest, other.trace.latest)
                yield entry
        finally:
            other.close()

    def _perform_only(self, pending: Pending, asking: Asking) -> Entry | None:
        """Perform a pending thought and nothing else, and return its entry; None if it was stopped.

        Raises the error of the model.
        """
        place, begun = (pending.path, pending.index), list[Pending]()

        def may_start() -> list[Pending]:
            if begun or asking.is_stopped:
                return []
            scheduler = self.control.scheduler
            due = [p for p in scheduler.due(stepping=True) if (p.path, p.index) == place]
            begun.extend(pending for pending in due if not scheduler.hooks_for(pending))
            return due

        self._ready()
        self._play_and_wait(str, may_start=may_start)
        entry = next((e for e in self.entries if e.kind != "begin" and (e.path, e.index) == place), None)
        if entry is not None and is_reply(entry):
            return entry
        if asking.is_stopped:
            return None
        if self.state.error:
            raise self.state.error
        waiting = next((verdict.why for _, verdict in self.waiting), "")
        why = entry.reason if entry is not None else waiting or self.state.hold or "the call was stopped"
        raise UsageError(f"the model was not asked again: {why}")

    # -- changing what comes next --------------------------------------------------------------------------------------

    def edit(
        self, entry: int | Entry | Pending | None = None, *, reason: str = "", author: str = "human", **change: Any
    ) -> Entry:
        """Replace a recorded result, or answer a pending step; the original is kept.

        For a thought: `text=`, `answer=`, `calls=`, `arguments=` (of its only call); for an action: `text=` (the
        observation), `arguments=` (edits the thought that asked for it). A pending step is one of `run.pending`; None
        means the first of them. A pending step also has `recording=` (one of `run.recordings()`), and a pending thought
        `reply=` (what you write in the place of the model, see `read_reply`). Raises `UsageError`, which says what can
        be edited.
        """
        reason, author = mask(reason), mask(author)
        if entry is None or isinstance(entry, Pending):
            pending = self._pending(entry)
            changes.check(pending.step.kind, change)
            if "arguments" in change and type(pending.step) is Act:
                return self._edit_call(pending, change["arguments"], reason, author)
            if "recording" in change:
                return self._use_recording(pending, change["recording"], reason)
            if "reply" in change:
                result = self.read_reply(change["reply"], pending)
            else:
                result = changes.changed(changes.blank(pending.step), change)
            return self._answer(pending, result, author, reason)
        recorded = self._entry(entry)
        changes.check(recorded.kind, change)
        if "reply" in change or "recording" in change:
            raise UsageError("this step has been performed; rewind to the step before it, and then choose who plays it")
        if recorded.kind == "act" and "arguments" in change:
            return self._edit_call(recorded, change["arguments"], reason, author)
        result = changes.changed(recorded.result, change)
        at = time.time()
        edited: Entry = self._change_line(
            lambda: self.trace.edit(recorded, result, author=author, reason=reason, at=at)
        )
        return edited

    def read_reply(self, text: str, step: Pending | None = None) -> Reply:
        """Return what the run reads in a text that somebody writes in the place of the model, for a pending thought.

        The text is written as the model would write it; the dialect reads it. Nothing is recorded.
        """
        thought = self._pending(step).step
        if not isinstance(thought, Think):
            raise UsageError(
                f"only a thought has a reply, and the pending step is not a thought (it is {thought.kind})"
            )
        return self.performer.read(thought, mask(text))

    def recordings(self, step: Pending | None = None) -> list[Entry]:
        """Return what was recorded in the place of a pending step, on other branches or before an edit; newest first.

        None means the first pending step. `run.edit(recording=…)` uses one of them, and performs nothing.
        """
        pending = self._pending(step)
        found: list[Entry] = self.control.read(lambda: recordings(self.trace.tree.entries.values(), [pending])[pending])
        return found

    def _use_recording(self, pending: Pending, recorded: Entry, reason: str) -> Entry:
        if all(recorded is not other for other in self.recordings(pending)):
            raise UsageError("nothing was recorded there for this step; use one of run.recordings()")
        calls = self.trace.tree.ledger.calls
        past = next((past for past in calls if any(recorded is other for other in past.entries)), None)
        result = changes.from_recording(pending.step, recorded.result)
        return self._answer(pending, result, "recording", reason or "taken from the recording", past)

    def _edit_call(self, action: Entry | Pending, arguments: dict[str, Any], reason: str, author: str) -> Entry:
        """Edit the arguments of a call in the thought that asked for it; steps parallel to the call stay."""

        def edit() -> Entry:
            now = self._still(action) if isinstance(action, Pending) else action
            thought, position = asked_by(self.trace, now)
            calls = list(thought.result.calls)
            calls[position] = replace(calls[position], arguments=arguments, raw=None, problem="", coerced=())
            result, at = changes.changed(thought.result, {"calls": calls}), time.time()
            return self.trace.edit(thought, result, now.path, author=author, reason=reason, at=at)

        edited: Entry = self._change_line(edit)
        return edited

    def inject(self, text: str, to: str = "") -> Receipt:
        """Send a message to the model with its next request. Safe at any time, even from a tool.

        `to` is the name of a lane, as in `where()`; "" is the run's own. Raises `Ended` if the run is over.
        """
        if not isinstance(text, str) or not text.strip():
            raise UsageError(f"an injected message needs some text, not {text!r:.100}")
        lanes = {pending.lane.path for pending in self.trace.pending}
        if to and to not in lanes:
            raise Unknown("lane", to, (lane for lane in lanes if lane))
        if self.answer is not None:
            raise Ended("the run is over, so no model would get the message: use undo() or fork() first, then inject")
        if self.followed is not None:
            if to:
                raise UsageError("a message can be sent to a lane only where the run is held; leave out `to`")
            self.followed.ask("inject", text)
            return Receipt("", mask(text), self)
        key, text, trace = uuid.uuid4().hex[:12], mask(text), self.trace
        put = self.control.post(lambda: trace.unsaved.attempt(lambda: trace.inject(key, text, to, time.time())))
        if put.done():
            put.result()
        return Receipt(key, text, self)

    def signal(self, name: str, value: Any = None) -> Run:
        """Tell a tool of the run that waits with `wait_for_signal`, now or later. Safe at any time.

        The value is JSON data. A signal stays set; a later one of the same name replaces its value. Raises `Ended` if
        the run is over, `UsageError` if the value is not JSON data.
        """
        data = signals.checked(name, value)
        if self.answer is not None:
            raise Ended("the run is over, so nothing waits for a signal")
        signals.post(self.control, data)
        return self

    def undo(self) -> Run:
        """Undo the last edit, move or step; nothing is deleted, and `redo()` reverts the undo."""
        self._change_line(lambda: self.trace.undo(time.time()))
        return self

    def redo(self) -> Run:
        """Revert the last undo."""
        self._change_line(lambda: self.trace.redo(time.time()))
        return self

    def rewind(self, to: int | Entry) -> Run:
        """Go back to an entry, or to an entry of another branch: it becomes the last performed step."""
        entry = self._entry(to)
        self._change_line(lambda: self.trace.rewind(entry, time.time()))
        return self

    def fork(self, at: int | Entry | None = None, **changes: Any) -> Run:
        """Return a second run that continues after entry `at`; the changes are those of `Agent.using`.

        Nothing is performed yet; `forecast` says what is reused and what would run next.
        """
        line = list(self.trace.line.entries) if at is None else self.trace.until(self._entry(at))
        return self._forked(line, changes)

    def trial_at(self, line: list[Entry], name: str, **changes: Any) -> Run:
        """Return a fork at the end of a line that is one of many: it has a name, and is in no list for people.

        Nothing outside of the journal learns from it or steers it; `changes` are those of `fork`.
        """
        return self._forked(line, changes, name=name, tags={TRIAL: self.id})

    def _forked(
        self, line: list[Entry], changes: dict[str, Any], *, name: str = "", tags: Mapping[str, str] = NO_TAGS
    ) -> Run:
        """Return a second run that continues at the end of a line."""
        agent = self.agent.using(**changes).prepared() if changes else self.agent
        guards = self.state.guards.changed(changes)
        spec = {**self.task, **agent.changed(self.task, changes), "guards": guards.to_json()}
        begin = self.trace.line.entries[0].result
        changed = {name: value for name, value in spec.items() if _differs(value, begin.get(name))}
        other: Run = agent.attach(spec, parent=self, guards=guards, new_name=name, tags=tags)
        other.missing = tuple(missing for missing in self.missing if missing.option not in changes)
        try:
            difference = other.trace.fork_from(self.trace, line, changed, time.time(), is_trial=TRIAL in tags)
        except BaseException:
            other.discard()
            raise
        other.expected = other._expected() + (f" ({difference})" if difference else "")
        return other

    def _expected(self) -> str:
        from agentkit.export.text import pending_text

        count = sum(entry.kind != "begin" for entry in self.entries)
        following = ", ".join(pending_text(pending, self) for pending in self.pending) or "nothing: the run is over"
        steps = "1 recorded step is" if count == 1 else f"{count} recorded steps are"
        return f"{steps} reused without a call; next: {following}"

    def discard(self) -> None:
        """Delete a run that could not be started."""
        self.control.lease.drop()
        with contextlib.suppress(Exception):  # the error that happened before is the one to show
            self.trace.journal.delete(self.id)  # type: ignore[union-attr]

    def branches(self) -> Branches:
        """Return all lines of the run's tree, the current one first."""
        return Branches(self.control.read(lambda: list(map(list, self.trace.tree.branches(self.trace.line)))))

    def break_at(self, **condition: Any) -> Breakpoint:
        """Set a breakpoint: `tool=`, `role=`, `line=`, `error=True`, `repeat=True` or `when=predicate`.

        If the same breakpoint exists already, it is enabled. A breakpoint on a line moves to the next line at which the
        engine can be paused. Raises `Unknown` for a tool that the run does not have.
        """
        breakpoint = Breakpoint.of(condition)
        tools = self.performer.tools
        if breakpoint.tool is not None and not self.read_only and tools.find(breakpoint.tool) is None:
            raise Unknown("tool", breakpoint.tool, tools.names)  # a mistyped name would never match a call
        if breakpoint.role is not None:
            check_role(breakpoint.role, self.task["engine"])
        if breakpoint.line is not None:
            frames, file = self.where(), breakpoint.file
            files = [frame.file for frame in frames if (frame.file.endswith(file) if file else not frame.around)]
            breakpoint.line = next_yield(files or [file], breakpoint.line)
        known = self.state.breakpoints
        existing = next((other for other in known if other == breakpoint), breakpoint)
        if existing is breakpoint:
            known.append(breakpoint)
        existing.enabled = True
        self._breakpoints_changed(f"breakpoint {existing.text}")
        return existing

    def unbreak(self, breakpoint: Breakpoint | None = None) -> Run:
        """Remove a breakpoint, or all of them."""
        known = self.state.breakpoints
        gone = [other for other in known if breakpoint is None or other is breakpoint]
        known[:] = [other for other in known if all(other is not point for point in gone)]
        self._breakpoints_changed(f"removed {', '.join(f'breakpoint {point.text}' for point in gone)}")
        return self

    def enable(self, breakpoint: Breakpoint, enabled: bool = True) -> Run:
        """Enable a breakpoint, or disable it."""
        breakpoint.enabled = enabled
        self._breakpoints_changed(f"{'enabled' if enabled else 'disabled'} breakpoint {breakpoint.text}")
        return self

    def _breakpoints_changed(self, reason: str) -> None:
        """Record the breakpoints, at once or as soon as the run can be written; a run that is only read has none."""
        state = self.state
        if not self.read_only:
            self.control.post(
                lambda: self.trace.unsaved.attempt(lambda: state.guard(state.guards, ["breakpoints"], reason=reason))
            )

    def guard(self, *, reason: str = "", author: str = "human", **changes: Any) -> Run:
        """Change what guards the run: `approve=`, `budget=`, `repeat=`, `permissions=`, `hooks=` or `guardrails=`.

        They are given like options of an agent, and None takes a guard away. The change is recorded with its author and
        reason.
        """
        for name in changes:
            if name not in GUARDS:
                raise Unknown("guard", name, GUARDS)
        reason, author = mask(reason), mask(author)

        def change() -> None:
            guards, gate = self.state.guards.changed(changes), self._budget_gate()
            if gate is not None and "budget" in changes:
                gate.use(guards.budget)
            self.state.guard(guards, changes, reason=reason, author=author)
            self.state.ask_again()

        self.control.do(change)
        return self

    @property
    def guards(self) -> Guards:
        """What guards the run: approvals, remembered answers, the policy for repeated calls, budget, breakpoints."""
        return self.state.guards

    # -- decisions -----------------------------------------------------------------------------------------------------

    def approve(
        self,
        which: int = 0,
        *,
        arguments: dict[str, Any] | None = None,
        remember: bool | Literal["always"] = False,
        author: str = "human",
    ) -> Run:
        """Approve a waiting call, with other `arguments` if given, or extend a budget that is used up.

        The approval covers the earlier call that this one would repeat, as it was asked about, or as of now. With
        `remember`, the tool may always be called from now on in this run; a call that would repeat an earlier one may
        then always be repeated. With `remember="always"`, a rule that allows the tool is also added to your settings
        file, so that it holds for later runs. If several steps wait, `which` is the position of one.
        """
        _check_remember(remember)
        pending = self._waiting(which)
        if arguments is not None:
            self._check_call(pending)
            changes.check("act", {"arguments": arguments})

        def allow() -> None:
            now, state = self._still(pending), self.state
            if arguments is not None:
                asked_by(self.trace, now)  # before anything is granted
            limit, past, asked = self._budget_limit(now), self._repeated(now), state.why_asked(now)
            is_asked = any(other is now for other, _ in state.waiting)
            if limit:
                gate = self._budget_gate()
                assert gate is not None
                gate.extend(state, limit)
                state.ask_again()
            else:
                self._check_call(now)
            if arguments is not None:
                self._edit_call(now, arguments, "approved with other arguments", author)
            if limit:
                return
            if past is not None:
                self._set_policy(now, "allow", author, remember=bool(remember))
            if remember and (past is None or ask_gates([approval], now, state) is not None):
                self._remember(now, True, author, always=remember == "always")
            for same in self.trace.pending:
                if (same.path, same.index) == (now.path, now.index):
                    if not is_asked:
                        self.trace.read_news()
                    state.allow(same, past if is_asked else repeated_call(same, state), author, asked)

        self.control.do(allow)
        return self

    def reuse(self, which: int = 0, *, author: str = "human") -> Entry:
        """Use the recorded result of the call that a waiting one would repeat, instead of calling the tool again.

        Raises `UsageError` if the step would not repeat a call, or if there is no result of the same call.
        """
        pending = self._waiting(which)
        past = self._repeated(pending)
        if past is None or type(pending.step) is not Act:
            raise UsageError("this step would not repeat an earlier call, so there is no result to use again")
        result, text = past.result_for(pending.step.call), past.text(self.id)
        if result is None:
            raise UsageError(f"{text}: it has no result for this call; approve, reject or respond instead")
        return self._answer(pending, result, author, f"not performed again: {text}", past)

    def _repeated(self, pending: Pending) -> PastCall | None:
        """Return the earlier call because of which a step waits."""
        decision = self.state.decision(pending)
        return decision.verdict.past if decision is not None and decision.verdict is not None else None

    def _set_policy(self, pending: Pending, policy: str, author: str, *, remember: bool = False) -> None:
        """Remember a decision about a repeated call; about a tool without a declared effect, a run asks only once."""
        if remember or self.state.effect(pending) == UNDECLARED:
            name, guards = self.state.own_name(pending.step.call), self.state.guards  # type: ignore[union-attr]
            reason = f"repeated calls of {name}: {policy}"
            self.state.guard(
                replace(guards, repeat={**guards.repeat, name: policy}), ["repeat"], reason=reason, author=author
            )
            self.state.ask_again()

    def _remember(self, pending: Pending, answer: bool, author: str, *, always: bool = False) -> None:
        """Remember that a person always allows, or always rejects, the calls of a tool in this run, or in every run."""
        name, guards = self.state.own_name(pending.step.call), self.state.guards  # type: ignore[union-attr]
        reason = f"{name} is always {'allowed' if answer else 'rejected'}"
        if always:
            rule = Rule("allow" if answer else "deny", name)
            permission_file.add(rule)
            reason = f"{reason}, also in later runs"
            guards = replace(guards, permissions=guards.permissions.with_rule(rule))
        changed = replace(guards, remembered={**guards.remembered, name: answer})
        names = ["remembered", "permissions"] if always else ["remembered"]
        self.state.guard(changed, names, reason=reason, author=author)
        self.state.ask_again()

    def reject(
        self,
        comment: str = "",
        which: int = 0,
        *,
        remember: bool | Literal["always"] = False,
        author: str = "human",
    ) -> Entry:
        """Reject a waiting call; the model is told, with the comment. A run that waits for more budget ends.

        With `remember`, all later calls of the tool are rejected in this run; with `remember="always"`, a rule that
        denies the tool is also added to your settings file, so that it holds for later runs.
        """
        _check_remember(remember)
        pending = self._waiting(which)
        limit, gate = self._budget_limit(pending), self._budget_gate()
        if limit and gate is not None:
            end = self.control.do(lambda: gate.end(self.state, limit))
            return self._answer(pending, end.result, author, comment or end.why)
        self._check_call(pending)
        message = observations.rejected(pending.step.call, mask(comment))  # type: ignore[union-attr]
        asked = self.state.why_asked(pending)
        entry = self._answer(pending, message, author, f"rejected{asked and f' ({asked})'}")
        if remember:
            self.control.do(lambda: self._remember(pending, False, author, always=remember == "always"))
        return entry

    def respond(self, value: Any, which: int = 0, *, author: str = "human") -> Entry:
        """Answer a waiting question, or a pending call instead of the tool."""
        pending = self._waiting(which)
        if pending.step.kind == "ask":
            return self._answer(pending, mask(str(value)), author)
        if type(pending.step) is not Act:
            raise UsageError("respond() answers a question or a call; use edit(text=...) to write a thought")
        message = observations.returned(pending.step.call, value, artifact=False)
        if not message.ok:
            raise UsageError(f"respond() takes data or a text, not {value!r:.200}")
        message = replace(message, text=mask(message.text))
        return self._answer(pending, message, author, "answered instead of the tool")

    def _waiting(self, which: int) -> Pending:
        known = [pending for pending, _ in self.waiting] or self.pending
        if not 0 <= which < len(known):
            steps = "1 step is" if len(known) == 1 else f"{len(known)} steps are"
            raise UsageError(f"there is no waiting step {which} ({steps} pending)")
        return known[which]

    def _budget_limit(self, pending: Pending) -> str:
        """Return the name of the budget's limit that a step waits for, or ""."""
        decision = self.state.decision(pending)
        return decision.verdict.limit if decision is not None and decision.verdict is not None else ""

    def _budget_gate(self) -> BudgetGate | None:
        return next((gate for gate in self.state.all_gates if isinstance(gate, BudgetGate)), None)

    @staticmethod
    def _check_call(pending: Pending) -> None:
        if pending.step.kind == "ask":
            raise UsageError("this step is a question; answer it with respond(text)")
        if pending.step.kind != "act":
            name = f"{pending.step.kind} ({pending.step.role})"
            raise UsageError(f"the pending step {name} does not wait for a decision; next(run) performs it")

    # -- exporting -----------------------------------------------------------------------------------------------------

    def to_notebook(self, path: Path | None = None, *, overwrite: bool = False) -> Any:
        """Return the trace as a notebook whose cells replay the recording; with `path`, also write it to a new file."""
        from agentkit import export

        return export.to_notebook(self, path, overwrite=overwrite)

    def to_exercise(
        self,
        path: Path | None = None,
        hide: Iterable[int] | None = None,
        *,
        solution: bool = False,
        overwrite: bool = False,
    ) -> Any:
        """Return the trace as a notebook that hides the entries `hide`, by default every observation, and asks the
        reader to predict each; with `path`, also write it to a new file. With `solution`, everything is solved and
        shown.
        """
        from agentkit import export

        return export.to_exercise(self, path, hide, solution=solution, overwrite=overwrite)

    def to_markdown(self, path: Path | None = None, *, overwrite: bool = False) -> str:
        """Return the trace as Markdown; with `path`, also write it to a new file."""
        from agentkit import export

        return export.to_markdown(self, path, overwrite=overwrite)

    def to_html(self, path: Path | None = None, *, overwrite: bool = False) -> str:
        """Return the trace as one self-contained page; with `path`, also write it to a new file."""
        from agentkit import export

        return export.to_html(self, path, overwrite=overwrite)

    def to_python(self, path: Path | None = None, *, overwrite: bool = False) -> str:
        """Return the trace as a Python script that replays the recording; with `path`, also write it to a new file."""
        from agentkit import export

        return export.to_python(self, path, overwrite=overwrite)

    def to_json(self, path: Path | None = None, *, overwrite: bool = False) -> dict[str, Any]:
        """Return everything that is recorded, including branches and edits, as JSON data; with `path`, also write it
        to a new file.
        """
        from agentkit import export

        return export.to_json(self, path, overwrite=overwrite)

    def to_frame(self) -> Any:
        """Return the trace as a pandas table with one row per entry."""
        from agentkit import export

        return export.to_frame(self)

    @inert_lines
    def __repr__(self) -> str:
        from agentkit.export.text import run_text

        return run_text(self)

    def _repr_html_(self) -> str:
        from agentkit.export import html

        return html.run(self)

    def _repr_markdown_(self) -> str:
        from agentkit.export import markdown

        return markdown.run(self)

    def _ipython_display_(self) -> None:
        """Show a live view in a notebook; elsewhere HTML or text is shown."""
        display.live.show(self)

    def _display_(self) -> Any:
        return self.widget()

    def view(self) -> None:
        """Show the run in this cell, and its live view also beside the notebook if there is room for it (JupyterLab).

        Without such a notebook, as in a script, its page is opened in a browser, and its address is printed; that needs
        the extra "serve". The page lives as long as this process. Raises `UsageError` if that is not possible.
        """
        display.live.dock(self)

    def widget(self) -> Any:
        """Return the live view as a widget, for a layout of your own (ipywidgets) or for marimo."""
        return display.live.widget(self)

    def freeze(self) -> None:
        """Close the live view of this run; the cell keeps its static form. `run` in a cell opens a new view."""
        display.live.freeze(self)

    # -- private -------------------------------------------------------------------------------------------------------

    def _entry(self, entry: int | Entry) -> Entry:
        """Return the run's entry with a number, or the one that matches an entry of an older object of this run.

        Raises `UsageError` for an entry of another run.
        """
        if isinstance(entry, Entry):
            own = self.trace.tree.entries.get(entry.id)
            place = (entry.run, entry.kind, entry.path, entry.index)
            if own is None or (own.run, own.kind, own.path, own.index) != place:
                raise UsageError(
                    f"this {entry.kind} is an entry of another run, {entry.run}; use one of run.entries or branches()"
                )
            return own
        if not isinstance(entry, int) or isinstance(entry, bool):
            raise UsageError(f"an entry must be its number in the trace, or one of run.entries, not {entry!r:.100}")
        entries = self.entries
        if not -len(entries) <= entry < len(entries):
            raise UsageError(f"there is no entry {entry}; the trace has entries 0 to {len(entries) - 1}")
        return entries[entry]

    def _pending(self, earlier: Pending | None) -> Pending:
        if self.trace.torn:
            self.control.do(self.control.scheduler.mend)
        if not self.pending:
            raise UsageError("no step is pending, because the run is over; use undo() or fork() first")
        return self.pending[0] if earlier is None else self._still(earlier)

    def _still(self, earlier: Pending) -> Pending:
        """Return the pending step that is the same as an earlier one. Raises `UsageError` if there is none."""
        for pending in self.pending:
            if is_at(pending, earlier):
                return pending
        raise UsageError(f"this {earlier.step.kind} is not pending any more; use one of run.pending")

    def _answer(
        self, pending: Pending, result: Any, author: str, reason: str = "", past: PastCall | None = None
    ) -> Entry:
        """Record a result for a pending step instead of performing it; with `past`, that of an earlier call."""

        def answer() -> Entry:
            repeated = self._repeated(pending)
            if repeated is not None and repeated.is_same(pending.step.call):  # type: ignore[union-attr]
                self._set_policy(pending, "reuse", author)
            return self.control.scheduler.answer(pending, result, author=author, reason=reason, past=past)

        answered: Entry = self.control.do(answer)
        return answered

    def _change_line(self, change: Callable[[], Any]) -> Any:
        def do() -> Any:
            result = change()
            self.control.scheduler.forget_hold()
            self.state.withdraw()
            self.tell_difference()
            return result

        return self.control.do(do)

    def tell_difference(self) -> None:
        """Tell the listeners that the engine differs from the recording, if it does."""
        if difference := self._difference():
            self.control.scheduler.listeners.tell("diverged", text=difference)

    def _save_status(self, doing: str) -> None:
        """Save the status for the list of runs, if it has changed."""
        journal, status = self.trace.journal, doing or str(self._status_at_rest())
        if journal is not None and status != self.saved_status and not self.read_only:
            with contextlib.suppress(
                JournalError, Fenced
            ):  # the list is a convenience; the next row will raise the error
                journal.set_status(self.id, status)
                self.saved_status = status

    def info(self, parent: str = "") -> RunInfo:
        """Return the run's line in the list of runs."""
        spec, now = self.task, time.time()
        text = next((message["text"] for message in reversed(spec["task"]) if message["role"] == "user"), "")
        return RunInfo(self.id, self.tree_id, text, spec["engine"], spec["model"], "paused", 0, now, now, parent)


def _check_remember(remember: Any) -> None:
    if remember not in (True, False, "always"):
        raise UsageError(
            f'remember must be True (for this run) or "always" (for later runs, too), not {remember!r:.100}'
        )


def choices(pending: Pending, verdict: Verdict) -> list[str]:
    """Return the names of the methods with which a person can decide about a step, the safest first."""
    if type(pending.step) is not Act:
        return ["respond"] if pending.step.kind == "ask" else ["approve", "reject"]
    has_result = verdict.past is not None and verdict.past.result_for(pending.step.call) is not None
    return [*(["reuse"] if has_result else []), "approve", "reject", "respond"]


_PUBLIC = ("id", "trace", "agent", "state", "control", "performer", *(name for name in vars(Run) if name[0] != "_"))
_RESULT_ATTRIBUTES = {
    **{name: f"result.run.{name}" for name in _PUBLIC},
    **{name: meant.replace("run.", "result.run.") for name, meant in _ATTRIBUTES.items()},
    **{name: f"result.{meant[4:]}" for name, meant in _ATTRIBUTES.items() if meant in ("run.answer", "run.usage")},
    **{"data": "result.output", "tool_calls": "result.tool_calls_count"},
}
"""What to write instead of attributes that a result does not have."""


@dataclass(slots=True, eq=False)
class Result(NearMisses, Displayed):
    """The result of a run: the answer, or the reason why there is none.

    `interrupted` tells whether it ended before the engine had finished, and `reason` why ("max_turns", "timeout",
    "stopped" …). `pending_injections` are the injected messages that no model has seen. `output` is the validated
    object, if the run was started with `output=`. `denied` are the calls that `agent.run` did not make because the
    `approver` denied them, or because nobody was there to approve them; each with the reason.
    """

    answer: str
    error: BaseException | None
    interrupted: bool
    reason: str
    usage: Usage
    run: Run = field(repr=False)
    step_count: int = 0
    tool_calls_count: int = 0
    pending_injections: tuple[str, ...] = ()
    output: Any = None
    denied: tuple[str, ...] = ()

    meant_by: ClassVar[Mapping[str, str]] = _RESULT_ATTRIBUTES

    @inert_lines
    def __str__(self) -> str:
        return self.answer if self.answer or not self.error else f"(no answer: {mask(error_line(self.error))})"

    @inert
    def __repr__(self) -> str:
        from agentkit.export.text import result_text

        return result_text(self)

    def __await__(self) -> Generator[Any, None, Result]:
        """Return the result itself: it is complete. To wait for a run without blocking the event loop, await the run:
        `await agent.start(task)`.
        """
        yield from ()
        return self

    def _repr_html_(self) -> str:
        from agentkit.export import html

        return html.result(self)

    def _repr_markdown_(self) -> str:
        from agentkit.export import markdown

        return markdown.result(self)


def _differs(value: Any, before: Any) -> bool:
    """Return whether two values of a spec differ; what is empty is like what is not there, but 0 is not empty."""
    return value != before and not all(item in (None, "", {}, [], ()) for item in (value, before))


DENIERS = ("approver", "nobody")
"""The authors of an entry that stands instead of a call, if no person decided: the `approver`, or there was none."""


def _is_denied(entry: Entry) -> bool:
    return entry.author in DENIERS and entry.kind in ("act", "ask")


def _denied(entry: Entry) -> str:
    what = call_text(entry.step.call) if type(entry.step) is Act else getattr(entry.step, "question", "")
    return mask(f"{what}: {entry.reason}")


@dataclass(slots=True)
class Receipt:
    """The receipt of an injected message: `seen` becomes true when a model call has carried it."""

    id: str = field(repr=False)
    text: str
    _run: Run = field(repr=False)

    @property
    def seen(self) -> bool:
        """Whether a model has seen the message on the run's current line."""
        injections = self._run.trace.injections
        if self.id:
            return self.id in injections.heard
        notes = list(injections.notes.values())  # another process was asked to send it, and has named it
        return any(note.data["text"] == self.text and note.data["id"] in injections.heard for note in notes)

    def recall(self) -> None:
        """Recall the message. Raises `UsageError` if a model has already seen it."""
        self._run.control.do(lambda: self._run.trace.recall(self.id, time.time()))


class Branches(list[list[Entry]]):
    """The lines of a tree, the current one first; each is a list of entries."""

    @inert_lines
    def __repr__(self) -> str:
        from agentkit.export.text import branches_text

        return branches_text(self)

    def _repr_html_(self) -> str:
        from agentkit.export import html

        return html.branches(self)

    def _repr_markdown_(self) -> str:
        from agentkit.export import markdown

        return markdown.branches(self)
