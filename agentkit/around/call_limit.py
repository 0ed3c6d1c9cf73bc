"""Limit how many tools a run may call."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around, calls_of, perform, result_of
from agentkit.core.messages import Message
from agentkit.core.steps import Act, All, Step


def cap_calls(most: int) -> Around:
    """Return an around that lets the first `most` calls run; the others are answered with "not run".

    The limit also applies within one reply, and calls of nested engines count, too. Each of several lanes may use the
    calls that are left when it starts; to limit all lanes together, use a budget.
    Raises `ValueError` unless `most` is an integer of at least 1.
    """
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise ValueError(f"max_tool_calls must be an integer of at least 1, or None for no limit, not {most!r}")
    reached = f"Error: not run: the limit of {most} tool calls is reached. Answer with what you know."

    @around(Act, All, nested=True)
    def cap(step: Act | All, memory: dict[str, Any]) -> Generator[Step, Any, Any]:
        calls = calls_of(step)
        if not calls:
            results = yield step
            memory["used"] = memory.get("used", 0) + sum(lane.get("used", 0) for lane in memory.pop("lanes"))
            return results
        left = max(0, most - _used(memory))
        allowed, others = calls[:left], calls[left:]
        memory["used"] = memory.get("used", 0) + len(allowed)
        messages = yield from perform(step, allowed)
        refused = [Message("tool", reached, (), call.id, call.name, False) for call in others]
        return result_of(step, messages + refused)

    return cap


def _used(memory: dict[str, Any]) -> int:
    """Return the number of calls made in a lane and before it started."""
    before = sum(lane.get("used", 0) for lane in memory.get("before", ()))
    return int(memory.get("used", 0)) + before + (_used(memory["outer"]) if "outer" in memory else 0)
