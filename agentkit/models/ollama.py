"""Ollama's own API: https://github.com/ollama/ollama/blob/main/docs/api.md."""

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
from agentkit.models.json_fields import items, number, string
from agentkit.models.remote import Remote
from agentkit.models.urls import base_of, without_secrets
from agentkit.models.wire import Cost, HostError

_SUFFIXES = ("/api/chat", "/api", "/v1")
"""What people copy after the address of a server."""

_TOP_LEVEL = ("format", "keep_alive", "logprobs", "raw", "template", "think", "top_logprobs")
"""Settings of a request itself; all others are `options` of the model."""


@checked
def Ollama(
    model: str, *, base_url: str | None = None, api_key: str | None = None, key_name: str = "", **more: Any
) -> Remote:
    """Return a model of an Ollama server: the one on this machine, or that in `OLLAMA_HOST`. `more` is passed on to
    `Remote`.

    Settings such as `num_ctx` go into its options. Unless told otherwise, Ollama reads 4,096 tokens and silently
    forgets the beginning of a longer chat: `settings={"num_ctx": 32768}` if your machine has the memory for it.
    """
    default = server_url()
    address = base_of(base_url, *_SUFFIXES) if base_url else default
    more.setdefault(
        "name", f"ollama:{model}" if address == default else f"ollama:{model} at {without_secrets(address)}"
    )
    known = Abilities(tools=True, json=True, stream=True, schema=True, temperature=True)
    return Remote(WIRE, model, base_url=address, api_key=api_key, key_name=key_name, known=known, **more)


def server_url() -> str:
    """Return the URL of the Ollama server. Its own variable OLLAMA_HOST may hold a host, host:port or URL."""
    scheme, _, rest = base_of(os.environ.get("OLLAMA_HOST", ""), *_SUFFIXES).rpartition("://")
    address, slash, path = rest.partition("/")
    if address.count(":") > 1 and not set("[@") & set(address):
        address = f"[{address}]"  # an IPv6 address by itself
    host, _, port = (address, "", "") if ":" not in address or address.endswith("]") else address.rpartition(":")
    host = "127.0.0.1" if host in ("0.0.0.0", "[::]", "") else host
    default_port = {"http": "80", "https": "443"}.get(scheme.lower(), "11434")
    return f"{scheme.lower() or 'http'}://{host}:{port or default_port}{slash}{path}"


# -- the request -------------------------------------------------------------------------------------------------------


class ChatApi:
    """The API of Ollama's chat."""

    provider = "ollama"
    splits_system = False
    merged_field = ""

    def path(self) -> str:
        """Return the path of requests, below the base URL."""
        return "/api/chat"

    def headers(self, key: str) -> dict[str, str]:
        """Return the header that carries the key, if there is one."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def message(self, view: View, host: str) -> dict[str, Any]:
        """Return a message; calls have no ids here, and results name their tool."""
        message: dict[str, Any] = {"role": view["role"], "content": view.get("content") or ""}
        if view["role"] == "tool":
            message["tool_name"] = view.get("name", "")
        if calls := view.get("tool_calls"):
            functions = [call["function"] for call in calls]
            message["tool_calls"] = [
                {"function": {"name": each["name"], "arguments": json.loads(each["arguments"])}} for each in functions
            ]
        return message

    def body(self, request: Request, model: str, system: str, messages: Any) -> dict[str, Any]:
        """Return the JSON of a request for a stream."""
        body: dict[str, Any] = {"model": model, "messages": messages}
        if request.tools and request.choice != "none":
            body["tools"] = request.tools
        if request.is_json:
            body["format"] = request.constraint.parameters if request.constraint else "json"
        if request.stop:
            body["options"] = {"stop": list(request.stop)}
        return {**body, "stream": True}

    def with_settings(self, body: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
        """Return the body with settings: those of the request at the top level, those of the model
        among its options.
        """
        top_level = {name: value for name, value in settings.items() if name in _TOP_LEVEL}
        others = {name: value for name, value in settings.items() if name not in _TOP_LEVEL}
        options = {**body.get("options", {}), **others}
        return {**body, **top_level, **({"options": options} if options else {})}

    def parser(self, host: str, cost: Cost) -> ChatParser:
        """Return a parser for one reply."""
        return ChatParser(cost)


WIRE = ChatApi()


# -- the reply ---------------------------------------------------------------------------------------------------------


class ChatParser:
    """One reply that is arriving, as JSON lines; the last one says that it is done."""

    __slots__ = ("_calls", "_cost", "acted", "finish", "in_one_piece")

    def __init__(self, cost: Cost) -> None:
        self.finish = ""
        self.acted = False
        self.in_one_piece = False
        self._cost = cost
        self._calls = 0

    def event(self, kind: str, data: dict[str, Any]) -> Iterator[Chunk]:
        """Yield the chunks in one line; the last one is known by `done`, and nothing after it belongs to the reply."""
        if self.finish:
            return
        message = data.get("message")
        if (error := error_in(data, is_reply=isinstance(message, dict) or "done" in data)) is not None:
            raise HostError(error)
        if isinstance(message, dict):
            text, thought = string(message.get("content")), string(message.get("thinking"))
            if text or thought:
                yield Chunk(text, thought)
            for call in items(message.get("tool_calls")):
                function = call.get("function") if isinstance(call, dict) else None
                if isinstance(function, dict):
                    yield Chunk(call=self._call(string(call.get("id")), function))
        if data.get("done") is True:
            yield from self._end(data)

    def end_marker(self) -> Iterator[Chunk]:
        """Yield nothing: this API has no other end than its last line."""
        yield from ()

    def _call(self, id: str, function: dict[str, Any]) -> CallDelta:
        """Return a call; here each one comes whole."""
        arguments = function.get("arguments")
        written = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
        self._calls += 1
        return CallDelta(self._calls - 1, id, string(function.get("name")), written)

    def _end(self, data: dict[str, Any]) -> Iterator[Chunk]:
        reason = string(data.get("done_reason"))
        counts = Usage(number(data.get("prompt_eval_count")), number(data.get("eval_count")))
        usage = self._cost(counts, 0) if counts.total else None
        if finish_reasons.gave_up(reason):
            yield Chunk(usage=usage)
            raise HostError(finish_reasons.as_host_error(reason))
        has_calls = self._calls and reason != "length"
        self.finish = "tool_calls" if has_calls else finish_reasons.normalized(reason) or "stop"
        yield Chunk(usage=usage, finish=self.finish)
