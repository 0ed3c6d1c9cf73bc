"""The desk: what both drivers work at. It says what may start, starts it, and records how it ended.

Whoever holds the run's baton uses it; nothing here waits for anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container
from dataclasses import asdict, dataclass
from typing import Any

from agentkit.core.secrets import mask, mask_json
from agentkit.core.steps import Act, Step
from agentkit.core.text import error_line, error_text
from agentkit.core.usage import Usage
from agentkit.errors import JournalError, UsageError
from agentkit.gates.base import Breakpoint, Gate, Verdict, ask_all, met, question, uncertain
from agentkit.journal.entries import Entry, Row
from agentkit.runtime.performer import Host, Job
from agentkit.stepper.stepper import KINDS, Pending, Stepper
from agentkit.trace.events import Event, event_of, place
from agentkit.trace.history import History
from agentkit.trace.progress import Progress


@dataclass(slots=True, eq=False)
class Work:
    """A step that is being performed: the job, and the entry that it will become."""

    pending: Pending
    step: Step
    entry: Entry
    job: Job


class Desk:
    """Bring history, host and gates together, one step at a time.

    `hold` says why nothing more may start ("" when it may); `waiting` are the steps that wait for a person; `pace` are
    the seconds between two steps of a run that plays. `later` has something done by whoever holds the baton, and `wake`
    has a driver that waits look around at once; control and drivers set them. `cancellable` is what threads wait for.
    """

    def __init__(self, history: History, host: Host, gates: tuple[Gate, ...] = ()) -> None:
        self.history = history
        self.host = host
        self.tree = history.run
        self.gates = {
            kind: tuple(g for g in (question, uncertain, *gates) if kind in getattr(g, "kinds", KINDS))
            for kind in KINDS
        }
        self.breakpoints: list[Breakpoint] = []
        self.hold = ""
        self.error: BaseException | None = None
        self.waiting: dict[Pending, Verdict] = {}
        self.allowed: set[Pending] = set()
        self.remembered: set[str] = set()
        self._usage = Usage()
        self._over: Stepper | None = None
        self.steps = 0
        self.tool_calls = 0
        self.pace = 0.0
        self.started: tuple[Container[Pending], list[Pending]] = ((), [])
        self.listeners: list[Callable[[Event], Any]] = []
        self.later: Callable[[Callable[[], Any]], Any] = lambda command: command()
        self.wake: Callable[[], Any] = str
        self.cancellable: set[Any] = set()

    @property
    def usage(self) -> Usage:
        """Tokens, money and model calls so far."""
        return sum(list(self.host.failed_usage.values()), self._usage + Usage(calls=self.steps))

    def due(self, busy: Container[Pending] = (), *, stepping: bool = False) -> list[Pending]:
        """Give the steps that may start now; what a gate holds back goes to `waiting`, a breakpoint sets `hold`.

        With `stepping` a person goes step by step: breakpoints and an earlier hold are passed over.
        """
        history = self.history
        if (self.hold and not stepping) or (history.behind.waiting and not self.caught_up()):
            return []
        if history.torn:
            self.mend()
        if history.stepper.error:
            self.error = history.stepper.error
            return []
        found: list[Pending] = []
        self.started = (busy, found)
        for pending in history.stepper.pending:
            if pending in busy or pending in self.waiting:
                continue
            gated = self.breakpoints or self.gates[pending.step.kind]
            verdict = self._verdict(pending, stepping) if gated else None
            if verdict is None:
                found.append(pending)
            elif verdict.kind == "ask":
                self.waiting[pending] = verdict
                self.emit("waiting", why=verdict.why)
            elif verdict.kind == "answer":
                if self.save(self._in_place(pending, "gate", verdict.why), verdict.result) is None:
                    return []
                return self.due(busy, stepping=stepping)
            elif verdict.kind == "fail":
                self.fail(verdict.result)
                return []
            elif verdict.kind == "pause":
                self.hold = verdict.why
                self.allowed.add(pending)
                return []
        return found

    def _verdict(self, pending: Pending, stepping: bool) -> Verdict | None:
        verdict = ask_all(self.gates[pending.step.kind], pending, self)
        if verdict is not None or stepping or not self.breakpoints or pending in self.allowed:
            return verdict
        why = met(self.breakpoints, lambda point: point.before(pending, self))
        return Verdict("pause", why) if why else None

    def effect(self, pending: Pending) -> str:
        """Give the effect of the tool that a one-call Act asks for; a call that will not run has none ("pure")."""
        call = pending.step.calls[0]  # type: ignore[union-attr]
        tool = self.host.tools.find(call.name)
        return "pure" if tool is None or call.problem else tool.effect

    def mend(self) -> None:
        """Run the engine again if it was interrupted in its own code."""
        if self.history.torn:
            self.history.rebuild()
            self.settle()

    def begin(self, pending: Pending) -> Work | None:
        """Begin a step: from here on it may have had its effect. Where the journal does not take that, the run is held instead."""
        now = time.time()
        history = self.history
        entry = Entry(history.tips[pending.lane.path], "", pending.path, pending.index, started=now, run=history.run)
        if type(pending.step) is Act:
            try:
                history.begin(pending, now, sync=self.effect(pending) != "pure")
            except JournalError as error:
                self._refused(error)
                return None
        elif self.listeners:
            self.emit("thinking", **place(pending))
        if self.allowed:
            self.allowed.discard(pending)  # a yes is for one time: what was interrupted is asked about again
        step = history.performed(pending)
        return Work(pending, step, entry, self.host.perform(step, entry))

    def conclude(self, pending: Pending) -> Entry | None:
        """Pass an answer, or hand over the injected messages that must be answered first."""
        return self.save(self._in_place(pending, "model"), self.history.answer_first())

    def answer(self, pending: Pending, result: Any, *, author: str, reason: str = "") -> Entry:
        """Put a result in the place of performing a step. Raises `JournalError`; then nothing has happened."""
        if pending not in self.history.pending:
            raise UsageError("the run has moved on, and this step is not pending any more; see run.pending")
        return self.finish(self._in_place(pending, author, reason), result)

    def _in_place(self, pending: Pending, author: str, reason: str = "") -> Work:
        entry = Entry(0, "", author=author, reason=reason, started=time.time(), run=self.history.run)
        return Work(pending, pending.step, entry, None)  # type: ignore[arg-type]

    def save(self, work: Work, result: Any) -> Entry | None:
        """Record a result; what the journal refuses is kept in hand, and holds the run until it is written."""
        behind = self.history.behind
        if not behind.waiting:
            try:
                return self.finish(work, result)
            except JournalError as error:
                behind.error = error
        behind.put(lambda: self.finish(work, result), behind.error)  # type: ignore[arg-type]
        self.look_behind()
        return None

    def caught_up(self) -> bool:
        """Write what the journal refused before, if anything; say whether nothing is left of it."""
        try:
            self.catch_up()
        except JournalError:
            self.look_behind()
            return False
        return True

    def catch_up(self) -> None:
        """Write what the journal refused before. Raises `JournalError` where it still refuses."""
        behind = self.history.behind
        if not behind.waiting:
            return
        behind.catch_up()
        if self.error is behind.error:
            self.hold, self.error = "", None

    def look_behind(self) -> None:
        """Hold the run, and say why, where something is in hand that the journal has refused."""
        if self.history.behind.waiting:
            self._refused(self.history.behind.error)

    def _refused(self, error: JournalError | None) -> None:
        self.error, self.hold = error, f"not saved yet: {mask(str(error))}"

    def late(self, work: Work) -> None:
        """Note that something came back after it had been given up; it is not applied. Any thread may say so."""
        call = getattr(work.step, "calls", ())
        what = call[0].name if call else "the model"
        text = f"{what} came back after it had been given up; its result is not used"
        self.later(lambda: self._warn(text))

    def _warn(self, text: str) -> None:
        data, at = {"text": mask(text)}, time.time()
        self.history.behind.attempt(lambda: self.history.note("warning", data, at=at))

    def finish(self, work: Work, result: Any) -> Entry:
        """Record a result and move the engine on. Raises `JournalError`; then nothing has happened."""
        pending, entry, history = work.pending, work.entry, self.history
        entry.ended = entry.ended or time.time()
        history.record(pending, work.step, result, entry)
        if self.waiting:
            self.waiting.pop(pending, None)
        if self.allowed:
            self.allowed.discard(pending)
        if entry.usage is not None:
            self._usage += entry.usage
        if entry.kind == "think" and entry.author == "model":
            self.steps += 1
        elif entry.kind == "act" and entry.author == "tool":
            self.tool_calls += 1
        history.advance(pending, entry.result)
        if history.behind.waiting or history.stepper.answer or history.stepper.error:
            self.settle()
        if self.breakpoints:
            self.hold = met(self.breakpoints, lambda point: point.after(entry)) or self.hold
        return entry

    def settle(self) -> None:
        """Record it when the engine has returned its answer or raised; nobody waits for a step that is not pending any more."""
        for gone in (self.waiting.keys() | self.allowed).difference(self.history.pending):
            self.waiting.pop(gone, None)
            self.allowed.discard(gone)
        self.history.behind.attempt(self._ended)
        self.look_behind()

    def _ended(self) -> None:
        stepper = self.history.stepper
        if stepper is self._over:
            return
        if stepper.error:
            self._over = stepper
            self.fail(stepper.error)
        elif stepper.answer:
            data = {"answer": stepper.answer.text, "interrupted": stepper.answer.interrupted}
            self.history.note("completed", data, at=time.time())
            self._over = stepper

    def fail(self, error: BaseException) -> None:
        """Record that a step failed; it stays pending and can be tried again."""
        text, at = mask(error_text(error)), time.time()
        self.error, self.hold = error, f"{type(error).__name__}: {text}"
        data = {"type": type(error).__name__, "text": text[:2000], "retry": error is not self.history.stepper.error}
        if self.host.failed_usage:
            data["failed_usage"] = {path: asdict(used) for path, used in list(self.host.failed_usage.items())}
        self.history.behind.attempt(lambda: self.history.note("error", data, at=at))
        self.look_behind()

    def forget(self) -> None:
        """After the line has changed: what was held or waited belongs to steps that are no more."""
        self.waiting.clear()
        self.allowed.clear()
        self.hold, self.error = "", None

    def count(self) -> None:
        """Count anew what this run has spent, from its entries: after it was loaded."""
        own = [entry for entry in self.history.entries.values() if entry.run == self.history.run and not entry.replaces]
        self._usage = sum((entry.usage for entry in own if entry.usage), Usage())
        self.steps = sum(entry.kind == "think" and entry.author == "model" for entry in own)
        self.tool_calls = sum(entry.kind == "act" and entry.author == "tool" for entry in own)

    def listen(self, listener: Callable[[Event], Any]) -> None:
        """Call `listener` for every event from now on; one that raises is called no more, and a warning is recorded."""
        if not self.listeners:
            self._progress = Progress(self.history.entries.values())
        self.listeners.append(listener)
        self.history.on_row = self._row

    def emit(self, kind: str, **data: Any) -> None:
        """Tell the listeners something that is not kept."""
        if self.listeners:
            self._tell(Event(kind, self.history.run, 0, mask_json(data)))

    def _row(self, row: Row) -> None:
        for told in self._progress.take(row):
            self._tell(told)
        if event := event_of(row):
            self._tell(event)

    def _tell(self, event: Event) -> None:
        for listener in list(self.listeners):
            try:
                listener(event)
            except (
                BaseException
            ) as error:  # whatever it is, the row that it was told of is written, and the engine waits for it
                if listener in self.listeners:
                    self.listeners.remove(listener)
                self._warn(f"a listener raised {error_line(error)}; it is called no more")
