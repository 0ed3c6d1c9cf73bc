"""Apply what permits calls: permissions, what needs approval, and the answers of the person that were remembered."""

from __future__ import annotations

from dataclasses import replace

from agentkit.core.messages import Call
from agentkit.core.steps import Act
from agentkit.gates.guards import Approval
from agentkit.gates.permissions import Judgment
from agentkit.gates.state import State, gate
from agentkit.gates.verdict import Verdict
from agentkit.stepper.stepper import Pending
from agentkit.tools import observations

NOTHING = Approval()


@gate(Act, only_if=lambda guards: guards.remembered or guards.permissions)
def rejection(pending: Pending, state: State) -> Verdict | None:
    """Reject a call that is denied, or whose tool a person has always rejected; nobody is then asked to repeat it."""
    assert type(pending.step) is Act
    call = pending.step.call
    if state.guards.remembered.get(state.own_name(call)) is False:
        return Verdict("answer", f"{call.name} is always rejected in this run", observations.rejected(call))
    return _denial(call, state.judgment(pending, anew=True))


@gate(Act, only_if=lambda guards: guards.approve != NOTHING or guards.permissions)
def approval(pending: Pending, state: State) -> Verdict | None:
    """Ask a person before a call that needs approval, unless the person has always allowed its tool."""
    assert type(pending.step) is Act
    call, guards, judgment = pending.step.call, state.guards, state.judgment(pending)
    if denied := _denial(call, judgment):  # only if this gate is asked alone
        return denied
    name = state.own_name(call)
    if guards.remembered.get(name) or judgment.by_person:
        return None
    if guards.approve.is_needed(call if name == call.name else replace(call, name=name)):
        return Verdict("ask", f"{call.name} needs your approval")
    return Verdict("ask", f"{call.name} needs your approval: {judgment.why}") if judgment.outcome == "ask" else None


def _denial(call: Call, judgment: Judgment) -> Verdict | None:
    if judgment.outcome != "deny":
        return None
    return Verdict("answer", f"denied: {judgment.why}", observations.denied(call, judgment.why))
