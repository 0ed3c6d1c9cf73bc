"""Tell the model when it goes round in a circle: the same tool, the same arguments, the same result."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around, calls_of, perform, result_of, whole
from agentkit.core.messages import Call, Message, canonical, digest
from agentkit.core.steps import Act, All, Step, replace

WARNING = (
    "[Warning] {name} was called with these arguments {count} times, and the result was the same each time. "
    "Calling it again will not help: try something else, or answer with what is known."
)


def warn_cycles(after: int = 2) -> Around:
    """Add a warning to a result that the same call has given `after` times. Raises `ValueError` unless that is at least 2.

    A call whose result differs from the last one is no cycle: whoever waits for something asks again.
    """
    whole("warn_cycles", after, 2)

    @around(Act)
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
