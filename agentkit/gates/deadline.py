"""Time limits on parts of an engine: `timed(engine, seconds)`.

Only time during which a step is being performed counts: a run that is paused for an hour does not exceed its limit.
"""

from __future__ import annotations

from agentkit.core.messages import Message, Reply
from agentkit.core.steps import Act, Step, Think
from agentkit.gates.state import State, gate
from agentkit.gates.verdict import Verdict
from agentkit.stepper.stepper import Pending

PERFORMED = ("think", "act")


def time_left(pending: Pending, state: State) -> tuple[float, float] | None:
    """Return the seconds that are left for a step, and the limit; None if the step is in no scope with a time limit."""
    limits = [(scope.seconds, path) for path, scope in pending.scopes if scope.seconds is not None]
    return min(((limit - _spent(state, path), limit) for limit, path in limits), default=None)


@gate(Think, Act)
def deadline(pending: Pending, state: State) -> Verdict | None:
    """Answer a step whose scope has used up its time."""
    left = time_left(pending, state)
    if left is None or left[0] > 0:
        return None
    return Verdict("answer", f"its time limit of {left[1]:g} s is used up", out_of_time(pending.step, left[1]))


def out_of_time(step: Step, seconds: float) -> Reply | Message:
    """Return the result of a step that has no time left."""
    text = f"the time limit of this step, {seconds:g} s, was reached."
    if type(step) is Act:
        return Message("tool", f"Error: not run: {text}", (), step.call.id, step.call.name, False)
    return Reply(f"FAILED: {text}", answer=f"FAILED: {text}", raw=f"FAILED: {text}", finish="timeout")


def _spent(state: State, path: str) -> float:
    """Return for how many seconds at least one step below a frame path was being performed."""
    entries = [entry for entry in state.trace.line if is_within(entry.path, path) and entry.kind in PERFORMED]
    seconds = until = 0.0
    for started, ended in sorted((entry.started, entry.ended) for entry in entries):
        seconds += max(0.0, ended - max(started, until))
        until = max(until, ended)
    return seconds


def is_within(path: str, scope: str) -> bool:
    """Return whether a frame path is that of a scope, or below it."""
    return path.startswith(scope) and (len(path) == len(scope) or not scope or path[len(scope)] in ".[")
