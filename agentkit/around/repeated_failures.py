"""End a run that fails in the same way again and again."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around, calls_of, perform, result_of, whole
from agentkit.core.messages import Message
from agentkit.core.steps import Act, All, Step
from agentkit.errors import Finish

STOPPED = "I stopped: {name} failed {count} times in a row, each time with the same error:\n{error}"
DONE = "\nBefore that these tools had answered:\n{steps}"
REASON = "failures"
_TEXT, _STEPS = 500, 20


def stop_after_failures(most: int = 3) -> Around:
    """End the run after `most` failed calls in a row that say the same; the answer says what failed and what was done.

    Raises `ValueError` unless `most` is at least 1.
    """
    whole("max_failures", most)

    @around(Act)
    def stop(step: Act | All, memory: dict[str, Any]) -> Generator[Step, Any, Any]:
        messages = yield from perform(step, calls_of(step))
        for message in messages:
            failed = (message.name, message.text)
            if message.ok:
                memory["last"], memory["count"] = None, 0
                memory.setdefault("done", []).append(f"{message.name}: {message.text[:_TEXT]}")
            else:
                memory["count"] = memory.get("count", 0) + 1 if memory.get("last") == failed else 1
                memory["last"] = failed
            if memory["count"] >= most:
                raise Finish(_explained(message, memory["count"], memory.get("done", [])), REASON)
        return result_of(step, messages)

    return stop


def _explained(message: Message, count: int, done: list[str]) -> str:
    said = STOPPED.format(name=message.name, count=count, error=message.text[:_TEXT])
    return said + DONE.format(steps="\n".join(done[-_STEPS:])) if done else said
