"""How gates are asked: the first verdict counts, and a gate that raises does not let the step pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from agentkit.core.secrets import mask
from agentkit.core.steps import Act, Ask
from agentkit.core.text import error_line
from agentkit.gates.state import Gate, State, gate
from agentkit.gates.verdict import Verdict
from agentkit.stepper.stepper import Pending


def ask_gates(gates: Iterable[Gate], pending: Pending, state: State) -> Verdict | None:
    """Return the first verdict on a step. If a gate raises, a person has to decide."""
    for look in gates:
        try:
            verdict = look(pending, state)
        except BaseException as error:
            kind: Literal["ask", "pause"] = "ask" if type(pending.step) is Act else "pause"
            verdict = Verdict(kind, f"the check of {_name(pending)} raised {error_line(error)}")
        if verdict is not None and not _has_passed(verdict, pending, state):
            return replace(verdict, why=mask(verdict.why))
    return None


def _has_passed(verdict: Verdict, pending: Pending, state: State) -> bool:
    """Return whether a person has approved the step that a gate asks about; that does not extend a budget."""
    if verdict.kind == "pause":
        return state.has_paused(pending)
    return verdict.kind == "ask" and not verdict.limit and state.is_allowed(pending, verdict.past)


def _name(pending: Pending) -> str:
    step = pending.step
    return step.call.name if type(step) is Act else f"the step {step.kind} ({step.role})"


@gate(Ask)
def question(pending: Pending, state: State) -> Verdict | None:
    """Ask a person the question that the engine asks."""
    assert type(pending.step) is Ask
    return Verdict("ask", pending.step.question)
