"""How long a part of an engine may take: its steps say so in `tags["timeout"]`, in seconds, and it is measured here.

What counts is the time in which something was being done: a run that is paused for an hour is not late.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from agentkit.core.messages import Message, Reply
from agentkit.core.steps import Act, Step, Think
from agentkit.errors import ToolTimeout
from agentkit.gates.base import Gate, Verdict, gate
from agentkit.stepper.stepper import Pending

if TYPE_CHECKING:
    from agentkit.runtime.scheduler import Desk


PERFORMED = ("think", "act")


def limit_of(step: Step) -> float | None:
    """Give the seconds that a step's part of the engine may take; None for no limit."""
    seconds = step.tags.get("timeout")
    return seconds if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0 else None


@gate(Think, Act)
def overdue(pending: Pending, desk: Desk) -> Verdict | None:
    """Answer in the place of a step whose lane has used up its time; a gate."""
    if (limit := limit_of(pending.step)) is None or not isinstance(pending.step, Think | Act):
        return None
    lane = pending.lane
    while lane.parent is not None and lane.parent.joint is not None and limit_of(lane.parent.joint.step) == limit:
        lane = lane.parent  # lanes within the part that is limited use up its time together
    if _spent(desk, lane.path) < limit:
        return None
    return Verdict("answer", f"its {limit:g} s were over", late(pending.step, limit))


def _spent(desk: Desk, lane: str) -> float:
    """Give the seconds in which at least one step of a lane was under way."""
    seconds, until = 0.0, 0.0
    for started, ended in sorted(
        (e.started, e.ended) for e in desk.history.line if e.path.startswith(lane) and e.kind in PERFORMED
    ):
        seconds += max(0.0, ended - max(started, until))
        until = max(until, ended)
    return seconds


def gates(options: dict[str, Any]) -> tuple[Gate, ...]:
    """Give the gate that a run with these options needs, if any of them, or of an engine inside, limits a time."""
    return (overdue,) if "timeout" in repr(options) else ()


def within(job: Generator[Any, Any, Any], step: Step, limit: float) -> Generator[Any, Any, Any]:
    """Let a job's effects take no longer than `limit` seconds; a model that does gives a reply that says so."""
    move, value = job.send, None
    while True:
        try:
            effect = move(value)
        except StopIteration as end:
            return end.value
        effect.timeout = limit if effect.timeout is None else min(limit, effect.timeout)
        try:
            move, value = job.send, (yield effect)
        except Exception as error:
            if isinstance(error, TimeoutError | ToolTimeout) and type(step) is Think:
                return late(step, limit)
            move, value = job.throw, error


def late(step: Think | Act, limit: float) -> Any:
    """Give the result of a step for which no time is left."""
    text = f"FAILED: the time for this step, {limit:g} s, is over."
    if isinstance(step, Think):
        return Reply(text, answer=text, raw=text, finish="timeout")
    return tuple(Message("tool", f"Error: not run: {text[8:]}", (), call.id, call.name, False) for call in step.calls)
