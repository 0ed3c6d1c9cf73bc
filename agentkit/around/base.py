"""What an around is: a generator of one step, marked with the kinds of steps that it wants to see."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from agentkit.core.messages import Call, Chat, Message, Reply
from agentkit.core.steps import Act, All, Step, Think

Around = Callable[[Step, dict[str, Any]], Generator[Step, Any, Any]]
"""Is given the step and a memory, yields the step (others before or after it), and returns the result for the engine."""


def around(*kinds: Any, nested: bool = False) -> Callable[[Any], Any]:
    """Mark a generator function as an around of these step classes; without a mark, it sees every step.

    One that sees `Act` also sees an `All` of nothing but calls; `calls_of`, `perform` and `result_of` treat both alike. It
    has a memory for each frame of the engine. With `nested`, one memory serves an engine and those it delegates to. If
    such an around sees an `All` of other parts, `memory["lanes"]` holds the memories of its lanes, in order, when it is
    done, and `memory["outer"]` in a lane is the memory of whoever opened it.
    """

    def mark(function: Any) -> Any:
        function.kinds = tuple(kind.kind for kind in kinds)
        function.nested = nested
        return function

    return mark


def calls_of(step: Step) -> tuple[Call, ...]:
    """Return the calls that a step makes: of an `Act`, or of an `All` of them; none for any other step."""
    if type(step) is Act:
        return (step.call,)
    return step.calls if type(step) is All else ()


def perform(step: Act | All, calls: Sequence[Call]) -> Generator[Step, Any, list[Message]]:
    """Have these calls made instead of those of a step, and return a message for each."""
    if not calls:
        return []
    same = tuple(calls) == calls_of(step)
    result = yield step if same else Act.each(calls, step.role, step.tags)
    return [result] if isinstance(result, Message) else list(result)


def result_of(step: Act | All, messages: Sequence[Message]) -> Message | tuple[Message, ...]:
    """Return the result of a step that makes calls: a message, or a tuple of them."""
    return messages[0] if type(step) is Act else tuple(messages)


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
