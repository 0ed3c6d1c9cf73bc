"""A model behind an API: what `OpenAI(…)`, `Anthropic(…)` and `Ollama(…)` return, and `Agent(model="openai:NAME")`
makes.
"""

from __future__ import annotations

import operator
import re
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from agentkit.core.checked_arguments import checked
from agentkit.core.usage import Usage
from agentkit.errors import ModelDenied, ModelError, UsageError
from agentkit.inert import inert
from agentkit.models import keys, request_json
from agentkit.models.base import Abilities, Request
from agentkit.models.prices import Price, price_of
from agentkit.models.transport.call import RemoteCall
from agentkit.models.transport.clients import is_replaying
from agentkit.models.transport.rate_limit import RateLimit
from agentkit.models.transport.retries import Retries
from agentkit.models.urls import host_of, is_local, without_secrets
from agentkit.models.wire import Endpoint, ReplyParser, Wire

TIMEOUT = 600.0
"""Seconds for a whole call, with its retries, but without the wait for its turn (`per_minute`)."""

SILENCE = 120.0
"""Seconds without a byte after which a remote host counts as dead; one on this machine may have to load a model first.
"""

OPTIONAL = ("stop", "stream_options", "parallel_tool_calls", "cache_control")
"""What agentkit sends on its own account, and leaves out if a host does not know it."""

_SECRET_NAME = re.compile(r"key|auth|token|secret|password|cookie|credential|signature|^sig$|^code$", re.IGNORECASE)
_NOT_KNOWN = re.compile(
    r"unsupported|not supported|unknown|unrecognized|unexpected|not permitted|extra|invalid", re.IGNORECASE
)


