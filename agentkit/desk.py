"""The desk: what both drivers work at. It says what may start, starts it, and records how it ended.

Whoever holds the run's baton uses it; nothing here waits for anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any

from agentkit.errors import EngineError, JournalError
from agentkit.events import Event, event_of
from agentkit.gates import Breakpoint, Gate, Verdict, question, uncertain
from agentkit.history import History
from agentkit.host import Host, Job
from agentkit.journal.base import Entry, Row
from agentkit.messages import Message
from agentkit.stepper import KINDS, Pending
from agentkit.steps import Act, Step
from agentkit.usage import Usage


@dataclass(slots=True, eq=False)
class Work:
    """A step that is being performed: the job, and the entry that it will become."""

    pending: Pending
    step: Step
    entry: Entry
    job: Job


class Desk:
    """Bring history, host and gates together, one step at a time.

    `hold` says why nothing more may start ("" when it may); `waiting` are the steps that wait for a person.
    """

    def __init__(self, history: History, host: Host, gates: tuple[Gate, ...] = ()) -> None:
        self.history = history
        self.host = host
        self.tree = history.run
        self.gates = {kind: tuple(g for g in (question, uncertain, *gates) if kind in getattr(g, "kinds", KINDS)) for kind in KINDS}
        self.breakpoints: list[Breakpoint] = []
        self.hold = ""
        self.unsaved: list[tuple[Work, Any]] = []
        self.error: BaseException | None = None
        self.waiting: dict[Pending, Verdict] = {}
        self.allowed: set[Pending] = set()
        self.remembered: set[str] = set()
        self._usage = Usage()
        self.steps = 0
        self.tool_calls = 0
        self.listeners: list[Callable[[Event], Any]] = []

    @property
    def usage(self) -> Usage:
        """Tokens, money and model calls so far."""
        return self._usage + Usage(calls=self.steps)

    # -- what may start ----------------------------------------------------------------------------------------------

    def due(self, busy: Container[Pending] = (), *, stepping: bool = False) -> list[Pending]:
        """Give the steps that may start now; what a gate holds back goes to `waiting`, a breakpoint sets `hold`.

        With `stepping` a person goes step by step: breakpoints and an earlier hold are passed over.
        """
        if (self.hold and not stepping) or not self._all_saved():
            return []
        if self.history.stepper.error:
            self.error = self.history.stepper.error
            return []
        found = []
        for pending in self.history.stepper.pending:
            if pending in busy or pending in self.waiting:
                continue
            gated = self.breakpoints or self.gates[pending.step.kind]
            verdict = self._verdict(pending, stepping) if gated and pending not in self.allowed else None
            if verdict is None:
                found.append(pending)
            elif verdict.kind == "ask":
                self.waiting[pending] = verdict
                self.emit("waiting", why=verdict.why)
            elif verdict.kind == "answer":
                self.answer(pending, verdict.result, author="gate", reason=verdict.why)
                return self.due(busy, stepping=stepping)
            else:
                self.hold = verdict.why
                self.allowed.add(pending)
                return []
        return found

    def _verdict(self, pending: Pending, stepping: bool) -> Verdict | None:
        for gate in self.gates[pending.step.kind]:
            verdict = gate(pending, self)
            if verdict is not None and not self._remembered(pending):
                return verdict
        for point in self.breakpoints if not stepping else ():
            if point.enabled and (why := point.before(pending, self)):
                point.hits += 1
                return Verdict("pause", f"breakpoint: {why}")
        return None

    def _remembered(self, pending: Pending) -> bool:
        return type(pending.step) is Act and pending.step.calls[0].name in self.remembered

    def effect(self, pending: Pending) -> str:
        """Give the effect of the tool that a one-call Act asks for; a call that will not run has none ("pure")."""
        call = pending.step.calls[0]  # type: ignore[union-attr]
        tool = self.host.tools.find(call.name)
        return "pure" if tool is None or call.problem else tool.effect

    # -- performing --------------------------------------------------------------------------------------------------

    def start(self, pending: Pending) -> Work:
        """Begin a step: from here on it may have had its effect."""
        now = time.time()
        entry = Entry(0, "", started=now, run=self.history.run)
        if type(pending.step) is Act:
            self.history.begin(pending, now, sync=self.effect(pending) != "pure")
        step = self.history.performed(pending)
        return Work(pending, step, entry, self.host.perform(step, entry))

    def conclude(self, pending: Pending) -> Entry:
        """Pass an answer, or hand over the injected messages that must be answered first."""
        return self.answer(pending, self.history.answer_first(), author="model")

    def answer(self, pending: Pending, result: Any, *, author: str, reason: str = "") -> Entry:
        """Put a result in the place of performing a step."""
        now = time.time()
        entry = Entry(0, "", author=author, reason=reason, started=now, run=self.history.run)
        return self.finish(Work(pending, pending.step, entry, None), result)  # type: ignore[arg-type]

    def save(self, work: Work, result: Any) -> Entry | None:
        """Record a result; when the journal cannot take it, keep it in hand, hold the run, and try again before anything else."""
        try:
            return self.finish(work, result)
        except JournalError as error:
            self.unsaved.append((work, result))
            self.error, self.hold = error, f"not saved yet: {error}"
            return None

    def _all_saved(self) -> bool:
        while self.unsaved:
            work, result = self.unsaved.pop(0)
            if self.save(work, result) is None:
                return False
        return True

    def late(self, work: Work) -> None:
        """Note that something came back after it had been given up; it is not applied."""
        call = getattr(work.step, "calls", ())
        what = call[0].name if call else "the model"
        self.history.note(
            "warning", {"text": f"{what} came back after it had been given up; its result is not used"}, at=time.time()
        )

    def finish(self, work: Work, result: Any) -> Entry:
        """Record a result and move the engine on."""
        pending, entry = work.pending, work.entry
        entry.ended = time.time()
        if self.waiting:
            self.waiting.pop(pending, None)
        if self.allowed:
            self.allowed.discard(pending)
        history = self.history
        history.commit(pending, work.step, result, entry)
        if entry.kind == "think" and entry.author == "model":
            self.steps += 1
            if entry.usage is not None:
                self._usage += entry.usage
        elif entry.kind == "act" and entry.author == "tool":
            self.tool_calls += 1
        if history.stepper.answer or history.stepper.error:
            self.settle()
        for point in self.breakpoints:
            if point.enabled and (why := point.after(entry)):
                point.hits += 1
                self.hold = f"breakpoint: {why}"
        return entry

    def settle(self) -> None:
        """Record it when the engine has just returned its answer, or has raised."""
        stepper = self.history.stepper
        if stepper.error:
            self.fail(stepper.error)
        elif stepper.answer:
            data = {"answer": stepper.answer.text, "interrupted": stepper.answer.interrupted}
            self.history.note("completed", data, at=time.time())

    def fail(self, error: BaseException) -> None:
        """Record that a step failed; it stays pending and can be tried again."""
        self.error = error
        self.hold = f"{type(error).__name__}: {error}"
        retry = not isinstance(error, EngineError)
        self.history.note("error", {"type": type(error).__name__, "text": str(error)[:2000], "retry": retry}, at=time.time())

    def forget(self) -> None:
        """After the line has changed: what was held or waited belongs to steps that are no more."""
        self.waiting.clear()
        self.allowed.clear()
        self.hold, self.error = "", None

    def count(self) -> None:
        """Count anew what this run has spent, from its entries: after it was loaded."""
        own = [entry for entry in self.history.entries.values() if entry.run == self.history.run and not entry.original]
        self._usage = sum((entry.usage for entry in own if entry.usage), Usage())
        self.steps = sum(entry.kind == "think" and entry.author == "model" for entry in own)
        self.tool_calls = sum(entry.kind == "act" and entry.author == "tool" for entry in own)

    # -- events ------------------------------------------------------------------------------------------------------

    def listen(self, listener: Callable[[Event], Any]) -> None:
        """Call `listener` for every event from now on; one that raises is called no more, and a warning is recorded."""
        self.listeners.append(listener)
        self.history.on_row = self._row

    def emit(self, kind: str, **data: Any) -> None:
        """Tell the listeners something that is not kept."""
        if self.listeners:
            self._tell(Event(kind, self.history.run, 0, data))

    def _row(self, row: Row) -> None:
        if event := event_of(row):
            self._tell(event)

    def _tell(self, event: Event) -> None:
        for listener in list(self.listeners):
            try:
                listener(event)
            except Exception as error:
                self.listeners.remove(listener)
                self.history.note("warning", {"text": f"a listener raised {type(error).__name__}: {error}; it is called no more"})


def describe(result: Any) -> str:
    """Give the text of a result, for an edit and for display."""
    if isinstance(result, tuple):
        return "\n".join(message.text for message in result)
    return result.text if isinstance(result, Message) else str(result)
