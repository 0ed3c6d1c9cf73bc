"""Show the model the last few turns of a conversation that a run begins with."""

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise
from typing import Any

from agentkit.around.base import Around, around, whole
from agentkit.around.request_view import shorten, view
from agentkit.core.messages import EMPTY, Chat, Reply
from agentkit.core.steps import Step, Think, replace


def window(turns: int) -> Around:
    """Of the chat that a run begins with, show what the system said, and the last `turns` that a person began.

    What comes after that, the run's own steps, is always shown. Raises `ValueError` unless `turns` is at least 1.
    """
    whole("window", turns)

    @around(Think)
    def snip(step: Think, memory: dict[str, Any]) -> Generator[Step, Any, Reply]:
        if not memory.get("snipped"):
            memory["snipped"] = step.hears  # what a judge is asked is not the loop's own chat yet
            old = _before(step.chat, turns)
            view(memory, old)
            shorten(memory, old, Chat.of(message for message in old if message.role == "system" or message.pinned))
        shown = view(memory, step.chat)
        return (yield step if shown.shown.length == step.chat.length else replace(step, chat=shown.shown))

    return snip


def _before(chat: Chat, turns: int) -> Chat:
    """Give the beginning of a chat, up to its last few turns; what an engine adds to a question is of the same turn."""
    asks = [False, *(message.role == "user" for message in chat)]
    begins = [n for n, (before, now) in enumerate(pairwise(asks)) if now and not before]
    first = begins[-turns] if len(begins) >= turns else 0
    return next(node for node in chat.nodes() if node.length == first) if first else EMPTY
