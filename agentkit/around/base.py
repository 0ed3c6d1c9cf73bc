"""What an around is: a generator for one step, marked with the kinds of steps that it wants to see."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, cast

from agentkit.core.messages import Call, Chat, Message, Reply
from agentkit.core.steps import Act, All, Step, Think

Around = Callable[[Step, dict[str, Any]], Generator[Step, Any, Any]]
"""Takes a step and a memory; yields the step, and others before or after it; returns the engine's result."""


def around(*kinds: Any, nested: bool = False, does: str = "") -> Callable[[Any], Any]:
    """Return a decorator that marks a generator function as an around of these step classes.

    An around without the mark, or marked with `@around` alone, sees every step. One that sees `Act` also sees an `All`
    of calls only; `calls_of`, `perform` and `result_of` treat both alike. It has one memory for each frame of the
    engine. With `nested`, an engine and the engines that it delegates to share one memory. If such an around sees an
    `All` of other parts, `memory["lanes"]` holds the memories of its lanes, in order, when the `All` has finished. In a
    lane, `memory["outer"]` is the memory of the frame that opened it, and `memory["before"]` holds the memories of the
    lanes whose results it started with. `does` tells a person what it does, as in "asks again if the reply is empty".
    """

    def mark(function: Any) -> Any:
        function.kinds = tuple(kind.kind for kind in kinds)
        function.nested = nested
        function.does = does
        return function

    if len(kinds) == 1 and not isinstance(kinds[0], type):  # `@around` without parentheses: it sees every step
        return cast(Callable[[Any], Any], kinds[0])
    return mark


def calls_of(step: Step) -> tuple[Call, ...]:
    """Return the calls that a step makes: those of an `Act` or of an `All` of them; otherwise an empty tuple."""
    if type(step) is Act:
        return (step.call,)
    return step.calls if type(step) is All else ()


def perform(step: Act | All, calls: Sequence[Call]) -> Generator[Step, Any, list[Message]]:
    """Perform these calls instead of those of a step, and return a message for each."""
    if not calls:
        return []
    same = tuple(calls) == calls_of(step)
    result = yield step if same else Act.each(calls, step.role, step.tags)
    return [result] if isinstance(result, Message) else list(result)


def result_of(step: Act | All, messages: Sequence[Message]) -> Message | tuple[Message, ...]:
    """Return the result of a step that makes calls: a message, or a tuple of them."""
    return messages[0] if type(step) is Act else tuple(messages)


def aside(chat: Chat, role: str, **tags: Any) -> Think:
    """Return the step for an around's own question to the model: without tools and without injected messages."""
    return Think(chat, (), role, tags, "none", False, optional=True)


def reply_text(reply: Reply) -> str:
    """Return the model's reply to a question that `aside` asked, or "" if the model failed."""
    return "" if reply.finish == "error" else reply.text.strip()


def require_int(name: str, value: Any, least: int = 1) -> int:
    """Return `value` if it is an integer of at least `least`. Raises `ValueError` with the option's name otherwise."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, not {value!r}")
    return value
