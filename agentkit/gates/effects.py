"""The consequences of a tool's effect: the world does not go back when a run does.

A call is repeated if the same tool was called before on a line that the run has left, in a fork, or in a process that
was killed. What happens then is the tool's policy: "ask" a person, "reuse" the recorded result, or "allow" the call.
"""

from __future__ import annotations

from agentkit.core.messages import Call
from agentkit.core.secrets import mask
from agentkit.core.steps import Act
from agentkit.core.text import call_text
from agentkit.gates.state import State, gate
from agentkit.gates.verdict import Verdict
from agentkit.stepper.stepper import Pending
from agentkit.tools.tool import UNDECLARED
from agentkit.trace.ledger import LostCall, PastCall
from agentkit.trace.line import Line

_SHOWN = 3


@gate(Act)
def repeated(pending: Pending, state: State) -> Verdict | None:
    """Apply the policy of a tool to a call that the ledger knows, or that follows another call of an irreversible tool.

    A call of an irreversible tool on the present line is also repeated if an equal one may have run there already.
    """
    assert type(pending.step) is Act
    call = pending.step.call
    policy = "allow" if call.problem else state.policy(call.name)
    if policy == "allow":
        return None
    state.trace.read_news()
    state.compared = state.trace.calls_of_others  # first: what is added from here on is noticed before the call begins
    if (past := repeated_call(pending, state)) is None:
        return None
    why = past.text(state.trace.run)
    if policy == "reuse":
        if (result := past.result_for(call)) is not None:
            return Verdict("answer", f"not performed again: {why}", result, past=past)
        if state.effect(pending) == UNDECLARED and not past.is_same(call):
            return None
    if state.effect(pending) == UNDECLARED:
        why = f"{call.name} does not declare its effect, and {why}"
    again = "it would be called again" if past.is_same(call) else f"now it would be {mask(call_text(call))}"
    return Verdict("ask", f"{why}; {again}", past=past)


def repeated_call(pending: Pending, state: State) -> PastCall | None:
    """Return the call that a pending one would repeat: one with a result that fits, or else the newest.

    Of several with results, the one at the same position of the tree comes first, so that each of two equal calls in a
    batch gets its own result; then the newest.
    """
    if type(pending.step) is not Act:
        return None
    call = pending.step.call
    candidates = _candidates(pending, call, state)
    if not candidates:
        return None
    here = state.trace.place(pending)

    def rank(past: PastCall) -> tuple[bool, bool, bool, int]:
        has_result = past.result_for(call) is not None
        return past.is_same(call), has_result, has_result and past.place[1:] == here, past.begun.id

    return sorted(candidates, key=rank)[-1]


def still_performed(state: State, line: Line | None = None) -> str:
    """Return a sentence about the calls that the present line has left behind, and what happens before such a call.

    With `line`, it is about the calls that a run on that line would have left behind. It is "" if there are none, or if
    their tools may simply be called again.
    """
    line, ledger, left = line or state.trace.line, state.trace.tree.ledger, dict[str, list[PastCall]]()
    for past in ledger.apart_from(line):
        if not ledger.is_on(past, line) and not state.is_in_flight(past):
            left.setdefault(past.name, []).append(past)
    sentences = []
    for name, calls in left.items():
        policy = state.policy(name)
        if policy == "allow":
            continue
        shown = ", ".join(past.short_text for past in calls[-_SHOWN:])
        more = f" and {len(calls) - _SHOWN} more" if len(calls) > _SHOWN else ""
        then = "their results are used again" if policy == "reuse" else f"the run asks before it calls {name} again"
        if state.guards.remembered.get(name) is False:
            then = f"{name} is always rejected in this run"
        sentences.append(f"Not undone: {shown}{more}; {then}.")
    return " ".join(sentences)


def _candidates(pending: Pending, call: Call, state: State) -> list[PastCall]:
    """Return the calls that a pending one would repeat.

    A call on the present line counts only if it may have run, and if it is the same call of an irreversible tool. A
    call that began at the place of another pending step belongs to the present line, too. The other runs of a
    comparison count only for irreversible tools, because each run would otherwise ask about every tool; so do calls
    that may be in rows that were lost.
    """
    trace, ledger = state.trace, state.trace.tree.ledger
    apart = ledger.apart_from(trace.line)
    if not (apart or ledger.losses or state.elsewhere):
        return []
    here, found = (trace.run, *trace.place(pending)), list[PastCall]()
    for past in apart:
        if past.name != call.name or state.is_in_flight(past):
            continue
        is_here = past.place == here
        is_own = ledger.is_on(past, trace.line) or (not past.entries and _is_pending(past, state))
        if is_here or not is_own or (past.is_same(call) and state.effect(pending) == "irreversible"):
            found.append(past)
    if state.effect(pending) == "irreversible":
        found += (LostCall(loss, call.name) for loss in ledger.losses)
        for other in state.elsewhere:
            found += (past for past in other.calls if past.name == call.name and past.outcome != "did not run")
    return found


def _is_pending(past: PastCall, state: State) -> bool:
    """Return whether a call began at the place of a pending step and has no result, so that the step waits for one."""
    return any((state.trace.run, *state.trace.place(other)) == past.place for other in state.trace.pending)
