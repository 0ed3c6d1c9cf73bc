"""Chats, replies and tools as the JSON text of OpenTelemetry's conventions; secrets in them are masked."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agentkit.core.messages import Call, Message, Reply
from agentkit.core.secrets import mask, mask_json
from agentkit.core.steps import Tools


def to_text(data: Any) -> str:
    """Return JSON data as text, masked."""
    return json.dumps(mask_json(data), ensure_ascii=False, default=str)


def instructions(chat: Iterable[Message]) -> str:
    """Return the system messages of a chat; "" if there are none."""
    parts = [_text(message.text) for message in chat if message.role == "system"]
    return to_text(parts) if parts else ""


def messages(chat: Iterable[Message]) -> str:
    """Return the messages of a chat, except for those of the system."""
    return to_text([_message(message) for message in chat if message.role != "system"])


def reply(given: Reply) -> str:
    """Return the reply of a model as a list of one message."""
    text = given.text or given.answer or ""
    parts = [*([_text(text)] if text else []), *map(_call, given.calls)]
    return to_text([{"role": "assistant", "parts": parts, "finish_reason": given.finish or "stop"}])


def tools(offered: Tools) -> str:
    """Return the definitions of the tools that a model is offered."""
    return to_text([{"type": "function", **tool.schema} for tool in offered])


def result(message: Message) -> str:
    """Return what a tool has returned."""
    return mask(message.text)


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        answered = {"type": "tool_call_response", "id": message.call_id, "response": message.text}
        return {"role": "tool", "parts": [answered]}
    parts = [*([_text(message.text)] if message.text else []), *map(_call, message.calls)]
    return {"role": message.role, "parts": parts}


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "content": text}


def _call(call: Call) -> dict[str, Any]:
    return {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}
