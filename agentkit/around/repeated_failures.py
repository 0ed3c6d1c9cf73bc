"""End a run in which a tool fails again and again."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around, calls_of, perform, require_int, result_of
from agentkit.core.messages import Message
from agentkit.core.steps import Act, All, Step
from agentkit.errors import Finish

STOPPED = "I stopped: {name} failed {count} times in a row, at last with this error:\n{error}"
DONE = "\nBefore that, these tools had returned:\n{steps}"
REASON = "failures"
_TEXT, _STEPS = 500, 20


def stop_after_failures(most: int = 3) -> Around:
    """Return an around that ends the run after `most` failures of one tool without a success in between.

    The answer says what failed and what was done before. Raises `ValueError` unless `most` is an integer of at least 1.
    """
    require_int("max_failures", most)

    @around(Act, does="ends the run after repeated failures")
    def stop(step: Act | All, memory: dict[str, Any]) -> Generator[Step, Any, Any]:
        messages = yield from perform(step, calls_of(step))
        for message in messages:
            failures = memory.setdefault("failures", {})
            if message.ok:
                failures.clear()
                memory.setdefault("done", []).append(f"{message.name}: {message.text[:_TEXT]}")
                continue
            failures[message.name] = failures.get(message.name, 0) + 1
            if failures[message.name] >= most:
                raise Finish(_explained(message, failures[message.name], memory.get("done", [])), REASON)
        return result_of(step, messages)

    return stop


def _explained(message: Message, count: int, done: list[str]) -> str:
    text = STOPPED.format(name=message.name, count=count, error=message.text[:_TEXT])
    return text + DONE.format(steps="\n".join(done[-_STEPS:])) if done else text
