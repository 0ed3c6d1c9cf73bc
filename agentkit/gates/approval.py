"""Ask a person before certain calls."""

from __future__ import annotations

from collections.abc import Callable

from agentkit.core.messages import Call
from agentkit.core.steps import Act
from agentkit.gates.state import Gate, State, gate
from agentkit.gates.verdict import Verdict
from agentkit.stepper.stepper import Pending


def approval(is_needed: Callable[[Call], bool]) -> Gate:
    """Return a gate that asks a person before each call for which `is_needed(call)` is true."""

    @gate(Act)
    def ask(pending: Pending, state: State) -> Verdict | None:
        call = pending.step.call  # type: ignore[union-attr]
        return Verdict("ask", f"{call.name} needs your approval") if is_needed(call) else None

    return ask