class Remote:
    """A model behind an API, asked over HTTP with streaming.

    `timeout` is the seconds for a whole call, without the wait for its turn, `silence` those without a byte;
    `settings={"timeout": 5}` of an agent sets it for its calls. `settings` go into every request as they are
    (`temperature`,
    `max_tokens` …). `abilities` may be an `Abilities` or a dict of the differences. `price` is a `Price`. `per_minute`
    limits how often the model is asked; a `RateLimit` limits several models together. The key is `api_key`, else it is
    looked up in the environment or the keyring under `key_name`; it is sent to this host and no other.

    A call returns the chunks of one reply, for `async for`, or for `for` outside the private event loop.
    Raises a `ModelError` that names host, model and what to do: `ModelDenied`, `ModelMissing`, `ModelRejected`,
    `ContextOverflow`, `ModelBusy`, `ModelTimeout`, `ModelUnreachable`, `ModelGarbled`.
    """

    awaits = True
    limits_itself = True

    @checked
    def __init__(
        self,
        wire: Wire,
        model: str,
        *,
        base_url: str,
        api_key: str | None = None,
        key_name: str = "",
        name: str = "",
        abilities: Abilities | dict[str, bool] | None = None,
        known: Abilities,
        settings: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        timeout: float = TIMEOUT,
        silence: float | None = None,
        retries: Retries | int | None = None,
        per_minute: float | RateLimit = 0.0,
        price: Price | None = None,
        without: tuple[str, ...] = (),
    ) -> None:
        host = host_of(base_url)
        self.wire = wire
        self.model = keys.checked_model_name(model)
        self.name = name or f"{wire.provider}:{model}"
        address, mark, query = base_url.partition("?")
        for parameter, value in parse_qsl(query):
            _hidden_if_secret(parameter, value)
        self.url = address.rstrip("/") + wire.path() + mark + query
        self.is_local = is_local(host)
        host_and_port = urlsplit(base_url).netloc.rpartition("@")[2]
        self.endpoint = Endpoint(host_and_port, model, keys.checked_key_name(key_name), without_secrets(base_url))
        self.abilities = replace(known, **abilities) if isinstance(abilities, dict) else abilities or known
        self.settings = dict(settings or {})
        self.timeout = _seconds("timeout", timeout)
        if silence is None:
            silence = timeout if self.is_local else min(SILENCE, timeout)
        self.silence = _seconds("silence", silence)
        self.retries = Retries(retries) if isinstance(retries, int) else retries or Retries()
        self.rate_limit = per_minute if isinstance(per_minute, RateLimit) else RateLimit(per_minute)
        self.price = price
        self.without = set(without)
        self._headers = {name.lower(): _hidden_if_secret(name, value) for name, value in (headers or {}).items()}
        self._key = keys.Key(api_key) if api_key is not None else None
        self._templates: dict[str, _Template] = {}

    def __call__(self, request: Request) -> RemoteCall:
        return RemoteCall(self, request)

    def __getstate__(self) -> dict[str, Any]:
        """Travel without a key: one that was passed is refused, one that has a name is looked up where it arrives."""
        if any(_hidden_if_secret(name, value) is not value for name, value in parse_qsl(self.url.partition("?")[2])):
            raise TypeError(
                f"the URL of the model at {self.endpoint.host} contains a secret, so the model cannot be sent to "
                "another process; make it there, or let key_name=… name the environment variable of a key"
            )
        return {**vars(self), "_templates": {}}

    # -- what is sent --------------------------------------------------------------------------------------------------

    def body(self, request: Request) -> dict[str, Any]:
        """Return the JSON of a request, exactly as it is handed to the socket."""
        rendering = request.rendering
        system = request_json.system_text(rendering, self.wire)
        return self._body(request, system, request_json.messages(rendering, self.wire, self.endpoint.host))

    def encode(self, request: Request) -> bytes:
        """Return the bytes of `body(request)`, joined from those of its messages, which are kept from the requests
        before.
        """
        rendering = request.rendering
        template = self._template(request, request_json.system_text(rendering, self.wire))
        if template.after is None:
            return template.before
        messages = request_json.encoded_messages(rendering, self.wire, self.endpoint.host)
        return b"".join((template.before, *messages, template.after))

    def _body(self, request: Request, system: str, messages: Any) -> dict[str, Any]:
        body = self.wire.body(request, self.model, system, messages)
        self._leave_out(body)
        settings = {**self.settings, **request.settings}
        settings.pop("timeout", None)
        body = self.wire.with_settings(body, settings)
        self._leave_out(body)
        return body

    def _leave_out(self, body: dict[str, Any]) -> None:
        for name in self.without:
            body.pop(name, None)

    def _template(self, request: Request, system: str) -> _Template:
        """Return the bytes around the messages; they are made anew only if they differ from the last
        ones of this role.
        """
        settings = {**self.settings, **request.settings}
        source = (
            *(self.model, system, request.dialect.name, request.is_json, request.answer, request.stop, request.choice),
            *(frozenset(self.without), request_json.encode(settings) if settings else b""),
        )
        known = self._templates.get(request.role)
        if known and known.source == source and _are_identical(known.tools, request.offered):
            return known
        before, after = request_json.around_messages(self._body(request, system, request_json.MESSAGES))
        template = self._templates[request.role] = _Template(source, request.offered, before, after)
        return template

    def headers(self) -> dict[str, str]:
        """Return the headers of a request. Raises `ModelDenied` if a key is needed and there is none."""
        name = self.endpoint.key_name
        key = keys.find(self._key, name)
        if not key and name and not self.is_local and not is_replaying():
            raise ModelDenied(
                f"{self.endpoint.host} ({self.model}) needs a key, and there is none: set {name} in the environment, "
                f"store it with `keyring set {keys.SERVICE} {name}`, or pass api_key=…",
                host=self.endpoint.host,
                model=self.model,
            )
        fixed = {"content-type": "application/json", "accept-encoding": "identity"}
        own = {name: value.reveal() if isinstance(value, keys.Key) else value for name, value in self._headers.items()}
        return {**fixed, **self.wire.headers(key.reveal()), **own}

    def timeout_of(self, request: Request) -> float:
        """Return the seconds that this call may take."""
        return _seconds("timeout", request.settings.get("timeout", self.timeout))

    # -- what comes back -----------------------------------------------------------------------------------------------

    def parser(self) -> ReplyParser:
        """Return a parser for one reply."""
        return self.wire.parser(self.endpoint.host, self.cost)

    def cost(self, usage: Usage, stored: int = 0) -> Usage:
        """Return some usage with its cost, unless the host has reported one; `stored` input tokens went
        into a cache.
        """
        price = self.price or price_of(self.model)
        return replace(usage, cost=price.of(usage, stored)) if price and not usage.cost else usage

    def learn(self, failure: ModelError) -> bool:
        """Leave out from now on what this host says it does not know; return whether another attempt may help."""
        if failure.status not in (400, 422):
            return False
        error_text = str(failure)
        unknown = {
            name
            for name in OPTIONAL
            if name not in self.without and re.search(rf"\b{name}\b", error_text) and _NOT_KNOWN.search(error_text)
        }
        self.without = self.without | unknown  # a new set: other threads may be reading the old one
        return bool(unknown)

    @inert
    def __repr__(self) -> str:
        return f"<model {self.name!r} at {self.endpoint.host}>"


class _Template(NamedTuple):
    """The bytes of a request before and after its messages (`after` is None if the settings replace them), and their
    source.
    """

    source: tuple[Any, ...]
    tools: tuple[Any, ...]
    before: bytes
    after: bytes | None


def _are_identical(some: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _seconds(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise UsageError(f"{name} must be a number of seconds above 0, not {value!r}")
    return float(value)


def _hidden_if_secret(name: str, value: str) -> str | keys.Key:
    """Return the value of a header, or of a part of a query; as a key if its name says that it is secret."""
    return keys.Key(value, name, words=True) if _SECRET_NAME.search(name) else value
