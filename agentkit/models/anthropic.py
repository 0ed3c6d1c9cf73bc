"""Anthropic's messages API: https://docs.anthropic.com/en/api/messages.

Thinking comes in blocks that Anthropic has signed: they are shown as thought, and go back unchanged to the host that
sent them, and to no other. Agents send the whole chat in each turn, so what the next turn will send again is marked for
the prompt cache.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from agentkit.core import finish_reasons
from agentkit.core.checked_arguments import checked
from agentkit.core.usage import Usage
from agentkit.models.base import Abilities, CallDelta, Chunk, Request
from agentkit.models.dialects.rendering import View
from agentkit.models.error_objects import error_in
from agentkit.models.json_fields import items, mapping, number, string
from agentkit.models.remote import Remote
from agentkit.models.urls import base_of, without_secrets
from agentkit.models.wire import BrokenReply, Cost, HostError

BASE = "https://api.anthropic.com"
VERSION = "2023-06-01"
MAX_TOKENS = 8192
"""The length of a reply unless `settings={"max_tokens": …}` sets another: this API wants a number in every request."""

CACHE = {"type": "ephemeral"}
"""Asks Anthropic to store what it has read for five minutes: sending it again then costs a tenth."""

_SUFFIXES = ("/messages", "/v1")


@checked
def Anthropic(
    model: str, *, base_url: str | None = None, api_key: str | None = None, key_name: str | None = None, **more: Any
) -> Remote:
    """Return a model of Anthropic, or with `base_url` of a gateway with the same API; `more` is passed on to `Remote`.

    `ANTHROPIC_API_KEY` is sent to Anthropic and to the host of `ANTHROPIC_BASE_URL`, and nowhere else. Ask for thinking
    with `settings={"thinking": {"type": "enabled", "budget_tokens": 4000}}`. Requests are marked for the prompt cache,
    unless `without=("cache_control",)`; `settings={"cache_control": {"type": "ephemeral", "ttl": "1h"}}` stores longer.
    """
    default = os.environ.get("ANTHROPIC_BASE_URL", "").strip() or BASE
    base = base_of(base_url or default, *_SUFFIXES)
    is_default = base in (base_of(default, *_SUFFIXES), BASE)
    if key_name is None:
        key_name = "ANTHROPIC_API_KEY" if is_default and api_key is None else ""
    more.setdefault("name", f"anthropic:{model}" if is_default else f"anthropic:{model} at {without_secrets(base)}")
    known = Abilities(tools=True, stream=True, reasoning="claude-3-5" not in model)
    return Remote(WIRE, model, base_url=base, api_key=api_key, key_name=key_name, known=known, **more)


# -- the request -------------------------------------------------------------------------------------------------------


class Messages:
    """The messages API. Turns alternate: results, and what the user says next, are one turn of the user."""

    provider = "anthropic"
    splits_system = True
    merged_field = "content"

    def path(self) -> str:
        """Return the path of requests, below the base URL."""
        return "/v1/messages"

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key and the version."""
        return {"anthropic-version": VERSION, "accept": "text/event-stream", **({"x-api-key": key} if key else {})}

    def message(self, view: View, host: str) -> dict[str, Any]:
        """Return a message as blocks."""
        if view["role"] == "assistant":
            return {"role": "assistant", "content": _assistant_blocks(view, host)}
        if view["role"] == "tool":
            result = {"type": "tool_result", "tool_use_id": view["tool_call_id"], "content": view["content"]}
            return {"role": "user", "content": [result]}
        text = view["content"]
        return {"role": "user", "content": [{"type": "text", "text": text}] if text.strip() else []}

    def body(self, request: Request, model: str, system: str, messages: Any) -> dict[str, Any]:
        """Return the JSON of a request for a stream."""
        body: dict[str, Any] = {"model": model, "max_tokens": MAX_TOKENS}
        if system:
            body["system"] = [{"type": "text", "text": system}]
        body["messages"] = messages
        if tools := request.tools:
            body["tools"] = [_tool(tool["function"]) for tool in tools]
            if request.choice != "auto":
                body["tool_choice"] = tool_choice(request.choice)
        if request.stop:
            body["stop_sequences"] = list(request.stop)
        return {**body, "cache_control": CACHE, "stream": True}  # marks the end of the chat

    def with_settings(self, body: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
        """Return the body with settings as they are, the cache marks, and room for a reply that is longer than its
        thinking.
        """
        written = {**body, **settings}
        marked = next((name for name in ("system", "tools") if isinstance(written.get(name), list)), "")
        if written.get("cache_control") and marked:  # tools precede the system, so one mark is enough for both
            *others, last = written[marked]
            written[marked] = [*others, {**last, "cache_control": written["cache_control"]}]
        thinking = written.get("thinking")
        budget = thinking.get("budget_tokens", 0) if isinstance(thinking, dict) else 0
        if "max_tokens" not in settings and budget >= written["max_tokens"]:
            written["max_tokens"] = budget + MAX_TOKENS
        return written

    def parser(self, host: str, cost: Cost) -> MessageParser:
        """Return a parser for one reply."""
        return MessageParser(host, cost)


WIRE = Messages()


def tool_choice(choice: str) -> dict[str, Any]:
    """Return which tool must be called: none, any, or the one with this name."""
    if choice in ("none", "required"):
        return {"type": "none" if choice == "none" else "any"}
    return {"type": "tool", "name": choice}


def _tool(function: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": function["name"],
        "description": function.get("description", ""),
        "input_schema": function["parameters"],
    }


def _assistant_blocks(view: View, host: str) -> list[dict[str, Any]]:
    """Return a message of the model: as it came, with its signed thinking, if that is still what the message says."""
    text = (view.get("content") or "").rstrip()
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text.strip() else []
    for call in view.get("tool_calls") or ():
        function = call["function"]
        arguments = json.loads(function["arguments"])
        blocks.append({"type": "tool_use", "id": call["id"], "name": function["name"], "input": arguments})
    opaque = view.get("opaque")
    if isinstance(opaque, dict) and opaque.get("provider") == host and _say_the_same(opaque.get("blocks"), blocks):
        return [block for block in opaque["blocks"] if block.get("type") != "text" or block.get("text", "").strip()]
    return blocks


def _say_the_same(original: Any, blocks: list[dict[str, Any]]) -> bool:
    """Return whether the original blocks still are what the message says: a person may have edited it since."""

    def essence(blocks: list[Any]) -> tuple[str, list[Any]]:
        text = "".join(block.get("text", "") for block in blocks if block.get("type") == "text")
        calls = [(block.get("id"), block.get("input")) for block in blocks if block.get("type") == "tool_use"]
        return text.strip(), calls

    is_readable = isinstance(original, list) and all(isinstance(block, dict) for block in original)
    return is_readable and essence(original) == essence(blocks)


# -- the reply ---------------------------------------------------------------------------------------------------------

_GROWING_FIELDS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class MessageParser:
    """One message that is arriving, in events or whole. In events it is whole with `message_stop`, and not before."""

    __slots__ = (
        *("_blocks", "_cost", "_counts", "_host", "_inputs", "_started", "_stop_reason", "_without_input"),
        *("acted", "finish", "in_one_piece"),
    )

    def __init__(self, host: str, cost: Cost) -> None:
        self.finish = ""
        self.acted = False
        self.in_one_piece = False
        self._started = False
        self._host = host
        self._cost = cost
        self._stop_reason = ""
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, list[str]] = {}
        self._without_input: list[int] = []  # calls whose arguments never came
        self._counts: dict[str, Any] = {}

    def event(self, kind: str, data: dict[str, Any]) -> Iterator[Chunk]:
        """Yield the chunks in one event, or in a whole message; nothing after the end of the message belongs to it."""
        if self.finish:
            return
        kind = string(data.get("type")) or kind
        if kind == "content_block_delta":
            yield from self._delta(_index(data), mapping(data.get("delta")))
        elif kind == "content_block_start":
            yield from self._start(_index(data), mapping(data.get("content_block")))
        elif kind == "content_block_stop":
            self._stop(_index(data))
        elif kind == "message_start":
            if self._started or self._blocks:
                raise BrokenReply("began a second message before the first was whole")
            self._started = True
            self._count(mapping(data.get("message")).get("usage"))
            yield Chunk(usage=self._usage())
        elif kind == "message_delta":
            self._stop_reason = string(mapping(data.get("delta")).get("stop_reason")) or self._stop_reason
            self._count(data.get("usage"))
        elif kind == "message_stop":
            yield from self._end()
        elif kind == "message":
            yield from self._whole(data)
        elif (error := error_in(data, is_reply=False)) is not None or kind == "error":
            raise HostError(data if error is None else error)

    def end_marker(self) -> Iterator[Chunk]:
        """Take `[DONE]`, with which some gateways end, as the end if a stop reason came."""
        if self._stop_reason and not self.finish:
            yield from self._end()

    def _start(self, index: int, block: dict[str, Any]) -> Iterator[Chunk]:
        self._blocks[index] = dict(block)
        kind = string(block.get("type"))
        if kind == "tool_use":
            yield Chunk(call=CallDelta(index, string(block.get("id")), string(block.get("name"))))
        elif "tool" in kind:
            self.acted = True  # a tool that runs at the host
        if kind in ("text", "thinking") and (text := string(block.get(kind))):
            yield Chunk(text) if kind == "text" else Chunk(reasoning=text)

    def _delta(self, index: int, delta: dict[str, Any]) -> Iterator[Chunk]:
        kind = string(delta.get("type"))
        block = self._blocks.setdefault(index, {"type": "text", "text": ""} if kind == "text_delta" else {})
        if name := _GROWING_FIELDS.get(kind):
            piece = string(delta.get(name))
            block[name] = string(block.get(name)) + piece
            if kind == "text_delta":
                yield Chunk(piece)
            elif kind == "thinking_delta":
                yield Chunk(reasoning=piece)
        elif kind == "input_json_delta":
            piece = string(delta.get("partial_json"))
            self._inputs.setdefault(index, []).append(piece)
            if piece and block.get("type") == "tool_use":
                yield Chunk(call=CallDelta(index, arguments=piece))
        elif kind == "citations_delta":
            block["citations"] = [*items(block.get("citations")), delta.get("citation")]
        else:
            block.update({name: value for name, value in delta.items() if name != "type"})

    def _stop(self, index: int) -> None:
        block = self._blocks.get(index, {})
        if "tool_use" not in string(block.get("type")):
            return
        written = "".join(self._inputs.get(index, ()))
        if not written and block.get("type") == "tool_use":
            self._without_input.append(index)
        elif written:
            try:
                block["input"] = json.loads(written)
            except (ValueError, RecursionError):
                block["input"] = {}  # it was cut off; the call itself has this problem, and is not run

    def _end(self) -> Iterator[Chunk]:
        self.finish = finish_reasons.normalized(self._stop_reason) or "stop"
        yield from self._missing_inputs()
        yield Chunk(usage=self._usage(), finish=self.finish, opaque=self._opaque())

    def _missing_inputs(self) -> Iterator[Chunk]:
        """Yield the arguments with which a call began, if no others came; those of the last call may
        have been cut off.
        """
        is_whole = finish_reasons.is_whole(self.finish)
        for index in self._without_input:
            arguments = self._blocks[index].get("input") or {}
            if arguments or is_whole or index != max(self._blocks):
                yield Chunk(call=CallDelta(index, arguments=json.dumps(arguments)))

    def _whole(self, data: dict[str, Any]) -> Iterator[Chunk]:
        if self._blocks:
            raise BrokenReply("sent a whole message in the middle of another")
        for index, block in enumerate(items(data.get("content"))):
            if isinstance(block, dict):
                yield from self._start(index, block)
                self._stop(index)
        self._stop_reason = string(data.get("stop_reason"))
        self._count(data.get("usage"))
        yield from self._end()

    def _count(self, usage: Any) -> None:
        """Take over the counts of tokens; the last report of each counts."""
        self._counts.update({name: value for name, value in mapping(usage).items() if isinstance(value, int)})

    def _usage(self) -> Usage | None:
        counts = self._counts
        cached = number(counts.get("cache_read_input_tokens"))
        stored = number(counts.get("cache_creation_input_tokens"))
        tokens = number(counts.get("input_tokens")) + cached + stored
        output = number(counts.get("output_tokens"))
        return self._cost(Usage(tokens, output, cached), stored) if tokens or output else None

    def _opaque(self) -> Any:
        """Return all blocks if some are more than text and calls: they go back as they came."""
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        if all(block.get("type") in ("text", "tool_use") and not block.get("citations") for block in blocks):
            return None
        return {"provider": self._host, "blocks": blocks}


def _index(data: dict[str, Any]) -> int:
    index = data.get("index")
    return index if isinstance(index, int) else 0
