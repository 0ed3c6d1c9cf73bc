"""Make a chat shorter that a model could not read: only for the request, the trace keeps everything."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from agentkit.messages import Chat, Message

KEPT = 2
"""Results of tools that stay as they are: the last ones."""

CUT = 2_000
"""Characters to which the longest texts are cut, where there are no older results to leave out."""

_SHORT = 200


def shorter(chat: Chat) -> tuple[Chat | None, str]:
    """Give the chat without the results of its earlier tools, and say what was done; None where nothing can be left out.

    Where the last results alone are too long, they are cut; where there are none, the older half of the conversation goes.
    """
    messages = list(chat)
    results = [n for n, message in enumerate(messages) if message.role == "tool"]
    old = [n for n in results[:-KEPT] if len(messages[n].text) > _SHORT and not messages[n].pinned]
    if old:
        for n in old:
            messages[n] = _said(
                messages[n], f"[This result, {len(messages[n].text):,} characters, was left out: the chat is too long.]"
            )
        return Chat.of(messages), f"the chat was too long for the model: {len(old)} earlier results were left out of this request"
    long = [n for n in results if len(messages[n].text) > CUT and not messages[n].pinned]
    for n in long:
        left = len(messages[n].text) - CUT
        messages[n] = _said(messages[n], f"{messages[n].text[:CUT]}\n[{left:,} more characters were cut: the chat is too long.]")
    if long:
        return Chat.of(messages), f"the chat was too long for the model: {len(long)} results were cut in this request"
    gone = _older_half(messages)
    if not gone:
        return None, ""
    rest = Chat.of(message for n, message in enumerate(messages) if n not in gone)
    return rest, f"the chat was too long for the model: {len(gone)} earlier messages were left out of this request"


def _older_half(messages: list[Message]) -> set[int]:
    """Name the messages of the older half of what was said before the last turn, whole turns only."""
    roles = ["", *(message.role for message in messages)]
    begins = [n for n, (before, now) in enumerate(pairwise(roles)) if now == "user" != before]
    until = begins[len(begins) // 2] if begins else 0
    return {n for n, message in enumerate(messages[:until]) if message.role != "system" and not message.pinned}


def _said(message: Message, text: str) -> Message:
    return replace(message, text=text, raw="", value=None)
