"""Which steps may start, how they start, and how their results are recorded. Nothing here blocks."""

from __future__ import annotations

import functools
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from typing import Any

from agentkit.audit import about_result
from agentkit.core.messages import EMPTY, Chat, Message, Reply, message_from_json, user
from agentkit.core.secrets import mask
from agentkit.core.steps import Act, Conclude, End, Think
from agentkit.core.text import error_text
from agentkit.core.usage import Lost, Usage
from agentkit.errors import AuditError, HookRefused, JournalError, Stopped, UsageError
from agentkit.gates.base import ask_gates
from agentkit.gates.breakpoints import hit
from agentkit.gates.budget import BudgetGate
from agentkit.gates.deadline import deadline, time_left
from agentkit.gates.state import Gate, Loss, State
from agentkit.gates.verdict import Verdict
from agentkit.hooks.calling import Ruling
from agentkit.hooks.hook import Hook
from agentkit.hooks.judge import ROLE, broken
from agentkit.journal.entries import ASKED_AGAIN, Entry, Note, Row
from agentkit.models.tokens import tokens, tokens_of_tools
from agentkit.runtime.in_flight import InFlight, Outcome
from agentkit.runtime.listeners import Listeners
from agentkit.runtime.performer import TIME_IS_UP, Performer, used_before
from agentkit.runtime.within import Within
from agentkit.stepper.stepper import Pending, Stepper
from agentkit.tools import observations
from agentkit.trace.events import call_data, place, waiting_data
from agentkit.trace.ledger import PastCall
from agentkit.trace.trace import Trace

_BEGINNING = threading.Lock()
"""Held while a call that cannot be repeated begins: two forks that ask for the same call do not begin it at once."""


