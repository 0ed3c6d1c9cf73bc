"""How long a part of an engine may take: `timed(engine, seconds)`.

Only the time in which something is being done counts: a run that is paused for an hour is not late.
"""

from __future__ import annotations

from agentkit.core.messages import Message, Reply
from agentkit.core.steps import Act, Step, Think
from agentkit.gates.state import State, gate
from agentkit.gates.verdict import Verdict
from agentkit.stepper.stepper import Pending

PERFORMED = ("think", "act")


def time_left(pending: Pending, state: State) -> tuple[float, float] | None:
    """Return the seconds that a step may take at most, and the limit that says so; None if it is in no timed scope."""
    limits = [(scope.seconds, path) for path, scope in pending.scopes if scope.seconds is not None]
    return min(((limit - _spent(state, path), limit) for limit, path in limits), default=None)


@gate(Think, Act)
def deadline(pending: Pending, state: State) -> Verdict | None:
    """Answer a step whose scope has used up its time."""
    found = time_left(pending, state)
    if found is None or found[0] > 0:
        return None
    return Verdict("answer", f"its {found[1]:g} s are over", out_of_time(pending.step, found[1]))


def out_of_time(step: Step, seconds: float) -> Reply | Message:
    """Return the result of a step for which no time is left."""
    text = f"the time limit of this step, {seconds:g} s, was reached."
    if type(step) is Act:
        return Message("tool", f"Error: not run: {text}", (), step.call.id, step.call.name, False)
    return Reply(f"FAILED: {text}", answer=f"FAILED: {text}", raw=f"FAILED: {text}", finish="timeout")


def _spent(state: State, path: str) -> float:
    """Return the seconds in which at least one step below a frame path was being performed."""
    entries = [entry for entry in state.trace.line if is_within(entry.path, path) and entry.kind in PERFORMED]
    seconds = until = 0.0
    for started, ended in sorted((entry.started, entry.ended) for entry in entries):
        seconds += max(0.0, ended - max(started, until))
        until = max(until, ended)
    return seconds


def is_within(path: str, scope: str) -> bool:
    """Return whether a frame path is a scope's own, or below it."""
    return path.startswith(scope) and (len(path) == len(scope) or not scope or path[len(scope)] in ".[")
