"""Write the messages of a request for an API: as data, and as the bytes of the same data.

The bytes of a message are made once and kept with the rendering of its chat (dialects/rendering.py), so that the next
request of a growing chat joins bytes instead of writing JSON.
"""

from __future__ import annotations

import json
from itertools import takewhile
from typing import Any

from agentkit.models.dialects.rendering import Encoded, Rendering, View
from agentkit.models.wire import Wire

MESSAGES: Any = object()
"""Takes the place of the messages in a body that is encoded without them."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)


def encode(value: Any) -> bytes:
    """Return the bytes of JSON data; half a surrogate pair, which UTF-8 cannot express, becomes a question mark."""
    return _ENCODER.encode(value).encode("utf-8", "replace")


def system_text(rendering: Rendering, wire: Wire) -> str:
    """Return the text of the system messages that travel apart from the others."""
    if not wire.splits_system:
        return ""
    leading = takewhile(lambda view: view["role"] == "system", rendering)
    return "\n\n".join(view["content"] for view in leading).strip()


def messages(rendering: Rendering, wire: Wire, host: str) -> list[dict[str, Any]]:
    """Return all messages as an API expects them."""
    written: list[dict[str, Any]] = []
    is_leading = wire.splits_system
    for view in rendering:
        is_leading = is_leading and view["role"] == "system"
        if is_leading:
            continue
        message, field = wire.message(view, host), wire.merged_field
        if field and written and written[-1]["role"] == message["role"]:
            written[-1][field] += message[field]
        elif not field or message[field]:
            written.append({**message, field: [*message[field]]} if field else message)
    return written


def encoded_messages(rendering: Rendering, wire: Wire, host: str) -> list[bytes]:
    """Return the bytes of `messages(…)` without the brackets around them, in pieces to be joined."""
    api = (wire, host)
    pieces: list[bytes] = []
    state: str | None = None
    for block in rendering.blocks:
        known = block.encoded.get((api, state))
        if known is None:
            known = block.encoded[api, state] = _encoded(block.views, wire, host, state)
        more, state = known
        pieces += more
    if wire.merged_field and state:
        pieces.append(b"]}")
    return pieces


def _encoded(views: list[View], wire: Wire, host: str, state: str | None) -> Encoded:
    """Return the bytes of some messages, and the state after them.

    The state is None as long as there were only system messages that travel apart, "" as long as nothing else was
    written, and then the role of the last message, whose list is still open if it is the `merged_field`.
    """
    pieces: list[bytes] = []
    field = wire.merged_field
    for view in views:
        if state is None and wire.splits_system and view["role"] == "system":
            continue
        message = wire.message(view, host)
        role: str = message["role"]
        if not field:
            pieces.append((b"," if state else b"") + encode(message))
            state = role
        elif not message[field]:
            state = state or ""
        elif role == state:
            pieces.append(b"," + encode(message[field])[1:-1])
        else:
            pieces.append((b"]}," if state else b"") + encode({"role": role, field: message[field]})[:-2])
            state = role
    return pieces, state


def around_messages(body: dict[str, Any]) -> tuple[bytes, bytes | None]:
    """Return the bytes of a body before and after its `MESSAGES`; if it has none, all of them and None."""
    before: list[bytes] = []
    after: list[bytes] | None = None
    for name, value in body.items():
        if value is MESSAGES:
            before.append(encode({name: []})[1:-2])
            after = []
        else:
            (before if after is None else after).append(encode({name: value})[1:-1])
    start = b"{" + b",".join(before)
    return (start + b"}", None) if after is None else (start, b"]" + b"".join(b"," + each for each in after) + b"}")
