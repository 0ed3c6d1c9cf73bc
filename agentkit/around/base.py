"""What an around is: a generator of one step, marked with the kinds of steps that it wants to see."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from agentkit.steps import Step

Around = Callable[[Step, dict[str, Any]], Generator[Step, Any, Any]]
"""Is given the step and a memory, yields the step (others before or after it), and returns the result for the engine."""


def around(*kinds: Any) -> Callable[[Any], Any]:
    """Mark a generator function as an around of these step classes; unmarked, it sees every step."""

    def mark(function: Any) -> Any:
        function.kinds = tuple(kind.kind for kind in kinds)
        return function

    return mark
