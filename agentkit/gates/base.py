"""Gates decide before a step is performed: let it pass, pause, ask a person, or answer in its place."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from agentkit.core.messages import canonical
from agentkit.core.secrets import mask
from agentkit.core.steps import Act, Ask
from agentkit.core.text import error_line
from agentkit.errors import Unknown, UsageError
from agentkit.journal.entries import Entry
from agentkit.stepper.places import Place
from agentkit.stepper.stepper import Pending

if TYPE_CHECKING:
    from agentkit.runtime.scheduler import Desk


@dataclass(slots=True)
class Verdict:
    """What a gate says: "pause" before the step, "ask" a person about it, "answer" it with `result`, unperformed, or "fail".

    A step that fails stays pending; `result` is the error then. "later" lets it wait until something that is under way has
    ended. `limit` names the limit of a budget that is reached.
    """

    kind: Literal["pause", "ask", "answer", "fail", "later"]
    why: str
    result: Any = None
    limit: str = ""


Gate = Callable[[Pending, "Desk"], "Verdict | None"]
"""Looks at a pending step; None lets it pass."""


def gate(*kinds: Any) -> Callable[[Any], Any]:
    """Mark a gate with the step classes that it looks at; unmarked, it looks at every step."""

    def mark(function: Any) -> Any:
        function.kinds = tuple(kind.kind for kind in kinds)
        return function

    return mark


def ask_all(gates: Iterable[Gate], pending: Pending, desk: Desk) -> Verdict | None:
    """Give the first verdict on a step. A gate that raises has not let it pass: a person decides."""
    for look in gates:
        try:
            verdict = look(pending, desk)
        except BaseException as error:
            kind: Literal["ask", "pause"] = "ask" if type(pending.step) is Act else "pause"
            verdict = Verdict(kind, f"what decides about {what(pending)} raised {error_line(error)}")
        if verdict is not None and not has_passed(look, verdict, pending, desk):
            return replace(verdict, why=mask(verdict.why))
    return None


def has_passed(look: Gate, verdict: Verdict, pending: Pending, desk: Desk) -> bool:
    """Say whether a person has said yes to what a gate asks: to this step, or to its tool for good; no budget is longer by it."""
    if verdict.limit or verdict.kind not in ("ask", "pause"):
        return False
    return pending in desk.allowed or (look is not uncertain and remembered(pending, desk))


def what(pending: Pending) -> str:
    """Name a step: by its tool, or by its role."""
    return (
        pending.step.calls[0].name
        if type(pending.step) is Act
        else f"the step {pending.step.kind} ({pending.step.role})"
    )


def remembered(pending: Pending, desk: Desk) -> bool:
    """Say whether a person has said yes to this tool for good; that is no yes to what may have run already."""
    return type(pending.step) is Act and pending.step.calls[0].name in desk.remembered


@gate(Act)
def uncertain(pending: Pending, desk: Desk) -> Verdict | None:
    """Ask about a call that began and never ended: it may have run already. Tools that may run twice just run again."""
    if not desk.history.begun or not desk.history.uncertain(pending):
        return None
    name = pending.step.calls[0].name  # type: ignore[union-attr]
    if desk.effect(pending) != "irreversible":
        return None
    why = f"{name} began and never ended: it may have run"
    return Verdict("ask", f"{why}. Approve to run it again, respond with its result, or reject")


@gate(Ask)
def question(pending: Pending, desk: Desk) -> Verdict | None:
    """Leave a question of the engine to a person."""
    return Verdict("ask", pending.step.question)  # type: ignore[union-attr]


@gate(Act)
def forked(pending: Pending, desk: Desk) -> Verdict | None:
    """Ask, in a fork, before a tool whose effect cannot be taken back."""
    if desk.effect(pending) != "irreversible":
        return None
    name = pending.step.calls[0].name  # type: ignore[union-attr]
    why = f"this is a fork, and {name} may do again what it did: approve, reject or respond"
    return Verdict("ask", f'{why} (a tool declared effect="pure" is not asked about)')


def approval(needed: Callable[[Any], bool]) -> Gate:
    """Ask before each call for which `needed(call)` is true."""

    @gate(Act)
    def approve(pending: Pending, desk: Desk) -> Verdict | None:
        call = pending.step.calls[0]  # type: ignore[union-attr]
        return Verdict("ask", f"{call.name} needs your approval") if needed(call) else None

    return approve


@dataclass(slots=True)
class _Calls:
    """The calls of a tree, by what they ask for; the tree only grows, and what is known of it is not walked again."""

    last: int = 0
    made: dict[bytes, set[int]] = field(default_factory=dict)

    def has(self, pending: Pending, desk: Desk) -> bool:
        """Say whether a call is in the present line, or stands beside and before a pending one that is the same."""
        first, self.last = self.last + 1, desk.history.latest
        for number in range(first, self.last + 1):
            entry = desk.history.entries.get(number)
            if entry is not None and entry.kind == "act" and type(entry.step) is Act:
                self.made.setdefault(_key(entry.step), set()).add(number)
        same = self.made.get(_key(pending.step))
        return _beside(pending, desk) or (same is not None and any(entry.id in same for entry in desk.history.line))


def _beside(pending: Pending, desk: Desk) -> bool:
    """Say whether the same call stands beside a pending one, and before it."""
    call = pending.step.calls[0]  # type: ignore[union-attr]
    before = itertools.takewhile(lambda each: each is not pending, desk.history.stepper.pending)
    others = (each.step.calls[0] for each in before if type(each.step) is Act and not each.opens)
    return any((other.name, other.arguments) == (call.name, call.arguments) for other in others)


def _key(step: Any) -> bytes:
    call = step.calls[0]
    return canonical([call.name, call.arguments])


@dataclass(slots=True)
class Breakpoint:
    """Pause where something happens; exactly one condition is set.

    `tool` and `role` are names, `line` is a line of the engine's file (or of the one whose path ends in `file`), `error` a
    tool or model that failed, `repeat` a call with the same tool and arguments as an earlier one, `when` a predicate of the
    entry that was just made. `number` names a breakpoint as long as the process lives.
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
    _known: _Calls = field(default_factory=_Calls, repr=False, compare=False)

    @classmethod
    def of(cls, condition: dict[str, Any]) -> Breakpoint:
        """Make a breakpoint of a condition by name. Raises `Unknown` for a name that is none."""
        for name in condition:
            if name not in (*cls.CONDITIONS, "file"):
                raise Unknown("condition of a breakpoint", name, cls.CONDITIONS)
        return cls(**condition)

    def __post_init__(self) -> None:
        conditions = [self.tool, self.role, self.line, self.error or None, self.repeat or None, self.when]
        if sum(condition is not None for condition in conditions) != 1:
            raise UsageError(
                "a breakpoint has exactly one condition: tool=, role=, line=, error=True, repeat=True or when="
            )

    def before(self, pending: Pending, desk: Desk) -> str:
        """Say why to pause before a step, or nothing."""
        step = pending.step
        if self.role is not None and step.role == self.role:
            return f"role {self.role}"
        if self.line is not None and any(map(self._is_at, desk.history.stepper.where())):
            return f"line {self.line}"
        if type(step) is Act:
            call = step.calls[0]
            if self.tool is not None and call.name == self.tool:
                return f"tool {self.tool}"
            if self.repeat and self._known.has(pending, desk):
                return f"{call.name} is called again with the same arguments"
        return ""

    def _is_at(self, place: Place) -> bool:
        return place.line == self.line and (place.file.endswith(self.file) if self.file else not place.around)

    def after(self, entry: Entry) -> str:
        """Say why to pause after a step, or nothing."""
        if self.error and entry.kind == "act" and not all(message.ok for message in entry.result):
            return f"{entry.result[0].name} failed"
        if self.when is None:
            return ""
        try:
            return "the condition holds" if self.when(entry) else ""
        except BaseException as error:
            return f"the condition raised {error_line(error)}"


def met(points: Iterable[Breakpoint], look: Callable[[Breakpoint], str]) -> str:
    """Say why breakpoints pause the run, or nothing; each one that is met counts it. `look` asks one of them."""
    whys = []
    for point in list(points):
        if point.enabled and (why := look(point)):
            point.hits += 1
            whys.append(why)
    return f"breakpoint: {mask(', '.join(whys))}" if whys else ""