class Scheduler:
    """The scheduler of a run's steps; use it only while holding the run's lock."""

    def __init__(self, trace: Trace, state: State, performer: Performer, budget: BudgetGate) -> None:
        self.trace = trace
        self.state = state
        self.performer = performer
        self.listeners = Listeners(trace, self.warn)
        self.within = Within(self.warn)
        self._budget = budget
        self._scoped: tuple[Gate, ...] = (deadline, budget)
        self._told_end: Stepper | None = None

    # -- starting ------------------------------------------------------------------------------------------------------

    def due(self, *, stepping: bool = False) -> list[Pending]:
        """Return the steps that may start now; a step that a gate holds back waits, and a breakpoint holds the run.

        With `stepping`, a person takes single steps: breakpoints and an earlier hold are ignored.
        """
        while (ready := self._due_or_answered(stepping)) is None:
            pass
        return ready

    def _due_or_answered(self, stepping: bool) -> list[Pending] | None:
        """Return the steps that may start now; None if a gate has answered one, so that others are pending."""
        trace, state = self.trace, self.state
        if (state.hold and not stepping) or not self.is_ready():
            return []
        ready = state.starting = []
        steps = trace.stepper.pending
        for pending in steps if state.hooks is None or self._has_begun() else steps[:1]:
            if pending in state.in_flight or (state.decisions and self._is_waiting(pending)):
                continue
            if state.hooks is not None and self.hooks_for(pending):
                ready.append(pending)
                continue
            gates = state.gates[pending.step.kind]
            if pending.scopes and pending.step.kind != "conclude":
                gates = (*gates, *self._scoped)
            verdict = self._verdict(gates, pending, stepping) if gates or state.breakpoints else None
            if verdict is None:
                ready.append(pending)
            elif verdict.kind == "ask":
                if not self._log("asked", pending, why=verdict.why, effect=self._effect(pending)):
                    break
                state.wait(pending, verdict)
                self.listeners.tell("waiting", **waiting_data(pending, verdict.why))
            elif verdict.kind == "answer":
                result = self._with_earlier_attempt(pending, verdict.result, verdict.past)
                if self.save(self._instead(pending, "gate", verdict.why, verdict.past), result) is None:
                    break
                return None
            elif verdict.kind == "fail":
                self.fail(verdict.result)
                break
            elif verdict.kind == "pause":
                state.hold = verdict.why
                state.pass_next(pending)
                break
        else:
            state.starting = []
            return ready
        state.starting = []
        return []

    def hooks_for(self, pending: Pending) -> tuple[Hook, ...]:
        """Return the hooks that have to decide about a step before the gates are asked and it is performed."""
        state = self.state
        if state.hooks is None or state.ruling(pending) is not None:
            return ()
        if type(pending.step) is Conclude and self.trace.answer_first() is not None:
            return ()
        before_run = () if self._has_begun() else state.hooks.at("before", "run")
        return (*before_run, *state.hooks.before(pending.step))

    def _has_begun(self) -> bool:
        """Return whether the hooks before the run need not be asked, because they were, or the run is under way."""
        return self.state.may_begin or len(self.trace.line) > 1 or not self.state.hooks.at("before", "run")  # type: ignore[union-attr]

    def is_ready(self) -> bool:
        """Write rows that the journal refused, and rebuild an interrupted engine; return whether steps may start."""
        trace = self.trace
        if trace.unsaved.waiting and not self.caught_up():
            return False
        if self.state.unrecorded:
            self._record_guards()
        if trace.torn:
            self.mend()
        try:
            if (trace.difference or trace.opened_with) and trace.settle(time.time()):
                self.settle()
        except JournalError as error:
            self._refused(error)
            return False
        if trace.stepper.error:
            self.state.error = trace.stepper.error
        return trace.stepper.error is None

    def _record_guards(self) -> None:
        """Record the guards that an agent added when it opened the run."""
        state, changed = self.state, self.state.unrecorded
        state.unrecorded = ()
        reason = "the run was opened with other guards"
        self.trace.unsaved.attempt(lambda: state.guard(state.guards, changed, reason=reason))
        self.look_for_unsaved()

    def _is_waiting(self, pending: Pending) -> bool:
        decision = self.state.decision(pending)
        return decision is not None and decision.verdict is not None

    def _verdict(self, gates: tuple[Gate, ...], pending: Pending, stepping: bool) -> Verdict | None:
        state = self.state
        verdict = ask_gates(gates, pending, state)
        if verdict is not None or stepping or not state.breakpoints or state.has_paused(pending):
            return verdict
        why = hit(state.breakpoints, lambda breakpoint: breakpoint.before(pending, self.trace))
        return Verdict("pause", why) if why else None

    def mend(self) -> None:
        """Rebuild the engine if it was interrupted in its own code."""
        if self.trace.torn:
            self.trace.rebuild()
            self.settle()

    def begin(self, pending: Pending) -> InFlight | None:
        """Begin a step: from now on it may have its effect. If hooks have to decide about it, they are asked first.

        Return None if the journal refuses this, which holds the run, or if the gates have to be asked again.
        """
        trace, state, step = self.trace, self.state, pending.step
        now = time.time()
        if state.hooks is not None and (hooks := self.hooks_for(pending)):
            return self._begin_hooks(pending, hooks)
        if type(step) is Act:
            try:
                if not self._begin_call(pending, now):
                    return None
            except JournalError as error:
                self._refused(error)
                return None
        elif self.listeners:
            self.listeners.tell("thinking", **place(pending))
        approval = state.approval(pending)
        if state.decisions:
            state.forget_decision(pending)
        entry = Entry(0, "", pending.path, pending.index, started=now, run=trace.run, reason=approval)
        flight = InFlight(pending, trace.to_perform(pending), entry, trace.place(pending))
        if state.hooks is not None:
            ruling = state.ruling(pending)
            entry.reason = "; ".join(filter(None, (approval, ruling.reason if ruling is not None else "")))
            flight.after = state.hooks.after(step)
        if pending.scopes and (left := time_left(pending, state)):
            flight.seconds = left[0]
        budget = self._budget
        left_in_budget = budget.seconds_left(pending, state) if pending.scopes or budget.limits else None
        if left_in_budget is not None and (flight.seconds is None or left_in_budget < flight.seconds):
            flight.seconds, flight.in_budget = left_in_budget, True
        state.in_flight[pending] = flight
        self.within.step_begins(flight)
        return flight

    def _begin_hooks(self, pending: Pending, hooks: tuple[Hook, ...]) -> InFlight:
        """Begin to ask the hooks before a step; nothing of the step itself has begun."""
        begin = self.trace.line.entries[0]
        task = Chat.of(map(message_from_json, begin.result["task"])) if begin.kind == "begin" else EMPTY
        flight = InFlight(pending, pending.step, Entry(0, ""), self.trace.place(pending), before=hooks, task=task)
        self.state.in_flight[pending] = flight
        return flight

    def _begin_call(self, pending: Pending, now: float) -> bool:
        """Record that a call begins; a pure call needs no record, unless the journal is durable.

        Return false if another run of the tree has done something since the gates were asked: they are asked again.
        """
        effect = self.state.effect(pending)
        if self.state.policy(pending.step.call.name) == "allow":  # type: ignore[union-attr]
            self._note_call(pending, effect, now, has_row=effect != "pure" or self.trace.is_durable)
            return True
        with _BEGINNING:
            if self.trace.has_news or self.trace.calls_of_others != self.state.compared:
                return False
            self._note_call(pending, effect, now, has_row=True)
        return True

    def _note_call(self, pending: Pending, effect: str, now: float, *, has_row: bool) -> None:
        """Write that a call begins into the audit log, if there is one, and into the journal if it `has_row` there."""
        if self.state.audit is not None:
            self.state.log("call", pending, effect=effect, decision=self.state.approval(pending))
        if has_row:
            self.trace.begin_call(pending, effect, now)
        elif self.listeners:
            self.listeners.tell_call(**place(pending), **call_data(pending.step))

    # -- ending --------------------------------------------------------------------------------------------------------

    def conclude(self, pending: Pending) -> Entry | None:
        """Accept an answer, or send back the injected messages that must be answered first."""
        return self.save(self._instead(pending, "model"), self.trace.answer_first())

    def end(self, flight: InFlight, outcome: Outcome) -> Entry | None:
        """Record the outcome of a step, and return its entry; None if it failed or was stopped and stays pending."""
        self.state.in_flight.pop(flight.pending, None)
        try:
            entry: Entry | None = flight.run(self._end, flight, outcome)
        finally:
            self.within.step_ends(flight, outcome)
        return entry

    def _end(self, flight: InFlight, outcome: Outcome) -> Entry | None:
        came_back, value = outcome
        if flight.before and came_back:  # the run may have ended in another lane while the hooks decided
            return self._rule(flight.pending, value) if flight.pending in self.trace.pending else None
        if flight.ruling is not None:
            self._record_tripped(flight.pending, flight.ruling)
        if came_back:
            if type(flight.step) is Think and flight.step.role == ROLE:
                self._record_verdict(flight.pending, flight.step, value)
            entry = self.save(flight, value, sync=type(flight.step) is not Think)
            if flight.ruling is not None:
                self._follow_up(flight.pending, flight.ruling)
            return entry
        if flight.cancelled and isinstance(value, Stopped):
            self._abandon(flight, flight.cancelled)
        else:
            self._lose(flight, used_before(value) or Usage())
            self.fail(value)
        return None

    def _rule(self, pending: Pending, ruling: Ruling) -> Entry | None:
        """Do what the hooks before a step have decided; return an entry if that takes the place of the step."""
        state, step, refusal = self.state, ruling.step, ruling.refusal
        self._record_tripped(pending, ruling)
        if refusal is not None and ruling.by is not None:
            if refusal.kind == "finish":
                return self._save_ruling(pending, ruling.refused, End(refusal.answer, ruling.ended))
            if type(step) is Act and ruling.by.of == "tool":
                message = observations.skipped(step.call, ruling.refused)
                return self._save_ruling(pending, ruling.refused, self._with_earlier_attempt(pending, message, None))
            self.fail(HookRefused(ruling.refused))
            return None
        if type(step) is Conclude:
            if more := self._goes_on(step, ruling):
                return self._save_ruling(pending, f"{more[0].label} has the run go on", user(more[1]))
            if step is not ruling.original:
                return self._save_ruling(pending, ruling.reason, End(step.answer, step.interrupted))
        state.may_begin = True
        state.rule(pending, ruling)
        if type(step) is not Conclude:
            self._inject(pending, ruling)
        return None

    def _save_ruling(self, pending: Pending, reason: str, result: Any) -> Entry | None:
        return self.save(self._instead(pending, "hook", reason), result)

    def _goes_on(self, step: Conclude, ruling: Ruling) -> tuple[Hook, str] | None:
        """Return the first text with which a hook has the run go on after its answer, and the hook.

        An answer that was forced by a limit ends the run in any case.
        """
        times = sum(entry.kind == "conclude" and entry.author == "hook" for entry in self.trace.line)
        for hook, text in () if step.interrupted else ruling.messages:
            if times < hook.most:
                return hook, text
            self.warn(f"the {hook.label} has had the run go on {times} times, which is its limit; the answer stays")
        return None

    def _inject(self, pending: Pending, ruling: Ruling) -> None:
        """Add the messages of hooks to the lane of a step."""
        for hook, text in ruling.messages:
            inject = functools.partial(self.trace.inject, uuid.uuid4().hex[:12], text, pending.lane.path)
            self.trace.unsaved.attempt(functools.partial(inject, time.time(), hook.label))

    def _follow_up(self, pending: Pending, ruling: Ruling) -> None:
        """Do what the hooks after a step have decided, apart from its result."""
        self._inject(pending, ruling)
        if ruling.by is not None and ruling.by.action == "hold":
            self.state.hold = ruling.refused

    def _record_verdict(self, pending: Pending, step: Think, reply: Any) -> None:
        """Record that a guardrail has tripped that a model judges, if it has."""
        hook = next((hook for hook in self.state.guards.guardrails if hook.name == step.tags.get("guardrail")), None)
        if hook is not None and type(reply) is Reply and (why := broken(reply)):
            self._record_tripped(
                pending, Ruling(step, step, tripped=[(replace(hook, checks=step.tags["checks"]), why)])
            )

    def _record_tripped(self, pending: Pending, ruling: Ruling) -> None:
        """Record the guardrails that have tripped: which, over what, where, and what follows."""
        for hook, why in ruling.tripped:
            data = {"guardrail": hook.name, "checks": hook.checks, "why": why, "action": hook.action}
            note = functools.partial(self.trace.note, "tripped", {**data, **place(pending)}, at=time.time())
            self.trace.unsaved.attempt(note)

    def abandon(self, flight: InFlight, why: str) -> None:
        """Record that a call is left before it has ended, and why; its step stays pending, and its result is not used.

        The call of a tool that is not pure `may_have_run`.
        """
        self.state.in_flight.pop(flight.pending, None)
        self._abandon(flight, why)
        self.within.step_ends(flight, (False, Stopped(why)))

    def _abandon(self, flight: InFlight, why: str) -> None:
        if not flight.has_begun:
            return
        slot, path, index = flight.place
        step = flight.step
        data: dict[str, Any] = {"parent": slot, **place(flight.pending), "path": path, "index": index, "why": why}
        if type(step) is Act:
            data.update(name=step.call.name, id=step.call.id)
            data["may_have_run"] = self.state.effect(flight.pending) != "pure"
        else:
            data["model"] = flight.entry.model
        if type(step) is Act:
            self._log("abandoned", flight.pending, why=why, may_have_run=data["may_have_run"])
        self._lose(flight, flight.used or _estimate(step))
        data["lost"] = self._lost()
        at = time.time()
        self.trace.unsaved.attempt(lambda: self.trace.note("abandoned", data, at=at))

    def _lose(self, flight: InFlight, used: Usage) -> None:
        """Count a call that has begun and has no result."""
        if not flight.has_begun:
            return
        is_call = type(flight.step) is Act
        flight.used = used = replace(used, calls=0 if is_call else max(used.calls, 1))
        lost = Lost(tool_calls=int(is_call)) + used
        now = time.time()
        left = flight.seconds if flight.in_budget and flight.cancelled == TIME_IS_UP else 0.0
        self.state.spent.lose(flight.entry.path, lost, min(flight.entry.started, now - (left or 0.0)), now)

    def _lost(self) -> dict[str, Any]:
        return {path: asdict(lost) for path, lost in list(self.state.spent.lost.items())}

    def answer(
        self, pending: Pending, result: Any, *, author: str, reason: str = "", past: PastCall | None = None
    ) -> Entry:
        """Record a result for a step instead of performing it; with `past`, it is the result of that earlier call.

        Raises `JournalError`; then nothing has changed.
        """
        if pending not in self.trace.pending:
            raise UsageError("this step is not pending any more, because the run has continued; use one of run.pending")
        result = self._with_earlier_attempt(pending, result, past)
        return self._finish(self._instead(pending, author, reason, past), result)

    def _with_earlier_attempt(self, pending: Pending, result: Any, past: PastCall | None) -> Any:
        """Return what is recorded instead of a call; a refusal also says that an earlier attempt may have run.

        A person who writes the result of the call knows what has happened, and so does one who uses that of an earlier
        call, `past`.
        """
        is_refusal = isinstance(result, Message) and not result.ok and past is None
        if not is_refusal or self.trace.uncertain(pending) is None:
            return result
        return result if self.state.effect(pending) == "pure" else observations.attempted(result)

    def _instead(self, pending: Pending, author: str, reason: str = "", past: PastCall | None = None) -> InFlight:
        repeats = past.begun.id if past is not None and self.trace.tree.ledger.has(past) else 0
        entry = Entry(0, "", author=author, reason=reason, started=time.time(), run=self.trace.run, repeats=repeats)
        return InFlight(pending, pending.step, entry, (0, "", 0))

    def save(self, flight: InFlight, result: Any, *, sync: bool = True) -> Entry | None:
        """Record a result; if the journal refuses it, it is kept in memory, and the run is held until it is written.

        A thought is recorded without `sync`: it is synced with the call that follows it, or else when the run's lock is
        released, so before anything is performed.
        """
        unsaved = self.trace.unsaved
        if not unsaved.waiting:
            try:
                return self._finish(flight, result, sync=sync)
            except JournalError as error:
                unsaved.error = error
        unsaved.put(lambda: self._finish(flight, result), unsaved.error)
        self.look_for_unsaved()
        return None

    def _finish(self, flight: InFlight, result: Any, *, sync: bool = True) -> Entry:
        """Record a result and continue the engine. Raises `JournalError`; then nothing has changed."""
        pending, entry, trace, state = flight.pending, flight.entry, self.trace, self.state
        entry.ended = entry.ended or time.time()
        entry.rested = state.rests(entry.ended)
        if state.audit is not None and not flight.is_logged:
            self._log_end(flight, result)
            flight.is_logged = True
        if state.decisions:
            state.forget_decision(pending)
        if state.rulings:
            state.rulings.pop(trace.place(pending), None)
        trace.record(pending, flight.step, result, entry, sync=sync)
        state.rested = {}
        state.spent.add(entry)
        trace.advance(pending, entry.result)
        stepper = trace.stepper
        if stepper.answer or stepper.error or trace.unsaved.waiting:
            self.settle()
        if state.breakpoints:
            state.hold = hit(state.breakpoints, lambda breakpoint: breakpoint.after(entry)) or state.hold
        return entry

    def _log_end(self, flight: InFlight, result: Any) -> None:
        """Add a line about the end of a call to the audit log: its result, or what stands in its place."""
        entry = flight.entry
        if isinstance(result, Message):
            is_result = entry.author == "tool"
            about = {"ok": result.ok, "author": entry.author, "reason": entry.reason, **about_result(result.text)}
            self.state.log("result" if is_result else "not called", flight.pending, **about)

    def _log(self, kind: str, pending: Pending, **data: Any) -> bool:
        """Add a line to the audit log; return false if it cannot be written, which holds the run."""
        try:
            self.state.log(kind, pending, **data)
        except AuditError as error:
            self._refused(error)
            return False
        return True

    def _effect(self, pending: Pending) -> str:
        return self.state.effect(pending) if type(pending.step) is Act else ""

    def settle(self) -> None:
        """Record that the engine has returned its answer or has raised an error."""
        self.trace.unsaved.attempt(self._tell_end)
        self.look_for_unsaved()

    def _tell_end(self) -> None:
        stepper = self.trace.stepper
        if stepper is self._told_end:
            return
        if stepper.error:
            self._told_end = stepper
            self.fail(stepper.error)
        elif stepper.answer:
            data = {"answer": stepper.answer.text, "interrupted": stepper.answer.interrupted}
            self.trace.note("completed", data, at=time.time())
            self._told_end = stepper

    def fail(self, error: BaseException) -> None:
        """Record that a step failed; it stays pending and can be tried again."""
        state, trace = self.state, self.trace
        text, at = mask(error_text(error)), time.time()
        state.error, state.hold = error, f"{type(error).__name__}: {text}"
        data = {"type": type(error).__name__, "text": text[:2000], "retry": error is not trace.stepper.error}
        if state.spent.lost:
            data["lost"] = self._lost()
        trace.unsaved.attempt(lambda: trace.note("error", data, at=at))
        self.look_for_unsaved()

    def sync(self) -> None:
        """Bring what was recorded without `sync` to the disk; if the journal refuses, the run is held until it does."""
        if self.trace.unsynced and not self.trace.unsaved.waiting:
            self.trace.unsaved.attempt(self.trace.sync)
            self.look_for_unsaved()

    # -- unsaved rows --------------------------------------------------------------------------------------------------

    def caught_up(self) -> bool:
        """Write the rows that the journal refused before, if any; return whether all of them are written."""
        try:
            self.catch_up()
        except JournalError:
            self.look_for_unsaved()
            return False
        return True

    def catch_up(self) -> None:
        """Write the rows that the journal refused before. Raises `JournalError` if it still refuses."""
        unsaved, state = self.trace.unsaved, self.state
        if not unsaved.waiting:
            return
        unsaved.catch_up()
        if state.error is unsaved.error:
            state.hold, state.error = "", None

    def look_for_unsaved(self) -> None:
        """Hold the run, with the reason, if there are rows that the journal has refused."""
        if self.trace.unsaved.waiting:
            self._refused(self.trace.unsaved.error)

    def _refused(self, error: JournalError | None) -> None:
        self.state.error, self.state.hold = error, f"not saved yet: {mask(str(error))}"

    # -- other duties --------------------------------------------------------------------------------------------------

    def follow(self) -> list[InFlight]:
        """After a change of the line, keep the flights whose steps are still pending, and return the others."""
        self.mend()
        state = self.state
        places = {self.trace.place(pending): pending for pending in self.trace.pending}
        flights, state.in_flight, lost = list(state.in_flight.values()), {}, []
        for flight in flights:
            now = places.get(flight.place)
            if now is not None:
                state.ruling(now)
            if now is None or now.step != flight.pending.step:
                lost.append(flight)
                continue
            flight.step = now.step if flight.step is flight.pending.step else flight.step
            flight.pending = now
            state.in_flight[now] = flight
        return lost

    def late(self, flight: InFlight) -> None:
        """Record a warning that a call returned after it had been given up; its result is not used."""
        name = flight.step.call.name if type(flight.step) is Act else "the model"
        self.warn(f"{name} returned after it had been given up; its result is not used")

    def warn(self, text: str) -> None:
        """Record a warning."""
        data, at = {"text": mask(text)}, time.time()
        self.trace.unsaved.attempt(lambda: self.trace.note("warning", data, at=at))

    def forget_hold(self) -> None:
        """Clear the hold and the error of the run, after a change of the line."""
        self.state.hold, self.state.error = "", None

    def count(self) -> None:
        """Count what this run has spent, from its entries; needed after it was loaded, and after `restore`."""
        spent = self.state.spent
        spent.model_calls = spent.tool_calls = 0
        spent.usage = Usage()
        for entry in self.trace.tree.entries.values():
            if entry.run in self.state.counted and not entry.original:
                spent.add(entry)

    def restore(self, rows: Iterable[Row]) -> None:
        """Read from a journal what calls without a result have used: the last row about one contains the total.

        Also read which forks have only asked the model of this run again, because their calls count, too.

        A tool call during which the process ended counts, too: its beginning is recorded, and no result.
        """
        lost, losses, slot, latest = self.state.spent.lost, self.state.spent.losses, self.trace.tree.slot, 0
        open_calls: Counter[tuple[int, str, int]] = Counter()
        lost.clear()
        losses.clear()
        for row in rows:
            if isinstance(row, Note) and row.kind == ASKED_AGAIN and row.data["of"] == self.trace.run:
                self.state.counted.add(row.run)
            if row.run != self.trace.run:
                continue
            if isinstance(row, Entry):
                latest = row.id
                if row.kind == "act" and row.author in ("tool", "host"):
                    open_calls[slot(row.parent), row.path, row.index] -= 1
            elif row.kind == "call":
                open_calls[row.data["parent"], row.data["path"], row.data["index"]] += 1
            elif row.kind in ("error", "abandoned"):
                before = dict(lost)
                lost.clear()
                lost.update({path: Lost(**used) for path, used in row.data.get("lost", {}).items()})
                for path, used in lost.items():
                    if used != before.get(path):
                        losses.append(Loss(path, used - before.get(path, Lost()), row.at, latest))
        begun: Counter[str] = Counter()
        for (_, path, _), count in open_calls.items():
            begun[path] += max(count, 0)  # a pure call in a journal that is not durable has no row of its beginning
        for path, count in begun.items():
            if count:
                known = lost.setdefault(path, Lost())
                known.tool_calls = max(known.tool_calls, count)

    def is_conclusion(self, pending: Pending) -> bool:
        """Return whether a step only proposes the answer, so that there is nothing to perform."""
        return type(pending.step) is Conclude and not self.hooks_for(pending)


def _estimate(step: Any) -> Usage:
    """Return an estimate of what a model call that was abandoned has used: the tokens of its request."""
    return Usage(sum(map(tokens, step.chat)) + tokens_of_tools(step.tools)) if type(step) is Think else Usage()


Until = Callable[[], str]
"""Returns a reason to stop driving, or ""."""
