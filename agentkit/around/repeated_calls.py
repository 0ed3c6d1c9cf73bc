"""Warn the model if it goes round in circles: the same tool, the same arguments, the same result."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around, calls_of, perform, require_int, result_of
from agentkit.core.messages import Call, Message, canonical, digest
from agentkit.core.steps import Act, All, Step, replace

WARNING = (
    "[Warning] You have called {name} with these arguments {count} times, and the result was the same each time. "
    "Calling it again will not help: try something else, or answer with what you know."
)


def warn_cycles(after: int = 2) -> Around:
    """Return an around that adds a warning to a result if the same call has returned it `after` times.

    A call whose result differs from the previous one does not count as repeated: it may be waiting for something.
    Raises `ValueError` unless `after` is an integer of at least 2.
    """
    require_int("warn_cycles", after, 2)

    @around(Act, does="warns about repeated calls")
    def warn(step: Act | All, memory: dict[str, Any]) -> Generator[Step, Any, Any]:
        messages = yield from perform(step, calls_of(step))
        calls = {call.id: call for call in calls_of(step)}
        warned = [_warned(calls.get(message.call_id), message, memory, after) for message in messages]
        return result_of(step, warned)

    return warn


def _warned(call: Call | None, message: Message, memory: dict[str, Any], after: int) -> Message:
    if call is None:
        return message
    key = digest(canonical([call.name, call.arguments, call.raw if call.problem else None]))
    result, count = memory.get(key, (None, 0))
    count = count + 1 if result == message.text else 1
    memory[key] = message.text, count
    if count < after:
        return message
    return replace(message, text=f"{message.text}\n{WARNING.format(name=call.name, count=count)}")
