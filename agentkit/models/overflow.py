"""Make a chat shorter that a model could not read: only for the request, the trace keeps everything.

What models and tools said gives way, the older first; what people and the system said stays word for word as long as it can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from agentkit.around.request_view import tokens
from agentkit.core.messages import Call, Chat, Message

KEPT = 2
"""Messages of the model, and results of tools, that are left whole as long as that is enough: the last ones of each."""

CUT = 2_000
"""Characters to which their texts are cut otherwise."""

ENOUGH = 0.75
"""The part of a chat that may be left."""

_SHORT = 200
_TOLD = ("assistant", "tool")
_GONE = Message("system", "")

Write = Callable[[str], str]


def shorter(chat: Chat) -> tuple[Chat | None, str]:
    """Give the chat without what its model and tools said earlier, and say what was done; None where nothing can be left out.

    Where that is not enough, the last of it is cut, and then the older half of a conversation goes.
    """
    before = now = list(chat)
    told = [[n for n, message in enumerate(before) if message.role == role and not message.pinned] for role in _TOLD]
    for part, write in ((slice(-KEPT), _left_out), (slice(-KEPT, None), _cut)):
        places = {n for each in told for n in each[part]}
        now = [_rewritten(message, write) if n in places else message for n, message in enumerate(now)]
        if _weight(now) <= ENOUGH * _weight(before):
            break
    else:
        gone = _older_half(before)
        now = [_GONE if n in gone else message for n, message in enumerate(now)]
    changed = sum(one is not other for one, other in zip(before, now, strict=True))
    if not changed:
        return None, ""
    left = Chat.of(message for message in now if message is not _GONE)
    return (
        left,
        f"the chat was too long for the model: {changed} earlier messages were left out of this request, or cut",
    )


def _weight(messages: list[Message]) -> int:
    return sum(map(tokens, messages))


def _older_half(messages: list[Message]) -> set[int]:
    """Name the messages of the older half of a conversation: whole turns, and none of the last two, which may be one question."""
    roles = ["", *(message.role for message in messages)]
    begins = [n for n, (before, now) in enumerate(pairwise(roles)) if now == "user" != before]
    until = begins[min(len(begins) // 2, len(begins) - 2)] if len(begins) > 2 else 0
    return {n for n, message in enumerate(messages[:until]) if message.role != "system" and not message.pinned}


def _left_out(text: str) -> str:
    return (
        text if len(text) <= _SHORT else f"[This text of {len(text):,} characters was left out: the chat is too long.]"
    )


def _cut(text: str) -> str:
    return (
        text
        if len(text) <= CUT
        else f"{text[:CUT]}\n[{len(text) - CUT:,} more characters were cut: the chat is too long.]"
    )


def _rewritten(message: Message, write: Write) -> Message:
    """Write all texts of a message anew, those in the arguments of its calls, too; the same message where that changes none."""
    text, calls = write(message.text), tuple(_call(call, write) for call in message.calls)
    if text == message.text and calls == message.calls:
        return message
    return replace(message, text=text, calls=calls, raw="", reasoning="", value=None, opaque=None)


def _call(call: Call, write: Write) -> Call:
    """Write the arguments of a call anew, or what the model wrote where that was unusable."""
    raw = write(call.raw) if call.problem and call.raw else call.raw
    return replace(call, arguments=_texts(call.arguments, write), raw=raw)


def _texts(value: Any, write: Write) -> Any:
    if isinstance(value, dict):
        return {name: _texts(item, write) for name, item in value.items()}
    if isinstance(value, list):
        return [_texts(item, write) for item in value]
    return write(value) if isinstance(value, str) else value
