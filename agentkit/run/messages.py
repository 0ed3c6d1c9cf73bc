"""The messages of a run: those that it starts with, and those that its steps have added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agentkit.core.messages import Chat, Message, assistant, message_from_json, user
from agentkit.journal.entries import Entry


def opening(spec: dict[str, Any]) -> Chat:
    """Return the chat that a run starts with: the instructions, the history, and then the task."""
    task = [message_from_json(message) for message in spec["task"]]
    if not spec.get("history"):
        return Chat.of(task)
    first = next((n for n, message in enumerate(task) if message.role != "system"), len(task))
    return Chat.of([*task[:first], *map(message_from_json, spec["history"]), *task[first:]])


def messages_of(entries: Iterable[Entry]) -> Iterator[Message]:
    """Yield the messages of a trace in its order, with those that were injected."""
    for entry in entries:
        if entry.kind == "begin":
            yield from opening(entry.result)
        elif entry.kind == "think":
            yield from entry.result.messages
        elif entry.kind == "ask":
            yield from (assistant(entry.step.question), user(entry.result))  # type: ignore[union-attr]
        elif isinstance(entry.result, Message):
            yield entry.result
