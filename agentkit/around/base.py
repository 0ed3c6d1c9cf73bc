"""What an around is: a generator of one step, marked with the kinds of steps that it wants to see."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from agentkit.core.messages import Chat, Reply
from agentkit.core.steps import Step, Think

Around = Callable[[Step, dict[str, Any]], Generator[Step, Any, Any]]
"""Is given the step and a memory, yields the step (others before or after it), and returns the result for the engine."""


def around(*kinds: Any, nested: bool = False) -> Callable[[Any], Any]:
    """Mark a generator function as an around of these step classes; unmarked, it sees every step.

    It has a memory for each frame of the engine. With `nested` one memory serves an engine and those it delegates to. If it
    sees parallel steps, `memory["lanes"]` holds the memories of the lanes of one, in their order, when that is done, and
    `memory["outer"]` in a lane the memory of whoever opened it.
    """

    def mark(function: Any) -> Any:
        function.kinds = tuple(kind.kind for kind in kinds)
        function.nested = nested
        return function

    return mark


def aside(chat: Chat, role: str, **tags: Any) -> Think:
    """Make the model call of an around: a question beside the loop, without tools, which no injected message reaches."""
    return Think(chat, (), role, tags, "none", False, optional=True)


def words(reply: Reply) -> str:
    """Give what the model said to a question beside the loop; nothing where it could not be asked."""
    return "" if reply.finish == "error" else reply.text.strip()


def whole(name: str, value: Any, least: int = 1) -> int:
    """Give a whole number of at least `least`. Raises `ValueError` that names the option for anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is a whole number of at least {least}, not {value!r}")
    return value
