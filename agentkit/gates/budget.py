"""A budget: limits on what a run may spend, checked before every model call and every tool call, whoever asks for it.

What was spent is read from the entries, so that it is the same after a resume. Calls that run side by side reserve what
they will probably take, so that together they do not overspend; when they are done, what they really took counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from agentkit.around.limits import BUDGET, capped
from agentkit.core.messages import Message, Reply
from agentkit.core.steps import Act, Think
from agentkit.engines.registry import ENGINES
from agentkit.errors import Unknown
from agentkit.gates.base import Verdict
from agentkit.gates.spending import Meter, done
from agentkit.journal.entries import Note, Row
from agentkit.stepper.stepper import Pending

if TYPE_CHECKING:
    from agentkit.runtime.scheduler import Desk

WORDS = {
    "max_tokens": ("tokens", "token"),
    "max_input_tokens": ("input tokens", "input token"),
    "max_output_tokens": ("output tokens", "output token"),
    "max_cost": ("cost", "cost"),
    "max_seconds": ("time", "time"),
    "max_model_calls": ("model calls", "model call"),
    "max_tool_calls": ("tool calls", "tool call"),
    "max_iterations": ("iterations", "iteration"),
}
"""The limits, and how they are called."""


@dataclass(slots=True)
class Budget:
    """What a run may spend; None is no limit. Tokens and money are as the models report them, time is in seconds.

    At the part `warn_at` of a limit an event says so. At the limit the run waits and asks, where `ask` is true, or is
    not said and a notebook is there; `approve()` then goes on with as much again, `reject()` ends it. Elsewhere it ends,
    with what was reached as its answer. Raises `ValueError` for a number that is not above 0.
    """

    max_tokens: float | None = None
    max_input_tokens: float | None = None
    max_output_tokens: float | None = None
    max_cost: float | None = None
    max_seconds: float | None = None
    max_model_calls: float | None = None
    max_tool_calls: float | None = None
    max_iterations: float | None = None
    warn_at: float = 0.8
    ask: bool | None = None

    def __post_init__(self) -> None:
        for name in WORDS:
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value > 0):
                raise ValueError(f"{name} of a budget is a number above 0, or None for no limit, not {value!r}")
        if isinstance(self.warn_at, bool) or not isinstance(self.warn_at, int | float) or not 0 < self.warn_at <= 1:
            raise ValueError(f"warn_at of a budget is a part of it, above 0 and up to 1, not {self.warn_at!r}")

    @classmethod
    def of(cls, spec: Budget | Mapping[str, Any]) -> Budget:
        """Make a budget of its limits by name. Raises `Unknown` for a name that is none."""
        if isinstance(spec, Budget):
            return spec
        known = [field.name for field in fields(cls)]
        if not isinstance(spec, Mapping):
            raise ValueError(f"a budget is a Budget or a dict of limits ({', '.join(WORDS)}), not {spec!r}")
        for name in spec:
            if name not in known:
                raise Unknown("limit of a budget", name, known)
        return cls(**spec)

    @property
    def limits(self) -> dict[str, float]:
        """The limits that are set, by name."""
        return {name: value for name in WORDS if (value := getattr(self, name)) is not None}


class Limits:
    """The gate of a budget: one for each run."""

    kinds = ("think", "act", "conclude")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.limits = budget.limits
        self.ask = _notebook() if budget.ask is None else budget.ask
        self.told: set[str] = set()
        self._meters: dict[str, Meter] = {}
        self._expected: dict[Pending, dict[str, float]] = {}

    def __call__(self, pending: Pending, desk: Desk) -> Verdict | None:
        """Let a step pass while the budget lasts; beside others under way only while it will probably last for all."""
        scopes = [*_nested(pending), *([("", self.limits)] if self.limits else [])]
        for path, limits in scopes:
            meter = self._meters.setdefault(path, Meter(path))
            spent = meter.read(desk.history, desk.host.failed_usage)
            if not path:
                self._warn(spent, desk)
            name = _reached(pending, limits, spent)
            if (others := _others(pending, desk)) and (
                name or self._too_much(pending, limits, spent, meter, others, desk)
            ):
                return Verdict("later", "others are under way, and the budget may not last for one more")
            if name:
                return self._exceeded(pending, desk, path, name, limits, spent)
        return None

    def _exceeded(
        self, pending: Pending, desk: Desk, path: str, name: str, limits: Mapping[str, float], spent: dict[str, float]
    ) -> Verdict:
        """Ask for more, or end the run, or the nested engine at `path`, with what was reached."""
        said = f"the {WORDS[name][1]} budget is used up ({spent[name]:g} of {limits[name]:g})"
        self._tell(desk, "budget_exceeded", name, limits[name], spent[name], said, path)
        if self.ask and not path:
            ways = "approve() goes on with as much again, reject() ends with what there is"
            return Verdict("ask", f"{said}: {ways}", limit=name)
        return Verdict("answer", said, self.end(pending, desk, path, name, limits, spent), name)

    def end(
        self,
        pending: Pending,
        desk: Desk,
        path: str,
        name: str,
        limits: Mapping[str, float] | None = None,
        spent: dict[str, float] | None = None,
    ) -> Any:
        """Give what takes the place of a step so that the run, or the nested engine at `path`, ends with what was reached."""
        meter = self._meters[path]
        limits, spent = limits or self.limits, spent or meter.read(desk.history, desk.host.failed_usage)
        text = f"I've reached the {WORDS[name][1]} budget ({spent[name]:g} of {limits[name]:g}) before I was done."
        text = f"{text}\n{done(desk.history.visible, meter)}".strip()
        reason = f"{'cap:' if path else BUDGET}{name}"
        if not isinstance(pending.step, Act):
            return Reply(text, answer=text, finish=reason)
        told = f"Error: not run: the {WORDS[name][1]} budget is used up. Answer with what is known."
        value = None if path else {"ends": reason, "answer": text}
        return tuple(Message("tool", told, (), call.id, call.name, False, value=value) for call in pending.step.calls)

    def grant(self, desk: Desk, name: str) -> None:
        """Raise a limit by what it was in the beginning; that is recorded, and lasts."""
        self.limits[name] += self.budget.limits[name]
        self.told -= {f"budget_warning {name}", f"budget_exceeded {name}"}
        desk.history.note("budget", {"limit": name, "to": self.limits[name]}, at=time.time())

    def restore(self, rows: Iterable[Row], run: str) -> None:
        """Take over from a journal what was granted and what was told."""
        for row in rows:
            if isinstance(row, Note) and row.run == run and row.kind in ("budget", "budget_warning", "budget_exceeded"):
                name = row.data["limit"]
                if row.kind != "budget":
                    self.told.add(f"{row.kind} {name}")
                elif name in self.limits:
                    self.limits[name] = row.data["to"]
                    self.told -= {f"budget_warning {name}", f"budget_exceeded {name}"}

    def _warn(self, spent: dict[str, float], desk: Desk) -> None:
        for name, limit in self.limits.items():
            if spent[name] >= limit * self.budget.warn_at:
                said = f"{WORDS[name][0]} at {spent[name] / limit:.0%}"
                self._tell(desk, "budget_warning", name, limit, spent[name], said)

    def _tell(self, desk: Desk, kind: str, name: str, limit: float, spent: float, text: str, path: str = "") -> None:
        if path or f"{kind} {name}" not in self.told:
            if not path:
                self.told.add(f"{kind} {name}")
            data, at = {"limit": name, "max": limit, "spent": spent, "text": text, "path": path}, time.time()
            desk.history.behind.attempt(lambda: desk.history.note(kind, data, at=at))

    def _too_much(
        self,
        pending: Pending,
        limits: Mapping[str, float],
        spent: dict[str, float],
        meter: Meter,
        others: list[Pending],
        desk: Desk,
    ) -> bool:
        """Say whether what is under way will probably use a limit up that this step needs."""
        self._expected = {
            other: self._expected.get(other) or meter.expected(other, desk.host.settings)
            for other in others
            if meter.covers(other)
        }
        for name in _bearing(pending, limits):
            reserved = sum(expected.get(name, 0) for expected in self._expected.values())
            if reserved and spent[name] + reserved >= limits[name]:
                return True
        return False


def gates(budget: Budget | None, engine: str) -> tuple[Limits, ...]:
    """Give the gate of a budget; an engine of one's own has one in any case, since nested engines in it may be capped."""
    return (Limits(budget or Budget()),) if budget or engine not in ENGINES.values() else ()


