"""Shorten a chat that is too long for the model: in the request alone, the trace keeps everything.

The texts of models and tools are shortened, the older ones first. Those of people and of the system stay word for word
as long as possible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from agentkit.core.messages import Call, Chat, Message
from agentkit.models.tokens import tokens

KEPT = 2
"""The last messages of the model, and the last results of tools, that stay whole as long as that is enough."""

CUT = 2_000
"""Characters to which even their texts are cut otherwise."""

ENOUGH = 0.75
"""The share of the chat that may be left, of what was sent before."""

_LEAST = 0.01

_SHORT = 200
_GONE = Message("system", "")

Rewrite = Callable[[str], str]


def shortened(chat: Chat, last: Chat | None = None) -> tuple[Chat | None, str]:
    """Return the chat without the earlier texts of its model and tools, and a sentence about it; None if nothing can
    go.

    If that is not enough, the last of these texts are cut, and then the older half of a conversation is left out.
    `last` is what was sent in vain before: the new chat is shorter.
    """
    size = _weight(list(last or chat))
    share = ENOUGH * size / max(1, _weight(list(chat)))
    while True:
        shorter, reason = _shortened(chat, share)
        if shorter is None or _weight(list(shorter)) < size:
            return shorter, reason
        if share < _LEAST:
            return None, ""
        share *= ENOUGH


def left_over(chat: Chat) -> str:
    """Return a sentence about a chat that is still too long although nothing more can be left out."""
    longest = max(chat, key=tokens)
    return (
        f"It was shortened as far as possible, to about {_weight(list(chat)):,} tokens; "
        f"the longest message that is left is one of the {longest.role}, with about {tokens(longest):,}"
    )


def _shortened(chat: Chat, share: float) -> tuple[Chat | None, str]:
    """Return the chat cut down to a share of it, as far as that is possible."""
    before = now = list(chat)
    by_role = [_positions(before, role) for role in ("assistant", "tool")]
    for part, rewrite in ((slice(-KEPT), _left_out), (slice(-KEPT, None), _cut)):
        chosen = {position for positions in by_role for position in positions[part]}
        now = [_rewritten(message, rewrite) if n in chosen else message for n, message in enumerate(now)]
        if _weight(now) <= share * _weight(before):
            break
    else:
        gone = _older_half(before)
        now = [_GONE if n in gone else message for n, message in enumerate(now)]
    changes = sum(old is not new for old, new in zip(before, now, strict=True))
    if not changes:
        return None, ""
    remaining = Chat.of(message for message in now if message is not _GONE)
    reason = f"the chat was too long for the model: {changes} earlier messages were left out of this request, or cut"
    return remaining, reason


def _positions(messages: list[Message], role: str) -> list[int]:
    return [n for n, message in enumerate(messages) if message.role == role and not message.pinned]


def _weight(messages: list[Message]) -> int:
    return sum(map(tokens, messages))


def _older_half(messages: list[Message]) -> set[int]:
    """Return the positions of the older half of a conversation: whole turns, but not the last two, which may be one
    question.
    """
    roles = ["", *(message.role for message in messages)]
    starts = [n for n, (previous, role) in enumerate(pairwise(roles)) if role == "user" != previous]
    end = starts[min(len(starts) // 2, len(starts) - 2)] if len(starts) > 2 else 0
    return {n for n, message in enumerate(messages[:end]) if message.role != "system" and not message.pinned}


def _left_out(text: str) -> str:
    if len(text) <= _SHORT:
        return text
    return f"[This text of {len(text):,} characters was left out: the chat is too long.]"


def _cut(text: str) -> str:
    if len(text) <= CUT:
        return text
    return f"{text[:CUT]}\n[{len(text) - CUT:,} more characters were cut: the chat is too long.]"


def _rewritten(message: Message, rewrite: Rewrite) -> Message:
    """Return a message with all its texts rewritten, including those in arguments; the same message if that
    changes nothing.
    """
    text, calls = rewrite(message.text), tuple(_rewritten_call(call, rewrite) for call in message.calls)
    if text == message.text and calls == message.calls:
        return message
    return replace(message, text=text, calls=calls, raw="", reasoning="", value=None, opaque=None)


def _rewritten_call(call: Call, rewrite: Rewrite) -> Call:
    """Return a call with its arguments rewritten, or what the model wrote if that was unusable."""
    raw = rewrite(call.raw) if call.problem and call.raw else call.raw
    return replace(call, arguments=_rewritten_texts(call.arguments, rewrite), raw=raw)


def _rewritten_texts(value: Any, rewrite: Rewrite) -> Any:
    if isinstance(value, dict):
        return {name: _rewritten_texts(item, rewrite) for name, item in value.items()}
    if isinstance(value, list):
        return [_rewritten_texts(item, rewrite) for item in value]
    return rewrite(value) if isinstance(value, str) else value
