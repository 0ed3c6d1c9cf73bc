"""Turn what went wrong on the way into a typed error that names host, model, and what to do."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from agentkit.core.secrets import mask
from agentkit.errors import (
    ContextOverflow,
    ModelBusy,
    ModelDenied,
    ModelError,
    ModelGarbled,
    ModelMissing,
    ModelRejected,
    ModelTimeout,
    ModelUnreachable,
)
from agentkit.models.transport import clients
from agentkit.models.wire import Place, plain

E = TypeVar("E", bound=ModelError)

_SAID = 400
_STATUSES = {
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "overloaded_error": 529,
}
"""The statuses that errors inside a reply would have had, by their type or code."""

LOOK_AT_PROXY = "Look at HTTPS_PROXY, HTTP_PROXY and ALL_PROXY; NO_PROXY names the hosts that are asked without one"

SHORTER = "The chat is too long for it: shorten the task or what the tools give, or take another model"

_TOO_LONG = re.compile(
    r"context_length_exceeded|context (?:length|window|size|limit)|maximum (?:context|(?:prompt|model) length)|prompt is too long"
    r"|too many tokens|input is too long|`inputs` (?:tokens \+|must have less than)"
    r"|exceeds? the (?:available|model'?s?|maximum) (?:context|number of (?:input )?tokens|input)|exceed_context_size",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model[^.]{0,80}(?:not found|does not exist|not exist|unknown)|model_not_found|unknown model|try pulling", re.I
)
_NO_TOOLS = re.compile(
    r"(?:does not|doesn't|not|no endpoints found that) support (?:tool|function)|tools? (?:is|are) not supported|--jinja"
    r"|tool choice requires",
    re.IGNORECASE,
)
_NO_JSON = re.compile(r"response_format|json_object|json mode", re.IGNORECASE)
_NO_KEY = re.compile(
    r"api.?key (?:is )?(?:not valid|invalid|expired)|(?:incorrect|invalid|missing) (?:x-)?api.?key", re.IGNORECASE
)
_NO_CREDIT = re.compile(
    r"insufficient_quota|credit balance is too low|insufficient (?:balance|credits?|funds)", re.IGNORECASE
)
_BUSY = re.compile(
    r"overloaded|rate.?limit|too many requests|server_error|internal|unavailable|timeout|try again|busy|capacity", re.I
)


def who(place: Place) -> str:
    """Name who was asked."""
    return f"{place.host} ({place.model})"


def look_at_base(place: Place) -> str:
    """Say what to look at when a host answers something else than an API."""
    return (
        f"Look at the base URL {place.base!r}: it usually ends in /v1, and a proxy or a login page may stand before it"
    )


def refused(status: int, headers: Mapping[str, str], body: bytes, place: Place) -> ModelError:
    """Make the error of an answer with a status that is no success."""
    said = words(body)
    wait = retry_after(headers)
    told = f"says {status}: {said}" if said else f"says {status}"
    kind, advice = _meaning(status, said, wait, place)
    if 300 <= status < 400:
        goal = mask(plain(headers.get("location", "elsewhere")))[:200]
        told += f": it sends us to {goal}, which is not followed with a key in hand"
    return kind(
        f"{who(place)} {told.rstrip('.')}. {advice}",
        host=place.host,
        model=place.model,
        status=status,
        retry_after=wait,
    )


def _meaning(status: int, said: str, wait: float | None, place: Place) -> tuple[type[ModelError], str]:
    """Give the type of error that a status is, and what a person can do about it."""
    key = f"the key in {place.key}" if place.key else "the key"
    if status == 413 or (status in (400, 422) and _TOO_LONG.search(said)):
        return ContextOverflow, SHORTER
    if _NO_CREDIT.search(said):
        return ModelDenied, f"The account behind {key} has no credit left: see its billing page, or take another model"
    if _NO_TOOLS.search(said):
        return ModelRejected, 'It takes no tools in this form: dialect="json" or dialect="text" describes them in words'
    if 300 <= status < 400:
        return ModelMissing, look_at_base(place)
    if status in (404, 405) or (status == 400 and _NO_MODEL.search(said)):
        return ModelMissing, f"Check the model's name; `agentkit models` lists what was found. {look_at_base(place)}"
    if status == 407:
        return ModelDenied, f"That says the proxy before it, which wants a user and a password. {LOOK_AT_PROXY}"
    if status == 401 or (status == 400 and _NO_KEY.search(said)):
        check = f"Is {place.key} set, and is its key right?" if place.key else "Check the key, if one was given."
        return ModelDenied, f"{check} Or give another: api_key=…"
    if status in (402, 403):
        return ModelDenied, f"Check that {key} may use this model, and that the account is in credit"
    if status == 429:
        when = "later" if wait is None else f"in {in_words(wait)}"
        return ModelBusy, f"Too many requests or tokens: try again {when}, or set per_minute= to ask less often"
    if status in (408, 409, 425) or status >= 500:
        return ModelBusy, "The host cannot answer now: try again, or name a second model with Fallback([…])"
    if _NO_JSON.search(said):
        return (
            ModelRejected,
            'It has no JSON mode in this form: abilities={"json": False} of the model, or dialect="text"',
        )
    return (
        ModelRejected,
        "Look at settings= of the model and of the agent, and at what was sent: run.request() gives it",
    )


def reported(body: Any, place: Place) -> ModelError:
    """Make the error that a host reports inside a reply that began well."""
    said = _words_of(body) or "an error without a text"
    status = _status_in(body, said)
    kind, advice = _meaning(status, said, None, place)
    return make(kind, place, f"broke off: {said.rstrip('.')}. {advice}", status)


def _status_in(body: Any, said: str) -> int:
    """Give the status that an error inside a reply would have had by itself, from what it names or says."""
    for name in ("code", "status", "type"):
        given = body.get(name) if isinstance(body, dict) else None
        status = _STATUSES.get(given, 0) if isinstance(given, str) else given
        if isinstance(status, int) and 400 <= status < 600:
            return status
    named = f"{body.get('type', '')} {said}" if isinstance(body, dict) else said
    return 503 if _BUSY.search(named) else 400


def broken(error: Exception, place: Place, seconds: float) -> ModelError:
    """Make the error of a connection that failed; `seconds` is how long it might be silent."""
    import httpx2

    why = mask(" ".join(str(error).split()))[:_SAID] or type(error).__name__
    up = f"Is it up, and is the address {place.base!r} right?"
    if clients.is_proxied(place.base):
        up = f"{up} It is asked through a proxy. {LOOK_AT_PROXY}"
    if isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return make(ModelUnreachable, place, f"does not take the connection. {up}")
    if isinstance(error, httpx2.TimeoutException):
        return make(ModelTimeout, place, f"was silent for {seconds:g} s. Try again, or allow more: timeout=…")
    if isinstance(error, httpx2.ProxyError):
        return make(
            ModelUnreachable, place, f"cannot be asked through the proxy of the environment ({why}). {LOOK_AT_PROXY}"
        )
    if isinstance(error, httpx2.ConnectError):
        return make(ModelUnreachable, place, f"cannot be reached ({why}). {up}")
    if isinstance(error, httpx2.DecodingError):
        return make(ModelGarbled, place, f"sent damaged data ({why}); nothing of it was used. Try again")
    if isinstance(error, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol | httpx2.InvalidURL):
        return make(ModelRejected, place, f"cannot be asked: {why}. Look at the base URL and at headers=")
    return make(ModelUnreachable, place, f"broke the connection ({why}); nothing of the reply was used. Try again")


def overdue(place: Place, seconds: float) -> ModelTimeout:
    """Make the error of a call that took too long altogether."""
    return make(ModelTimeout, place, f"gave no whole reply within {seconds:g} s. Try again, or allow more: timeout=…")


def make(kind: type[E], place: Place, what: str, status: int = 0) -> E:
    """Make an error of a kind; `what` goes on after the host and the model."""
    return kind(f"{who(place)} {what}", host=place.host, model=place.model, status=status)


def in_words(seconds: float) -> str:
    """Say a wait as people do, rounded up."""
    for size, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds > 2 * size:
            return f"{math.ceil(seconds / size):,} {name}"
    return f"{math.ceil(seconds)} s"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read how long a host asks to wait, in seconds: `retry-after-ms`, or `retry-after` as seconds or as a date."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        return seconds if 0 <= seconds < 1e9 else None
    return _until(headers.get("retry-after", ""))


def _until(date: str) -> float | None:
    import email.utils
    import time

    try:
        return max(0.0, email.utils.parsedate_to_datetime(date).timestamp() - time.time())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def words(body: bytes) -> str:
    """Find what an error's body says, in one line without secrets."""
    text = body.decode("utf-8", "replace")
    try:
        found = _words_of(json.loads(text))
    except (ValueError, RecursionError):
        found = ""
    if not found and text.lstrip().startswith("<"):
        found = " ".join(
            re.sub(r"<[^<>]{0,500}>", " ", re.sub(r"(?s)<(style|script).{0,20000}?</\1>", " ", text[:20_000])).split()
        )
    return mask(" ".join((found or text).split()))[:_SAID]


def _words_of(data: Any) -> str:
    for name in ("error", "message", "detail", "msg", "errors"):
        inner = data.get(name) if isinstance(data, dict) else None
        if isinstance(inner, str) and inner:
            code = data.get("code")
            return mask(f"{inner} ({code})" if isinstance(code, str) and code and code not in inner else inner)[:_SAID]
        if isinstance(inner, dict | list) and inner:
            return _words_of(inner) or mask(json.dumps(inner, default=str))[:_SAID]
    return mask(data)[:_SAID] if isinstance(data, str) else ""