def of(desk: Desk) -> Limits | None:
    """Give the budget's gate of a run, if it has one."""
    return next((gate for gate in desk.gates["think"] if isinstance(gate, Limits)), None)


def ask_nobody(desk: Desk) -> None:
    """Let a run end at its limits without asking, since nobody is there."""
    if limits := of(desk):
        limits.ask = False


def restore(desk: Desk, rows: Iterable[Row]) -> None:
    """Take over from a journal what was granted and what was told."""
    if limits := of(desk):
        limits.restore(rows, desk.history.run)


def approve(desk: Desk, pending: Pending) -> bool:
    """Go on with more, where a step waits for that; say whether it did."""
    verdict, limits = desk.waiting.get(pending), of(desk)
    if verdict is None or not verdict.limit or limits is None:
        return False
    limits.grant(desk, verdict.limit)
    desk.waiting.clear()
    return True


def reject(desk: Desk, pending: Pending) -> Any:
    """Give what ends the run in the place of a step that waits for more; None where no step does."""
    verdict, limits = desk.waiting.get(pending), of(desk)
    if verdict is None or not verdict.limit or limits is None:
        return None
    desk.waiting.clear()  # the others wait for the same
    return limits.end(pending, desk, "", verdict.limit)


def _bearing(pending: Pending, limits: Mapping[str, float]) -> list[str]:
    """Name the limits that bear on a step."""
    if isinstance(pending.step, Think):
        return [
            name
            for name in limits
            if name != "max_tool_calls" and (name != "max_iterations" or pending.step.role == "thought")
        ]
    return (
        [name for name in limits if name in ("max_tool_calls", "max_seconds")] if isinstance(pending.step, Act) else []
    )


def _reached(pending: Pending, limits: Mapping[str, float], spent: dict[str, float]) -> str:
    return next((name for name in _bearing(pending, limits) if spent[name] >= limits[name]), "")


def _others(pending: Pending, desk: Desk) -> list[Pending]:
    """Give the steps that are under way, or are about to be, beside this one."""
    busy, found = desk.started
    return [
        other for other in desk.history.stepper.pending if other is not pending and (other in busy or other in found)
    ]


def _nested(pending: Pending) -> Iterator[tuple[str, dict[str, float]]]:
    """Give the caps of the nested engines that a step lies in, innermost first: frame path and limits."""
    lane: Any = pending.lane
    while lane is not None:
        for frame in reversed(lane.frames):
            if getattr(frame.generator, "gi_code", None) is capped.__code__ and frame.generator.gi_frame is not None:
                yield frame.path, Budget.of(frame.generator.gi_frame.f_locals["limits"]).limits
        lane = lane.parent


def _notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and shell.get_ipython() is not None
