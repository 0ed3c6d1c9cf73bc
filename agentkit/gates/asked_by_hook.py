"""Ask a person before a call if a hook wants that."""

from __future__ import annotations

from agentkit.core.steps import Act
from agentkit.gates.state import State, gate
from agentkit.gates.verdict import Verdict
from agentkit.stepper.stepper import Pending


@gate(Act, only_if=lambda guards: guards.hooks)
def asked_by_hook(pending: Pending, state: State) -> Verdict | None:
    """Ask a person if a hook has asked for one, even if the person has always allowed the tool."""
    ruling = state.ruling(pending)
    return Verdict("ask", ruling.asks) if ruling is not None and ruling.asks else None
