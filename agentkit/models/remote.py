"""A model behind an API: what `OpenAI(…)`, `Anthropic(…)` and `Ollama(…)` give, and `Agent(model="openai:NAME")` makes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from agentkit.core.usage import Usage
from agentkit.errors import ModelDenied, ModelError, UsageError
from agentkit.models import keys
from agentkit.models.base import Abilities, Request
from agentkit.models.prices import Price, price_of
from agentkit.models.transport.call import Stream
from agentkit.models.transport.clients import is_here, is_played
from agentkit.models.transport.retries import Retries, Turns
from agentkit.models.wire import Place, Wire, plain

TIMEOUT = 600.0
"""Seconds for a whole call, retries included, and the wait for a turn (`per_minute`) not."""

SILENCE = 120.0
"""Seconds without a byte after which a host elsewhere counts as dead; one on this machine may load a model first."""

OPTIONAL = ("stop", "stream_options", "parallel_tool_calls", "cache_control")
"""What agentkit sends by itself and can leave out where a host does not know it."""

_SECRET = re.compile(r"key|auth|token|secret|password|cookie|credential|signature|^sig$|^code$", re.IGNORECASE)
_UNKNOWN = re.compile(
    r"unsupported|not supported|unknown|unrecognized|unexpected|not permitted|extra|invalid", re.IGNORECASE
)


class Remote:
    """A model behind an API, asked over HTTP with streaming.

    `timeout` are the seconds for a whole call, without the wait for its turn, `silence` those without a byte;
    `settings={"timeout": 5}` of an agent sets it for its calls. `settings` go into every request as they are (`temperature`,
    `max_tokens` …). `abilities` may be an `Abilities` or a dict of what differs. `price` is a `Price`. `per_minute` limits how
    often it is asked; a `Turns` limits several models together. The key comes from `api_key`, else from the environment or the
    keyring under `key_name`; it is sent to no host but this one.

    Calling it gives the chunks of one reply, for `async for`, or for `for` wherever the private event loop does not run.
    Raises a `ModelError` that names host, model and what to do: `ModelDenied`, `ModelMissing`, `ModelRejected`,
    `ContextOverflow`, `ModelBusy`, `ModelTimeout`, `ModelUnreachable`, `ModelGarbled`.
    """

    awaits = True
    limits_itself = True

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
        per_minute: float | Turns = 0.0,
        price: Price | None = None,
        without: tuple[str, ...] = (),
    ) -> None:
        host = host_of(base_url)
        self.wire = wire
        self.model = keys.no_key(model)
        self.name = name or f"{wire.provider}:{model}"
        address, mark, query = base_url.partition("?")
        for each, value in parse_qsl(query):
            _hidden(each, value)
        self.url = address.rstrip("/") + wire.path() + mark + query
        self.here = is_here(host)
        self.place = Place(urlsplit(base_url).netloc.rpartition("@")[2], model, keys.named(key_name), plain(base_url))
        self.abilities = replace(known, **abilities) if isinstance(abilities, dict) else abilities or known
        self.settings = dict(settings or {})
        self.timeout = _seconds("timeout", timeout)
        self.silence = (
            _seconds("silence", silence) if silence is not None else timeout if self.here else min(SILENCE, timeout)
        )
        self.retries = Retries(retries) if isinstance(retries, int) else retries or Retries()
        self.turns = per_minute if isinstance(per_minute, Turns) else Turns(per_minute)
        self.price = price
        self.without = set(without)
        self._headers = {name.lower(): _hidden(name, value) for name, value in (headers or {}).items()}
        self._given = keys.Key(api_key) if api_key is not None else None

    def __call__(self, request: Request) -> Stream:
        return Stream(self, request)

    # -- what is sent ------------------------------------------------------------------------------------------------

    def body(self, request: Request) -> dict[str, Any]:
        """Give the JSON of a request, exactly as it is handed to the socket."""
        body = self.wire.body(request, self)
        given = {name: value for name, value in {**self.settings, **request.settings}.items() if name != "timeout"}
        body = self.wire.adjust(body, given)
        for name in self.without:
            body.pop(name, None)
        return body

    def encode(self, request: Request) -> bytes:
        """Give the bytes of a request; half a surrogate pair, which UTF-8 cannot say, becomes a question mark."""
        written = json.dumps(self.body(request), ensure_ascii=False, separators=(",", ":"), default=str)
        return written.encode("utf-8", "replace")

    def headers(self) -> dict[str, str]:
        """Give the headers of a request. Raises `ModelDenied` where a key is needed and there is none."""
        key = keys.find(self._given, self.place.key)
        if not key and self.place.key and not self.here and not is_played():
            name = self.place.key
            raise ModelDenied(
                f"{self.place.host} ({self.model}) needs a key, and there is none: set {name} in the environment, keep it with "
                f"`keyring set {keys.SERVICE} {name}`, or give api_key=…",
                host=self.place.host,
                model=self.model,
            )
        fixed = {"content-type": "application/json", "accept-encoding": "identity"}
        own = {name: value.reveal() if isinstance(value, keys.Key) else value for name, value in self._headers.items()}
        return {**fixed, **self.wire.headers(key.reveal()), **own}

    def timeout_of(self, request: Request) -> float:
        """Give the seconds that this call may take."""
        return _seconds("timeout", request.settings.get("timeout", self.timeout))

    # -- what comes back ---------------------------------------------------------------------------------------------

    def cost(self, usage: Usage, stored: int = 0) -> Usage:
        """Say what some tokens cost, of which some were stored in a cache, where the host has not said so itself."""
        price = self.price or price_of(self.model)
        return replace(usage, cost=price.of(usage, stored)) if price and not usage.cost else usage

    def learn(self, failed: ModelError) -> bool:
        """Leave something out from now on that this host does not know; True where that may help."""
        if failed.status not in (400, 422):
            return False
        said = str(failed)
        found = {
            name
            for name in OPTIONAL
            if name not in self.without and re.search(rf"\b{name}\b", said) and _UNKNOWN.search(said)
        }
        self.without |= found
        return bool(found)

    def __repr__(self) -> str:
        return f"<model {self.name!r} at {self.place.host}>"


def _seconds(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise UsageError(f"a {name} is a number of seconds above 0, not {value!r}")
    return float(value)


def _hidden(name: str, value: str) -> str | keys.Key:
    """Hide the value of a header, or of a part of a query, whose name says that it is a secret."""
    return keys.Key(value, name, words=True) if _SECRET.search(name) else value


def host_of(base_url: str) -> str:
    """Give the host of a base URL, or refuse it."""
    try:
        parts = urlsplit(base_url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{plain(base_url)!r} is no URL: {error}") from None
    if "#" in base_url:
        raise UsageError(
            f"{plain(base_url)!r} is a base URL without its `#{parts.fragment}`: the model is named apart from it"
        )
    if parts.username or parts.password:
        raise UsageError("a base URL holds no user and no password; give headers={'authorization': …} instead")
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"a base URL begins with http:// or https:// and names a host, unlike {plain(base_url)!r}")
    return host
