"""Anthropic's messages API: https://docs.anthropic.com/en/api/messages.

Thinking comes as blocks that Anthropic has signed: they are shown as thought, and go back unchanged, to the host that gave
them and to no other. Agents send the whole chat in each turn, so what the next turn sends again is marked for the prompt
cache.
"""

from __future__ import annotations

import json
import os
from typing import Any

from agentkit.models.anthropic_reading import Arriving
from agentkit.models.base import Abilities, Request
from agentkit.models.remote import Remote
from agentkit.models.wire import based, plain

BASE = "https://api.anthropic.com"
VERSION = "2023-06-01"
MAX_TOKENS = 8192
"""What a reply may have, unless `settings={"max_tokens": …}` says otherwise: this API wants a number in each request."""

CACHE = {"type": "ephemeral"}
"""Asks Anthropic to keep what it has read for five minutes: who sends it again then pays a tenth for it."""


def Anthropic(
    model: str, *, base_url: str | None = None, api_key: str | None = None, key_name: str | None = None, **more: Any
) -> Remote:
    """Give a model of Anthropic, or with `base_url` of a gateway that speaks the same; `more` is what `Remote` takes.

    `ANTHROPIC_API_KEY` is sent to Anthropic and to the host of `ANTHROPIC_BASE_URL`, and nowhere else. Thinking is asked for
    by `settings={"thinking": {"type": "enabled", "budget_tokens": 4000}}`. Requests are marked for the prompt cache, unless
    `without=("cache_control",)` says otherwise; `settings={"cache_control": {"type": "ephemeral", "ttl": "1h"}}` keeps longer.
    """
    usual = os.environ.get("ANTHROPIC_BASE_URL", "").strip() or BASE
    base = based(base_url or usual, "/messages", "/v1")
    own = base in (based(usual, "/messages", "/v1"), BASE)
    if key_name is None:
        key_name = "ANTHROPIC_API_KEY" if own and api_key is None else ""
    more.setdefault("name", f"anthropic:{model}" if own else f"anthropic:{model} at {plain(base)}")
    known = Abilities(tools=True, stream=True, reasoning="claude-3-5" not in model)
    return Remote(WIRE, model, base_url=base, api_key=api_key, key_name=key_name, known=known, **more)


class Messages:
    """The wire of Anthropic's messages."""

    provider = "anthropic"

    def path(self) -> str:
        """Where requests go, below the base URL."""
        return "/v1/messages"

    def headers(self, key: str) -> dict[str, str]:
        """Carry the key and the version."""
        return {"anthropic-version": VERSION, "accept": "text/event-stream", **({"x-api-key": key} if key else {})}

    def body(self, request: Request, model: Remote) -> dict[str, Any]:
        """Write a request, always as a stream; what the system says at the beginning stands apart."""
        messages = request.messages
        first = next((n for n, each in enumerate(messages) if each["role"] != "system"), len(messages))
        body: dict[str, Any] = {"model": model.model, "max_tokens": MAX_TOKENS}
        if said := "\n\n".join(each["content"] for each in messages[:first]).strip():
            body["system"] = [{"type": "text", "text": said}]
        body["messages"] = turns(messages[first:], model.place.host)
        if tools := request.tools:
            body["tools"] = [_tool(each["function"]) for each in tools]
            if request.choice != "auto":
                body["tool_choice"] = _choice(request.choice)
        if request.stop:
            body["stop_sequences"] = list(request.stop)
        if "cache_control" not in model.without:
            body["cache_control"] = CACHE  # of the request: the end of the chat
        return {**body, "stream": True}

    def adjust(self, body: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
        """Add settings as they are; a reply may always be longer than its thinking, and what stands first is kept apart."""
        adjusted = {**body, **settings}
        first = next((name for name in ("system", "tools") if isinstance(adjusted.get(name), list)), "")
        if adjusted.get("cache_control") and first:  # tools come before the system, so one mark is enough for both
            *others, last = adjusted[first]
            adjusted[first] = [*others, {**last, "cache_control": adjusted["cache_control"]}]
        thinking = adjusted.get("thinking")
        budget = thinking.get("budget_tokens", 0) if isinstance(thinking, dict) else 0
        if "max_tokens" not in settings and budget >= adjusted["max_tokens"]:
            adjusted["max_tokens"] = budget + MAX_TOKENS
        return adjusted

    def reading(self, model: Remote) -> Arriving:
        """Begin to read a reply."""
        return Arriving(model)


WIRE = Messages()


def turns(messages: list[dict[str, Any]], host: str) -> list[dict[str, Any]]:
    """Write messages as turns that take turns: results and what a person says next are one turn of the user."""
    written: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = _said(message, host) if role == "assistant" else _heard(message)
        if written and written[-1]["role"] == role:
            written[-1]["content"] += blocks
        elif blocks:
            written.append({"role": role, "content": list(blocks)})
    return written


def _heard(message: dict[str, Any]) -> list[dict[str, Any]]:
    if message["role"] == "tool":
        return [{"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}]
    return [{"type": "text", "text": message["content"]}] if message["content"].strip() else []


def _said(message: dict[str, Any], host: str) -> list[dict[str, Any]]:
    """Write what the model said: as it came, with its signed thinking, where that is still what it says."""
    text = (message.get("content") or "").rstrip()
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text.strip() else []
    for call in message.get("tool_calls") or ():
        function = call["function"]
        blocks.append(
            {"type": "tool_use", "id": call["id"], "name": function["name"], "input": json.loads(function["arguments"])}
        )
    opaque = message.get("opaque")
    if isinstance(opaque, dict) and opaque.get("provider") == host and _same(opaque.get("blocks"), blocks):
        return [block for block in opaque["blocks"] if block.get("type") != "text" or block.get("text", "").strip()]
    return blocks


def _same(kept: Any, said: list[dict[str, Any]]) -> bool:
    """Say whether kept blocks still are what the message says: a person may have edited it since."""

    def read(blocks: list[Any]) -> tuple[str, list[Any]]:
        text = "".join(block.get("text", "") for block in blocks if block.get("type") == "text")
        return text.strip(), [
            (block.get("id"), block.get("input")) for block in blocks if block.get("type") == "tool_use"
        ]

    return isinstance(kept, list) and all(isinstance(block, dict) for block in kept) and read(kept) == read(said)


def _tool(function: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": function["name"],
        "description": function.get("description", ""),
        "input_schema": function["parameters"],
    }


def _choice(choice: str) -> dict[str, Any]:
    if choice in ("none", "required"):
        return {"type": "none" if choice == "none" else "any"}
    return {"type": "tool", "name": choice}
