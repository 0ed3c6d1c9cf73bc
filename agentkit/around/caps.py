"""Limit how many tools a run may call."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around
from agentkit.messages import Message
from agentkit.steps import Act, Step, replace


def cap_calls(most: int) -> Around:
    """Run `most` calls of an engine, also within one reply; answer the others with "not run", so that the model knows.

    Raises `ValueError` unless `most` is a whole number of at least 1.
    """
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise ValueError(f"max_tool_calls is a whole number of at least 1, or None for no limit, not {most!r}")
    reached = f"Error: not run: the limit of {most} tool calls is reached. Answer with what is known."

    @around(Act)
    def cap(step: Act, memory: dict[str, Any]) -> Generator[Step, Any, tuple[Message, ...]]:
        left = most - memory.get("used", 0)
        allowed, others = step.calls[:left], step.calls[left:]
        memory["used"] = memory.get("used", 0) + len(allowed)
        messages: tuple[Message, ...] = (yield replace(step, calls=allowed)) if allowed else ()
        return messages + tuple(Message("tool", reached, (), call.id, call.name, False) for call in others)

    return cap
