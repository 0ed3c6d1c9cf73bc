"""The state of a run apart from its trace: what waits for a person, what was approved, what it has spent, …"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from agentkit.audit import Audit
from agentkit.core.messages import Call
from agentkit.core.steps import Act, Step
from agentkit.core.usage import Lost, Usage
from agentkit.gates.breakpoints import Breakpoint
from agentkit.gates.guards import Guards
from agentkit.gates.permissions import Judgment, Permissions
from agentkit.gates.verdict import Verdict
from agentkit.hooks.calling import Ruling
from agentkit.hooks.hook import HookSet
from agentkit.journal.entries import Entry
from agentkit.stepper.stepper import KINDS, Pending
from agentkit.tools.toolset import ToolSet
from agentkit.trace.ledger import Ledger, PastCall
from agentkit.trace.trace import Trace


class Status(StrEnum):
    """The status of a run; it is displayed as plain text."""

    __repr__ = str.__repr__

    READONLY = "readonly"
    DONE = "done"
    RUNNING = "running"
    DIVERGED = "diverged"
    WAITING = "waiting"
    FAILED = "failed"
    STOPPED = "stopped"
    PAUSED = "paused"


Gate = Callable[[Pending, "State"], Verdict | None]
"""A function that decides about a pending step; None lets it pass."""


def gate(*kinds: Any, only_if: Callable[[Guards], Any] = bool) -> Callable[[Any], Any]:
    """Return a decorator that marks a gate with the step classes that it looks at; without it, it sees every step.

    It is asked only if `only_if` is true of the guards of the run.
    """

    def mark(function: Any) -> Any:
        function.kinds = tuple(kind.kind for kind in kinds)
        function.only_if = only_if
        return function

    return mark


PERMITTED = Judgment("allow", "")


@dataclass(slots=True)
class Decision:
    """A decision about a step: the verdict that waits for a person, if any, and whether a person approved the step.

    Both can apply to the same step: a call that was approved can still wait for more budget. `has_paused` is true once
    the run has paused before the step, `approved_by` is who approved it, and `asked` why the permissions asked.
    """

    step: Step
    verdict: Verdict | None = None
    is_allowed: bool = False
    has_paused: bool = False
    past: tuple[str, int] | None = None
    approved_by: str = ""
    asked: str = ""


@dataclass(slots=True)
class Loss:
    """What calls without a result at a path have used by the moment `ended`, apart from the losses before.

    `after` is the last entry that the run had then.
    """

    path: str
    used: Lost
    ended: float
    after: int


@dataclass(slots=True)
class Spent:
    """What a run has spent: model calls, tool calls, usage, and `lost`, what calls without a result used, by path.

    `losses` are the same, one by one.
    """

    model_calls: int = 0
    tool_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    lost: dict[str, Lost] = field(default_factory=dict)
    losses: list[Loss] = field(default_factory=list)
    until: float = 0.0
    latest: int = 0

    def add(self, entry: Entry) -> None:
        """Count an entry that was performed."""
        self.until = max(self.until, entry.ended)
        self.latest = max(self.latest, entry.id)
        if entry.usage is not None:
            self.usage += entry.usage
        if entry.kind == "think" and entry.author == "model":
            self.model_calls += 1
        elif entry.kind == "act" and entry.author == "tool":
            self.tool_calls += 1

    def lose(self, path: str, lost: Lost, started: float, ended: float) -> None:
        """Count a call that has no result; of its time, the part that no other call has already counted."""
        lost.seconds = max(0.0, ended - max(started, self.until))
        self.until = max(self.until, ended)
        self.lost[path] = self.lost.get(path, Lost()) + lost
        self.losses.append(Loss(path, lost, ended, self.latest))

    @property
    def total(self) -> Usage:
        """Tokens, money and model calls, including those of calls that failed or were abandoned."""
        return sum(list(self.lost.values()), self.usage + Usage(calls=self.model_calls))


class State:
    """The state of a run.

    `hold` is why no more steps may start ("" if they may), `error` is the last error, and `interrupted` why the run was
    stopped. `decisions` are stored by the position of a step, so that they survive an edit of earlier steps.
    `guards` may only be changed by `guard`; `unrecorded` are the names of those that differ from what is recorded.
    `gates` are those of `all_gates` that have something to check, by the kind of step. `elsewhere` are the ledgers of
    the other runs of a comparison, and `compared` is how many calls of other runs of the tree were compared with the
    last call. `counted` are the runs of the tree whose steps count as those of this run: itself, and the forks in which
    its model was only asked again. `in_flight` are the steps that are being performed, `starting` those that are about
    to start. `hooks` are those of the run, if any, and `rulings` what they have decided about pending steps, by their
    position; `may_begin` is true once the hooks before the run have let it begin. `pace` is the time between two steps
    while the run plays, in seconds. `rested` is how long it has rested since the last entry, by the reason.
    """

    def __init__(
        self, trace: Trace, tools: ToolSet, gates: tuple[Gate, ...], settings: dict[str, Any], guards: Guards
    ) -> None:
        self.trace = trace
        self.tools = tools
        self.settings = settings
        self.guards = guards
        self.unrecorded: tuple[str, ...] = ()
        self.all_gates = gates
        self.gates: dict[str, tuple[Gate, ...]] = {}
        self.hooks: HookSet | None = None
        self.rulings: dict[tuple[int, str, int], Ruling] = {}
        self.arm()
        self.decisions: dict[tuple[int, str, int], Decision] = {}
        self.elsewhere: tuple[Ledger, ...] = ()
        self.counted = {trace.run}
        self.compared = 0
        self.may_begin = False
        self.in_flight: dict[Pending, Any] = {}
        self.starting: list[Pending] = []
        self.hold = ""
        self.error: BaseException | None = None
        self.interrupted = ""
        self.pace = 0.0
        self.rested: dict[str, float] = {}
        self._resting: tuple[str, float] | None = None
        self.spent = Spent()
        self.audit: Audit | None = None
        self._judged: tuple[Step, Permissions, Judgment] | None = None

    def own_name(self, call: Call) -> str:
        """Return the own name of the tool that a call means, however it is spelled there."""
        tool = self.tools.find(call.name)
        return call.name if tool is None else tool.name

    def effect(self, pending: Pending) -> str:
        """Return the effect of the tool that an Act calls; "pure" if the call will not run."""
        assert type(pending.step) is Act
        tool = self.tools.find(pending.step.call.name)
        return "pure" if tool is None or pending.step.call.problem else tool.effect

    def judgment(self, pending: Pending, *, anew: bool = False) -> Judgment:
        """Return what the permissions of the run say about a call; the gates and the entry get the same answer.

        The first gate asks `anew`: a link may have changed since the call was asked about.
        """
        step, permissions = pending.step, self.guards.permissions
        assert type(step) is Act
        if not permissions:
            return PERMITTED
        if anew or self._judged is None or self._judged[0] is not step or self._judged[1] is not permissions:
            self._judged = step, permissions, permissions.judge(step.call, self.tools.find(step.call.name))
        return self._judged[2]

    def why_asked(self, pending: Pending) -> str:
        """Return why the permissions of the run ask about a step, or ""."""
        judgment = self.judgment(pending) if type(pending.step) is Act else PERMITTED
        return judgment.why if judgment.outcome == "ask" else ""

    def log(self, kind: str, pending: Pending, **data: Any) -> None:
        """Add a line about a call to the audit log, if there is one. Raises `AuditError`."""
        if self.audit is not None and type(pending.step) is Act:
            call, place = pending.step.call, {"path": pending.path, "index": pending.index}
            arguments = {} if kind == "result" else {"arguments": call.arguments}  # they are in the line of the call
            self.audit.write(kind, self.trace.run, tool=call.name, **arguments, **place, **data)

    def is_in_flight(self, past: PastCall) -> bool:
        """Return whether this run is making a call at the moment; an earlier call at the same place does not count."""
        if not self.trace.tree.ledger.is_open(past):
            return False
        return any((self.trace.run, *flight.place) == past.place for flight in self.in_flight.values())

    def policy(self, name: str) -> str:
        """Return what happens before a repeated call of a tool: what the run says about it, or the tool, or the run."""
        tool, repeat = self.tools.find(name), self.guards.repeat
        if tool is None:
            return "allow"  # it cannot be called at all
        own = repeat.get(tool.name) or tool.repeat
        return own or ("allow" if tool.effect in ("pure", "idempotent") else repeat.get("", "ask"))

    # -- guards --------------------------------------------------------------------------------------------------------

    @property
    def breakpoints(self) -> list[Breakpoint]:
        """The breakpoints of the run."""
        return self.guards.breakpoints

    def guard(self, guards: Guards, changed: Iterable[str], *, author: str = "human", reason: str = "") -> None:
        """Change some guards, and record who did so and why. Raises `JournalError`; then nothing has changed."""
        data = guards.to_json()
        values = {name: data.get(name) for name in changed}
        if self.audit is not None:
            self.audit.write("guards", self.trace.run, author=author, reason=reason, guards=values)
        self.trace.note("guards", {**values, "author": author, "reason": reason}, at=time.time())
        self.guards = guards
        self.arm()

    def arm(self) -> None:
        """Choose the gates and the hooks that have something to check; what other hooks have decided is forgotten."""
        hooks = (*self.guards.guardrails, *self.guards.hooks)
        self.hooks = HookSet(hooks, self.tools) if any(not hook.is_around for hook in hooks) else None
        self.rulings.clear()
        active = [
            gate
            for gate in self.all_gates
            if not getattr(gate, "is_idle", False) and getattr(gate, "only_if", bool)(self.guards)
        ]
        self.gates = {kind: tuple(gate for gate in active if kind in getattr(gate, "kinds", KINDS)) for kind in KINDS}

    # -- hooks ---------------------------------------------------------------------------------------------------------

    def rule(self, pending: Pending, ruling: Ruling) -> None:
        """Record what hooks have decided about a step, and change the step as they did."""
        self.rulings[self.trace.place(pending)] = ruling
        self.ruling(pending)

    def ruling(self, pending: Pending) -> Ruling | None:
        """Return what hooks have decided about a pending step, if it is still the same; the step is as they left it."""
        ruling = self.rulings.get(self.trace.place(pending)) if self.rulings else None
        if ruling is not None and ruling.original != pending.proposed:
            ruling = None
        proposed = pending.proposed
        step = proposed if ruling is None else ruling.step
        if step is not pending.step:
            pending.step, pending.original = step, None if step is proposed else proposed
        return ruling

    # -- resting -------------------------------------------------------------------------------------------------------

    def rest(self, now: float, why: str = "") -> None:
        """Begin to rest, or rest for another reason: "waiting" if a step waits for a person, else "paused"."""
        self.go_on(now)
        self._resting = why or ("waiting" if self.waiting else "paused"), now

    def go_on(self, now: float) -> None:
        """End a rest."""
        if self._resting is not None:
            why, since = self._resting
            self._resting = None
            self.rested[why] = self.rested.get(why, 0.0) + max(0.0, now - since)

    def rests(self, now: float) -> dict[str, float] | None:
        """Return how long the run has rested since the last entry; what is shorter than a millisecond is left out."""
        if self._resting is not None:  # a person acts on a run that rests
            self.rest(now)
        return {why: round(seconds, 6) for why, seconds in self.rested.items() if seconds >= 0.001} or None

    # -- decisions -----------------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> list[tuple[Pending, Verdict]]:
        """The pending steps that wait for a person, each with the reason."""
        if not self.decisions:
            return []
        decided = [(pending, self.decision(pending)) for pending in self.trace.pending]
        return [(pending, decision.verdict) for pending, decision in decided if decision and decision.verdict]

    def decision(self, pending: Pending) -> Decision | None:
        """Return the decision about a step, if the step is still the same."""
        if self.rulings:
            self.ruling(pending)
        decision = self.decisions.get(self.trace.place(pending)) if self.decisions else None
        return decision if decision is not None and decision.step == pending.step else None

    def is_allowed(self, pending: Pending, past: PastCall | None = None) -> bool:
        """Return whether a person has approved a step, and knew that it would repeat a certain call, if it would."""
        decision = self.decision(pending)
        return decision is not None and decision.is_allowed and (past is None or decision.past == past.key)

    def has_paused(self, pending: Pending) -> bool:
        """Return whether the run has paused before a step, or a person has approved it, so that it need not pause."""
        decision = self.decision(pending)
        return decision is not None and (decision.is_allowed or decision.has_paused)

    def wait(self, pending: Pending, verdict: Verdict) -> None:
        """Record that a step waits for a person."""
        known = self.decision(pending) or Decision(pending.step)
        self.decisions[self.trace.place(pending)] = replace(known, verdict=verdict)

    def allow(self, pending: Pending, past: PastCall | None = None, author: str = "human", asked: str = "") -> None:
        """Record that a person has approved a step, which earlier call it was said to repeat, and why it was asked."""
        key = past.key if past is not None else None
        known = Decision(pending.step, is_allowed=True, past=key, approved_by=author, asked=asked)
        self.decisions[self.trace.place(pending)] = known

    def approval(self, pending: Pending) -> str:
        """Return who has approved a step, as in "approved by Ada", or what permits it; "" if nothing had to."""
        decision = self.decision(pending)
        if decision is not None and decision.is_allowed:
            asked = decision.asked
            by = "a person" if decision.approved_by == "human" else decision.approved_by
            return f"approved by {by}{asked and f' ({asked})'}"
        if type(pending.step) is not Act or not self.guards.permissions:
            return ""
        judgment, name = self.judgment(pending), pending.step.call.name
        if judgment.outcome == "ask":
            return f"allowed: {name} is always allowed in this run"
        return judgment.why and f"allowed: {judgment.why}"

    def pass_next(self, pending: Pending) -> None:
        """Record that the run has paused before a step."""
        known = self.decision(pending) or Decision(pending.step)
        self.decisions[self.trace.place(pending)] = replace(known, has_paused=True)

    def forget_decision(self, pending: Pending) -> None:
        """Drop the decision about a step: an approval counts only once."""
        if self.decisions:
            self.decisions.pop(self.trace.place(pending), None)

    def withdraw(self) -> None:
        """Drop the decisions about steps that are not pending: who leaves a step takes back the approval of it."""
        if self.decisions or self.rulings:
            pending = {self.trace.place(pending) for pending in self.trace.pending}
            self.rulings = {place: known for place, known in self.rulings.items() if place in pending}
            self.decisions = {place: known for place, known in self.decisions.items() if place in pending}

    def ask_again(self) -> None:
        """Drop all verdicts that wait for a person, so that the gates are asked again."""
        self.decisions = {
            place: replace(known, verdict=None)
            for place, known in self.decisions.items()
            if known.is_allowed or known.has_paused
        }
