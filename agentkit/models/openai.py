"""OpenAI's chat completions, and every server that speaks them: vLLM, llama.cpp, LM Studio, gateways.

The API: https://platform.openai.com/docs/api-reference/chat. What servers really send is wider, and is read as such:
arguments of several calls under one index, names in every piece, no index, no finish reason but `[DONE]`, parts as content.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agentkit.core.usage import Usage
from agentkit.models import finish_reasons
from agentkit.models.base import Abilities, CallDelta, Chunk, Request
from agentkit.models.remote import Remote
from agentkit.models.wire import Said, based, items, money, number, plain, text_of

BASE = "https://api.openai.com/v1"
_REASONS = re.compile(r"(?:^|/)(?:o[1-9](?:$|-)|gpt-(?:[5-9]|\d\d)(?!.*-chat))")


def OpenAI(
    model: str, *, base_url: str | None = None, api_key: str | None = None, key_name: str | None = None, **more: Any
) -> Remote:
    """Give a model of OpenAI, or with `base_url` of any server that speaks the same; `more` is what `Remote` takes.

    `OPENAI_API_KEY` is sent to OpenAI and to the host of `OPENAI_BASE_URL`, and nowhere else: for another host give
    `api_key`, or the name of its environment variable as `key_name`.
    """
    usual = os.environ.get("OPENAI_BASE_URL", "").strip() or BASE
    base = based(base_url or usual, "/chat/completions")
    own = base in (based(usual, "/chat/completions"), BASE)
    if key_name is None:
        key_name = "OPENAI_API_KEY" if own and api_key is None else ""
    reasons = bool(_REASONS.search(model))
    more.setdefault("name", f"openai:{model}" if own else f"{plain(base)}#{model}")
    more.setdefault("without", ("stop",) if reasons else ())
    known = Abilities(tools=True, json=True, stream=True, reasoning=reasons)
    return Remote(WIRE, model, base_url=base, api_key=api_key, key_name=key_name, known=known, **more)


class Completions:
    """The wire of chat completions."""

    provider = "openai"

    def path(self) -> str:
        """Where requests go, below the base URL."""
        return "/chat/completions"

    def headers(self, key: str) -> dict[str, str]:
        """Carry the key."""
        return {"accept": "text/event-stream", **({"authorization": f"Bearer {key}"} if key else {})}

    def body(self, request: Request, model: Remote) -> dict[str, Any]:
        """Write a request, always as a stream."""
        body: dict[str, Any] = {"model": model.model, "messages": [_message(each, model) for each in request.messages]}
        if tools := request.tools:
            body["tools"] = tools
            if request.choice != "auto":
                body["tool_choice"] = choice_of(request.choice)
        if request.stop:
            body["stop"] = list(request.stop)
        if request.dialect.json_mode and request.offered:
            body["response_format"] = {"type": "json_object"}
        return {**body, "stream": True, "stream_options": {"include_usage": True}}

    def adjust(self, body: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
        """Add settings as they are; they go before what agentkit says."""
        return {**body, **settings}

    def reading(self, model: Remote) -> Completion:
        """Begin to read a reply."""
        return Completion(model)


WIRE = Completions()


def choice_of(choice: str) -> Any:
    """Say which tool is to be called: none, any, or the one of that name."""
    return choice if choice in ("none", "required") else {"type": "function", "function": {"name": choice}}


def _message(message: dict[str, Any], model: Remote) -> dict[str, Any]:
    """Write one message without what this API does not take, and with what this very host gave to be given back."""
    left_out = ("opaque", "name") if message["role"] == "tool" else ("opaque",)
    written = {name: value for name, value in message.items() if name not in left_out}
    opaque = message.get("opaque")
    if isinstance(opaque, dict) and opaque.get("provider") == model.place.host:
        written |= opaque.get("message", {})
    return written


class Completion:
    """One chat completion that is arriving, in pieces or whole. Of several choices the first counts."""

    __slots__ = ("_calls", "_details", "_last", "_refused", "acted", "finish", "model")

    def __init__(self, model: Remote) -> None:
        self.model = model
        self.finish = ""
        self.acted = False
        self._calls = 0
        self._last: dict[str, Any] = {"id": "", "name": "", "index": -1, "args": False}
        self._refused = False
        self._details: list[Any] = []

    def event(self, kind: str, data: dict[str, Any]) -> Iterator[Chunk]:
        """Read one chunk, or a whole completion."""
        if ((error := data.get("error")) or kind == "error") and not self.finish:
            raise Said(error if isinstance(error, dict) else {"message": str(error or data.get("message") or data)})
        usage = self._usage(data.get("usage"))
        choices = items(data.get("choices"))
        choice = next((one for one in choices if isinstance(one, dict) and not one.get("index")), None)
        if choice is None:
            if usage:
                yield Chunk(usage=usage)
            return
        whole = choice.get("message")
        delta = whole if isinstance(whole, dict) else choice.get("delta")
        if isinstance(delta, dict):
            yield from self._delta(delta)
        finish = text_of(choice.get("finish_reason")) or ("stop" if whole and not self.finish else "")
        if finish:
            if finish_reasons.gave_up(finish):
                yield Chunk(usage=usage)
                raise Said(finish_reasons.said(finish))
            self.finish = "refusal" if self._refused and finish == "stop" else finish_reasons.named(finish)
        if finish or usage:
            yield Chunk(usage=usage, finish=self.finish if finish else "", opaque=self._opaque() if finish else None)

    def _delta(self, delta: dict[str, Any]) -> Iterator[Chunk]:
        content = delta.get("content")
        text, thought = (content, "") if isinstance(content, str) else _parts(content)
        refusal = text_of(delta.get("refusal"))
        if refusal:
            self._refused = True
        thought = text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning")) or thought
        self._details += items(delta.get("reasoning_details"))
        if text or thought or refusal:
            yield Chunk(text + refusal, thought)
        for call in items(delta.get("tool_calls")):
            if isinstance(call, dict):
                yield Chunk(call=self._call(call))
        legacy = delta.get("function_call")
        if isinstance(legacy, dict) and (legacy.get("name") or self._last["name"]):
            yield Chunk(call=self._call({"index": 0, "function": legacy}))

    def _call(self, call: dict[str, Any]) -> CallDelta:
        """Read a piece of a call; one without an index belongs to the last, unless it has an id or a name of its own."""
        inner = call.get("function")
        function = inner if isinstance(inner, dict) else call
        id, name, arguments = text_of(call.get("id")), text_of(function.get("name")), function.get("arguments")
        index, last = call.get("index"), self._last
        if not isinstance(index, int):
            is_new = last["index"] < 0 or (id and id != last["id"]) or (name and not id and last["args"])
            index = self._calls if is_new else last["index"]
        self._calls = max(self._calls, index + 1)
        if isinstance(arguments, dict | list):
            import json

            arguments = json.dumps(arguments)
        self._last = {"id": id or last["id"], "name": name or last["name"], "index": index, "args": bool(arguments)}
        return CallDelta(index, id, name, text_of(arguments))

    def done(self) -> Iterator[Chunk]:
        """Take `[DONE]` as the end, also where no finish reason came."""
        if not self.finish:
            self.finish = "tool_calls" if self._calls else "stop"
            yield Chunk(finish=self.finish)

    def _usage(self, data: Any) -> Usage | None:
        if not isinstance(data, dict):
            return None
        read, written = _dict(data.get("prompt_tokens_details")), _dict(data.get("completion_tokens_details"))
        tokens, output = number(data.get("prompt_tokens")), number(data.get("completion_tokens"))
        cached, thought = number(read.get("cached_tokens")), number(written.get("reasoning_tokens"))
        usage = Usage(tokens, output, min(tokens, cached), thought, money(data.get("cost")))
        apart = (
            number(data.get("total_tokens")) == tokens + output + thought
        )  # some hosts count thinking apart, and bill it
        cost = self.model.cost(replace(usage, output=output + thought) if apart else usage).cost
        return replace(usage, cost=cost) if usage.total else None

    def _opaque(self) -> Any:
        """Keep what is signed or encrypted in the thinking, for this host alone."""
        if not any(isinstance(one, dict) and (one.get("signature") or one.get("data")) for one in self._details):
            return None
        return {"provider": self.model.place.host, "message": {"reasoning_details": joined(self._details)}}


def joined(details: list[Any]) -> list[Any]:
    """Put the pieces of streamed thinking together: those of one index and type are one."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for piece in details:
        if isinstance(piece, dict):
            whole = found.setdefault((str(piece.get("index")), str(piece.get("type"))), {})
            for name, value in piece.items():
                grows = (
                    name in ("text", "summary", "data") and isinstance(value, str) and isinstance(whole.get(name), str)
                )
                if value is not None:
                    whole[name] = whole[name] + value if grows else value
    return list(found.values())


def _parts(content: Any) -> tuple[str, str]:
    """Read content that comes as a list of parts: text, and thinking."""
    text, thought = [], []
    for part in items(content):
        if isinstance(part, str):
            text.append(part)
        elif isinstance(part, dict):
            if part.get("type") == "thinking":
                inner = part.get("thinking")
                thought.append(inner if isinstance(inner, str) else _parts(inner)[0])
            else:
                text.append(text_of(part.get("text")))
    return "".join(text), "".join(thought)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
