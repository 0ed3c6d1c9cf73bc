"""Show the model the last few turns of a conversation that a run begins with."""

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise
from typing import Any

from agentkit.around.base import Around, around, whole
from agentkit.around.views import shorten, view
from agentkit.messages import Chat, Reply
from agentkit.steps import Step, Think, replace


def window(turns: int) -> Around:
    """Of the chat that a run begins with, show what the system said, and the last `turns` that a person began.

    What comes after that, the run's own steps, is always shown. Raises `ValueError` unless `turns` is at least 1.
    """
    whole("window", turns)

    @around(Think)
    def snip(step: Think, memory: dict[str, Any]) -> Generator[Step, Any, Reply]:
        shown = view(memory, step.chat)
        if not memory.get("snipped"):
            memory["snipped"] = True
            messages = list(step.chat)
            starts = [message.role == "user" for message in messages]  # what an engine adds to a question is of its turn
            begins = [n for n, (before, now) in enumerate(pairwise([False, *starts])) if now and not before][-turns:]
            last = [m for n, m in enumerate(messages) if n >= (begins or [0])[0] or m.role == "system" or m.pinned]
            if len(last) < len(messages):
                shown = shorten(memory, step.chat, Chat.of(last))
        return (yield step if shown.shown is step.chat else replace(step, chat=shown.shown))

    return snip
