"""Show the model only the last few turns of the conversation that a run starts with."""

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise
from typing import Any

from agentkit.around.base import Around, around, require_int
from agentkit.around.request_view import shorten, view
from agentkit.core.messages import EMPTY, Chat, Reply
from agentkit.core.steps import Step, Think, replace


def window(turns: int) -> Around:
    """Return an around that shows the system messages and the last `turns` turns of the chat that a run starts with.

    A turn begins with a user message. Later messages, those of the run itself, are always shown. Raises `ValueError`
    unless `turns` is an integer of at least 1.
    """
    require_int("window", turns)

    @around(Think, does="shows the model the last turns only")
    def snip(step: Think, memory: dict[str, Any]) -> Generator[Step, Any, Reply]:
        if not memory.get("snipped"):
            memory["snipped"] = step.hears  # the chat of a judge is not yet the loop's own
            old = _before(step.chat, turns)
            view(memory, old)
            shorten(memory, old, Chat.of(message for message in old if message.role == "system" or message.pinned))
        shown = view(memory, step.chat)
        return (yield step if shown.shown.length == step.chat.length else replace(step, chat=shown.shown))

    return snip


def _before(chat: Chat, turns: int) -> Chat:
    """Return the beginning of a chat, without its last few turns; consecutive user messages belong to one turn."""
    is_user = [False, *(message.role == "user" for message in chat)]
    begins = [n for n, (before, now) in enumerate(pairwise(is_user)) if now and not before]
    first = begins[-turns] if len(begins) >= turns else 0
    return next(node for node in chat.nodes() if node.length == first) if first else EMPTY
