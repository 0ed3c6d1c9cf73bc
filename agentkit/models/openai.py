"""OpenAI's chat completions, and every server that speaks them: vLLM, llama.cpp, LM Studio, gateways.

The API: https://platform.openai.com/docs/api-reference/chat. Servers send more than it says, and all of it is read:
several calls under one index, names in every piece, no index, no finish reason but `[DONE]`, content as a list of
parts, the whole message beside each piece or after the last.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agentkit.core import finish_reasons
from agentkit.core.checked_arguments import checked
from agentkit.core.usage import Usage
from agentkit.models.base import Abilities, CallDelta, Chunk, Request
from agentkit.models.dialects.rendering import View
from agentkit.models.error_objects import error_in
from agentkit.models.json_fields import items, mapping, money, number, string
from agentkit.models.remote import Remote
from agentkit.models.urls import base_of, without_secrets
from agentkit.models.wire import Cost, HostError
from agentkit.tools.call_parsing import ARGUMENT_KEYS

BASE = "https://api.openai.com/v1"
_PATH = "/chat/completions"
_REASONING_MODEL = re.compile(r"(?:^|/)(?:o[1-9](?:$|-)|gpt-(?:[5-9]|\d\d)(?!.*-chat))")


@checked
def OpenAI(
    model: str, *, base_url: str | None = None, api_key: str | None = None, key_name: str | None = None, **more: Any
) -> Remote:
    """Return a model of OpenAI, or with `base_url` of any server with the same API; `more` is passed on to `Remote`.

    `OPENAI_API_KEY` is sent to OpenAI and to the host of `OPENAI_BASE_URL`, and nowhere else: for another host give
    `api_key`, or the name of its environment variable as `key_name`. If another host's JSON mode follows a schema, say
    so with `abilities={"schema": True}`.
    """
    default = os.environ.get("OPENAI_BASE_URL", "").strip() or BASE
    base = base_of(base_url or default, _PATH)
    is_default = base in (base_of(default, _PATH), BASE)
    if key_name is None:
        key_name = "OPENAI_API_KEY" if is_default and api_key is None else ""
    reasons = bool(_REASONING_MODEL.search(model))
    more.setdefault("name", f"openai:{model}" if is_default else f"{without_secrets(base)}#{model}")
    more.setdefault("without", ("stop",) if reasons else ())
    known = Abilities(tools=True, json=True, stream=True, reasoning=reasons, schema=base == base_of(BASE, _PATH))
    return Remote(WIRE, model, base_url=base, api_key=api_key, key_name=key_name, known=known, **more)


# -- the request -------------------------------------------------------------------------------------------------------


class ChatCompletions:
    """The API of chat completions."""

    provider = "openai"
    splits_system = False
    merged_field = ""

    def path(self) -> str:
        """Return the path of requests, below the base URL."""
        return _PATH

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key, and the one that asks for a stream."""
        return {"accept": "text/event-stream", **({"authorization": f"Bearer {key}"} if key else {})}

    def message(self, view: View, host: str) -> dict[str, Any]:
        """Return a message without the fields that this API does not know, and with what this host wants back."""
        left_out = ("opaque", "name") if view["role"] == "tool" else ("opaque",)
        message = {name: value for name, value in view.items() if name not in left_out}
        opaque = view.get("opaque")
        if isinstance(opaque, dict) and opaque.get("provider") == host:
            message |= opaque.get("message", {})
        return message

    def body(self, request: Request, model: str, system: str, messages: Any) -> dict[str, Any]:
        """Return the JSON of a request for a stream."""
        body: dict[str, Any] = {"model": model, "messages": messages}
        if tools := request.tools:
            body["tools"] = tools
            if request.choice != "auto":
                body["tool_choice"] = tool_choice(request.choice)
        if request.stop:
            body["stop"] = list(request.stop)
        if request.is_json:
            body["response_format"] = {"type": "json_object"}
        if shape := request.constraint:
            wanted = {"name": shape.name, "schema": shape.parameters}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        return {**body, "stream": True, "stream_options": {"include_usage": True}}

    def with_settings(self, body: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
        """Return the body with settings as they are; they take precedence over what agentkit sends."""
        return {**body, **settings}

    def parser(self, host: str, cost: Cost) -> CompletionParser:
        """Return a parser for one reply."""
        return CompletionParser(host, cost)


WIRE = ChatCompletions()


def tool_choice(choice: str) -> Any:
    """Return which tool must be called: none, any, or the one with this name."""
    return choice if choice in ("none", "required") else {"type": "function", "function": {"name": choice}}


# -- the reply ---------------------------------------------------------------------------------------------------------


class CompletionParser:
    """One chat completion that is arriving, in pieces or whole. If there are several choices, the first one counts."""

    __slots__ = (
        *("_cost", "_host", "_last_index", "_next_index", "_refused", "_sent", "_signed_details"),
        *("acted", "finish", "in_one_piece"),
    )

    def __init__(self, host: str, cost: Cost) -> None:
        self.finish = ""
        self.acted = False
        self.in_one_piece = False
        self._host = host
        self._cost = cost
        self._next_index = 0
        self._last_index = 0
        self._sent: set[str] = set()  # the fields of the message of which something has arrived
        self._refused = False
        self._signed_details: list[Any] = []

    def event(self, kind: str, data: dict[str, Any]) -> Iterator[Chunk]:
        """Yield the chunks in one piece of a completion, or in a whole one."""
        choices = items(data.get("choices"))
        if (data.get("error") or kind == "error" or not choices) and not self.finish:
            error = error_in(data, is_reply=bool(choices or data.get("usage")))
            if error is not None or kind == "error":
                raise HostError(data if error is None else error)
        usage = self._usage(data.get("usage"))
        choice = next((each for each in choices if isinstance(each, dict) and not each.get("index")), None)
        if choice is None:
            if usage:
                yield Chunk(usage=usage)
            return
        if choice.get("error") and not self.finish:
            raise HostError(error_in(choice, is_reply=True))
        finish = string(choice.get("finish_reason"))
        delta, message = choice.get("delta"), choice.get("message")
        if isinstance(delta, dict):
            self._sent.update([name for name, value in delta.items() if value])
            yield from self._delta(delta)
        if isinstance(message, dict) and (finish or not isinstance(delta, dict)):
            self.in_one_piece = not self._sent
            yield from self._delta({name: value for name, value in message.items() if name not in self._sent}, True)
        if finish:
            if finish_reasons.gave_up(finish):
                yield Chunk(usage=usage)
                raise HostError(finish_reasons.as_host_error(finish))
            self.finish = "refusal" if self._refused and finish == "stop" else finish_reasons.normalized(finish)
        if finish or usage:
            yield Chunk(usage=usage, finish=self.finish if finish else "", opaque=self._opaque() if finish else None)

    def end_marker(self) -> Iterator[Chunk]:
        """Take `[DONE]` as the end, even if no finish reason came, unless nothing has arrived at all."""
        if not self.finish and (self.in_one_piece or self._sent - {"role"}):
            self.finish = "tool_calls" if self._next_index and not self.in_one_piece else "stop"
            yield Chunk(finish=self.finish)

    def _delta(self, delta: dict[str, Any], is_whole: bool = False) -> Iterator[Chunk]:
        content = delta.get("content")
        text, thought = (content, "") if isinstance(content, str) else _text_and_thinking(content)
        refusal = string(delta.get("refusal"))
        if refusal:
            self._refused = True
        thought = string(delta.get("reasoning_content")) or string(delta.get("reasoning")) or thought
        self._signed_details += items(delta.get("reasoning_details"))
        if text or thought or refusal:
            yield Chunk(text + refusal, thought)
        if calls := delta.get("tool_calls"):
            for position, call in enumerate(_listed(calls)):
                if isinstance(call, dict):
                    yield Chunk(call=self._call(call, is_whole, is_first=position == 0))
        legacy = delta.get("function_call")
        if isinstance(legacy, dict) and (legacy.get("name") or self._next_index):
            yield Chunk(call=self._call({"index": 0, "function": legacy}))

    def _call(self, call: dict[str, Any], is_whole: bool = False, is_first: bool = True) -> CallDelta:
        """Return a piece of a call; one without an index has that of the last, unless it surely begins another call."""
        inner = call.get("function")
        function = inner if isinstance(inner, dict) else call
        id, name = string(call.get("id")), string(function.get("name"))
        arguments = next((value for key in ARGUMENT_KEYS if (value := function.get(key)) is not None), None)
        index = call.get("index")
        if is_whole or not isinstance(index, int):
            index = self._next_index if is_whole or (name and not is_first) else self._last_index
        self._last_index, self._next_index = index, max(self._next_index, index + 1)
        if isinstance(arguments, dict | list):
            arguments = json.dumps(arguments)
        return CallDelta(index, id, name, string(arguments))

    def _usage(self, data: Any) -> Usage | None:
        if not isinstance(data, dict):
            return None
        input_details, output_details = (
            mapping(data.get("prompt_tokens_details")),
            mapping(data.get("completion_tokens_details")),
        )
        tokens, output = number(data.get("prompt_tokens")), number(data.get("completion_tokens"))
        cached, reasoning = number(input_details.get("cached_tokens")), number(output_details.get("reasoning_tokens"))
        usage = Usage(tokens, output, min(tokens, cached), reasoning, money(data.get("cost")))
        billed = usage
        if number(data.get("total_tokens")) == tokens + output + reasoning:  # some hosts count reasoning apart
            billed = replace(usage, output=output + reasoning)
        return replace(usage, cost=self._cost(billed, 0).cost) if usage.total else None

    def _opaque(self) -> Any:
        """Return what is signed or encrypted in the reasoning, for this host alone."""
        details = [each for each in self._signed_details if isinstance(each, dict)]
        if not any(each.get("signature") or each.get("data") for each in details):
            return None
        return {"provider": self._host, "message": {"reasoning_details": joined_details(details)}}


def joined_details(details: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join the pieces of streamed reasoning: those with the same index and type belong together."""
    joined: dict[tuple[str, str], dict[str, Any]] = {}
    for piece in details:
        whole = joined.setdefault((str(piece.get("index")), str(piece.get("type"))), {})
        for name, value in piece.items():
            before = whole.get(name)
            grows = name in ("text", "summary", "data") and isinstance(value, str) and isinstance(before, str)
            if value is not None:
                whole[name] = before + value if grows else value
    return list(joined.values())


def _listed(calls: Any) -> list[Any]:
    """Return the calls of a message; some hosts send an object instead of a list: one call, or calls by their index."""
    if isinstance(calls, dict):
        return [calls] if "function" in calls or "name" in calls else list(calls.values())
    return items(calls)


def _text_and_thinking(content: Any) -> tuple[str, str]:
    """Return the text, and apart from it the thinking, of content that comes as a list of parts."""
    text, thought = [], []
    for part in items(content):
        if isinstance(part, str):
            text.append(part)
        elif isinstance(part, dict):
            if part.get("type") == "thinking":
                inner = part.get("thinking")
                thought.append(inner if isinstance(inner, str) else _text_and_thinking(inner)[0])
            else:
                text.append(string(part.get("text")))
    return "".join(text), "".join(thought)
