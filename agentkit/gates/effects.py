"""The consequences of a tool's effect: ask before something irreversible may happen a second time."""

from __future__ import annotations

from agentkit.core.steps import Act
from agentkit.gates.state import State, gate
from agentkit.gates.verdict import Verdict
from agentkit.stepper.stepper import Pending


@gate(Act)
def uncertain(pending: Pending, state: State) -> Verdict | None:
    """Ask about a call that began but never ended, because it may have run; tools that may run twice just run again."""
    if state.trace.uncertain(pending) is None or state.effect(pending) != "irreversible":
        return None
    why = f"{pending.step.call.name} began but never ended, so it may have run"  # type: ignore[union-attr]
    return Verdict("ask", f"{why}: approve to run it again, respond with its result, or reject")


@gate(Act)
def forked(pending: Pending, state: State) -> Verdict | None:
    """Ask, in a fork, before a tool whose effect cannot be undone."""
    if state.effect(pending) != "irreversible":
        return None
    why = f"this is a fork, and {pending.step.call.name} may repeat what it already did"  # type: ignore[union-attr]
    return Verdict("ask", f'{why}: approve, reject or respond (tools declared effect="pure" run without asking)')
