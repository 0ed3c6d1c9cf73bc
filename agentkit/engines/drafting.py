"""A first answer, for engines that mend one: by another engine, or in one reply."""

from __future__ import annotations

from typing import Any

from agentkit.core.messages import Chat
from agentkit.core.steps import Loop, Part, Think, nested, tagged
from agentkit.engines.parsing import answered


def drafted(chat: Chat, tools: tuple[Any, ...], actor: Loop | None) -> Part:
    """Give the text of a first answer; its steps are those of round 0."""
    if actor is not None:
        return (yield from tagged(nested(actor, chat, tools=tools), round=0)).text
    return answered((yield Think(chat, role="draft", tags={"round": 0})))
