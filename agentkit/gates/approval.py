"""Ask a person before certain calls, and apply the answers that were remembered."""

from __future__ import annotations

from agentkit.core.steps import Act
from agentkit.gates.guards import Approval
from agentkit.gates.state import State, gate
from agentkit.gates.verdict import Verdict
from agentkit.stepper.stepper import Pending
from agentkit.tools import observations

NOTHING = Approval()


@gate(Act, only_if=lambda guards: guards.remembered)
def rejection(pending: Pending, state: State) -> Verdict | None:
    """Reject a call if a person has always rejected its tool; nobody is then asked whether to repeat it."""
    assert type(pending.step) is Act
    call = pending.step.call
    if state.guards.remembered.get(call.name) is False:
        return Verdict("answer", f"{call.name} is always rejected in this run", observations.rejected(call))
    return None


@gate(Act, only_if=lambda guards: guards.approve != NOTHING)
def approval(pending: Pending, state: State) -> Verdict | None:
    """Ask a person before a call that needs approval, unless the person has always allowed its tool."""
    assert type(pending.step) is Act
    call, guards = pending.step.call, state.guards
    if not guards.remembered.get(call.name) and guards.approve.is_needed(call):
        return Verdict("ask", f"{call.name} needs your approval")
    return None
