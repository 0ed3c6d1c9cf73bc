"""A first draft, for engines that improve an answer."""

from __future__ import annotations

from typing import Any

from agentkit.core.messages import Chat
from agentkit.core.steps import Answer, Loop, Part, Think, tagged
from agentkit.engines.parsing import answer_of


def draft(chat: Chat, tools: tuple[Any, ...], actor: Loop | None) -> Part:
    """Return a first draft, written by another engine or in one reply; its steps belong to round 0."""
    if actor is not None:
        return (yield from tagged(actor.begin(chat, tools=tools), round=0))
    reply = yield Think(chat, role="draft", tags={"round": 0})
    return Answer(answer_of(reply), chat)
