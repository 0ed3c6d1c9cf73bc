"""Estimate tokens without a tokenizer: a quarter of the bytes, plus what surrounds a message."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agentkit.core.messages import Message
from agentkit.tools.observations import CLIP_LENGTH

_PER_MESSAGE = 4
_PER_CALL = 40  # bytes
_INSTRUCTIONS = 300


def tokens(message: Message) -> int:
    """Return an estimate of the tokens of a message, whose text a request carries up to `CLIP_LENGTH` characters."""
    size = _bytes(message.text)
    for call in message.calls:
        size += len(call.name) + _bytes(str(call.arguments)) + _PER_CALL
    return min(max(size, _bytes(message.raw)), 4 * CLIP_LENGTH) // 4 + _PER_MESSAGE


def tokens_of_tools(tools: Iterable[Any]) -> int:
    """Return an estimate of the tokens of tool schemas, in the dialect that needs most for them."""
    sizes = [len(json.dumps(tool.schema, indent=2, default=str)) for tool in tools]
    return sum(sizes) // 4 + _INSTRUCTIONS if sizes else 0


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
