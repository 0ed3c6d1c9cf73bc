"""Ollama's own API: https://github.com/ollama/ollama/blob/main/docs/api.md."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from agentkit.core.usage import Usage
from agentkit.models import finish_reasons
from agentkit.models.base import Abilities, CallDelta, Chunk, Request
from agentkit.models.remote import Remote
from agentkit.models.wire import Said, based, items, number, plain, text_of

_ENDS = ("/api/chat", "/api", "/v1")
"""What people copy behind the address of a server."""
_TOP = ("format", "keep_alive", "logprobs", "raw", "template", "think", "top_logprobs")
"""Settings that stand beside the model; all others are its `options`."""


def Ollama(
    model: str, *, base_url: str | None = None, api_key: str | None = None, key_name: str = "", **more: Any
) -> Remote:
    """Give a model of an Ollama server; `OLLAMA_HOST` names another than the one on this machine. `more` is what `Remote` takes.

    Settings such as `num_ctx` go into its options. Ollama reads 4,096 tokens unless told otherwise, and forgets the beginning
    of a longer chat without a word: `settings={"num_ctx": 32768}` if your machine can hold it.
    """
    own = base()
    address = based(base_url, *_ENDS) if base_url else own
    more.setdefault("name", f"ollama:{model}" if address == own else f"ollama:{model} at {plain(address)}")
    known = Abilities(tools=True, json=True, stream=True)
    return Remote(WIRE, model, base_url=address, api_key=api_key, key_name=key_name, known=known, **more)


def base() -> str:
    """Give the address of the Ollama server, as its own variable names it: host, host:port or URL."""
    scheme, _, rest = based(os.environ.get("OLLAMA_HOST", ""), *_ENDS).rpartition("://")
    address, slash, path = rest.partition("/")
    if address.count(":") > 1 and not set("[@") & set(address):
        address = f"[{address}]"  # an IPv6 address by itself
    host, _, port = (address, "", "") if ":" not in address or address.endswith("]") else address.rpartition(":")
    host = "127.0.0.1" if host in ("0.0.0.0", "[::]", "") else host
    usual = {"http": "80", "https": "443"}.get(scheme.lower(), "11434")
    return f"{scheme.lower() or 'http'}://{host}:{port or usual}{slash}{path}"


class Conversation:
    """The wire of Ollama's chat."""

    provider = "ollama"

    def path(self) -> str:
        """Where requests go, below the base URL."""
        return "/api/chat"

    def headers(self, key: str) -> dict[str, str]:
        """Carry the key, where a server has one."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def body(self, request: Request, model: Remote) -> dict[str, Any]:
        """Write a request, always as a stream."""
        body: dict[str, Any] = {"model": model.model, "messages": [_message(each) for each in request.messages]}
        if request.tools and request.choice != "none":
            body["tools"] = request.tools
        if request.dialect.json_mode and request.offered:
            body["format"] = "json"
        if request.stop:
            body["options"] = {"stop": list(request.stop)}
        return {**body, "stream": True}

    def adjust(self, body: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
        """Add settings: the server's beside the model, the model's among its options."""
        top = {name: value for name, value in settings.items() if name in _TOP}
        options = {**body.get("options", {}), **{name: value for name, value in settings.items() if name not in _TOP}}
        return {**body, **top, **({"options": options} if options else {})}

    def reading(self, model: Remote) -> Answer:
        """Begin to read a reply."""
        return Answer(model)


WIRE = Conversation()


def _message(message: dict[str, Any]) -> dict[str, Any]:
    written: dict[str, Any] = {"role": message["role"], "content": message.get("content") or ""}
    if message["role"] == "tool":
        written["tool_name"] = message.get("name", "")
    if calls := message.get("tool_calls"):
        written["tool_calls"] = [
            {"function": {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}}
            for call in calls
        ]
    return written


class Answer:
    """One answer that is arriving, as JSON lines; the last says that it is done."""

    __slots__ = ("_calls", "acted", "finish", "model")

    def __init__(self, model: Remote) -> None:
        self.model = model
        self.finish = ""
        self.acted = False
        self._calls = 0

    def event(self, kind: str, data: dict[str, Any]) -> Iterator[Chunk]:
        """Read one line."""
        if error := data.get("error"):
            raise Said(error if isinstance(error, dict) else {"message": str(error)})
        message = data.get("message")
        if isinstance(message, dict):
            text, thought = text_of(message.get("content")), text_of(message.get("thinking"))
            if text or thought:
                yield Chunk(text, thought)
            for call in items(message.get("tool_calls")):
                function = call.get("function") if isinstance(call, dict) else None
                if isinstance(function, dict):
                    given = function.get("arguments")
                    written = given if isinstance(given, str) else json.dumps(given if given is not None else {})
                    yield Chunk(
                        call=CallDelta(self._calls, text_of(call.get("id")), text_of(function.get("name")), written)
                    )
                    self._calls += 1
        if data.get("done") is True:
            reason = text_of(data.get("done_reason"))
            counted = Usage(number(data.get("prompt_eval_count")), number(data.get("eval_count")))
            usage = self.model.cost(counted) if counted.total else None
            if finish_reasons.gave_up(reason):
                yield Chunk(usage=usage)
                raise Said(finish_reasons.said(reason))
            self.finish = "tool_calls" if self._calls and reason != "length" else finish_reasons.named(reason) or "stop"
            yield Chunk(usage=usage, finish=self.finish)

    def done(self) -> Iterator[Chunk]:
        """This API has no other end than its last line."""
        yield from ()
