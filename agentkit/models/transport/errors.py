"""Turn what went wrong on the way into a typed error that names the host, the model, and what to do.

Whatever a host says is masked before it becomes part of an error.
"""

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
from agentkit.models.transport.retries import retry_after
from agentkit.models.urls import is_proxied, without_secrets
from agentkit.models.wire import Endpoint

E = TypeVar("E", bound=ModelError)
Meaning = tuple[type[ModelError], str]
"""The type of an error, and what a person can do about it."""

_MAX_TEXT = 400
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
"""The HTTP statuses that errors inside a reply would have had, by their type or code."""

UNPARSED: Meaning = (
    ModelGarbled,
    'The host could not read what its model wrote: try again, or use dialect="json" or "text", which agentkit reads',
)
LOOK_AT_PROXY = "Look at HTTPS_PROXY, HTTP_PROXY and ALL_PROXY; NO_PROXY names the hosts that are asked directly"

_TOO_LONG = re.compile(
    r"context_length_exceeded|context (?:length|window|size|limit)|maximum (?:context|(?:prompt|model) "
    r"length)|prompt is too long"
    r"|too many tokens|input is too long|`inputs` (?:tokens \+|must have less than)"
    r"|exceeds? the (?:available|model'?s?|maximum) (?:context|number of (?:input )?tokens|input)|exceed_context_size",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model[^.]{0,80}(?:not found|does not exist|not exist|unknown)|model_not_found|unknown model|try pulling", re.I
)
_NO_TOOLS = re.compile(
    r"(?:does not|doesn't|not|no endpoints found that) support (?:tool|function)|tools? (?:is|are) not "
    r"supported|--jinja"
    r"|tool choice requires",
    re.IGNORECASE,
)
_NOT_PARSED = re.compile(
    r"(?:failed|unable) to parse|(?:error|failed) parsing|parse error|tool_use_failed", re.IGNORECASE
)
_NO_JSON_MODE = re.compile(r"response_format|json_object|json mode", re.IGNORECASE)
_WRONG_KEY = re.compile(
    r"api.?key (?:is )?(?:not valid|invalid|expired)|(?:incorrect|invalid|missing) (?:x-)?api.?key", re.IGNORECASE
)
_NO_CREDIT = re.compile(
    r"insufficient_quota|credit balance is too low|insufficient (?:balance|credits?|funds)", re.IGNORECASE
)
_BUSY = re.compile(
    r"overloaded|rate.?limit|too many requests|server_error|internal|unavailable|timeout|try again|busy|capacity", re.I
)


# -- the host says that something is wrong -----------------------------------------------------------------------------


def from_status(status: int, headers: Mapping[str, str], body: bytes, endpoint: Endpoint) -> ModelError:
    """Return the error for a response whose HTTP status means that it is not a reply."""
    host_text = error_text_in(body)
    wait = retry_after(headers)
    what = f"answered {status}: {host_text}" if host_text else f"answered {status}"
    if 300 <= status < 400:
        location = mask(without_secrets(headers.get("location", "elsewhere")))[:200]
        what += f": it redirects to {location}, which is not followed because the request carries a key"
    kind, advice = _meaning(status, host_text, wait, endpoint)
    error = make(kind, endpoint, f"{what.rstrip('.')}. {advice}", status)
    error.retry_after = wait
    return error


def from_host_error(body: Any, endpoint: Endpoint) -> ModelError:
    """Return the error that a host reports inside a reply that began well."""
    host_text = _text_in(body) or "an error without a text"
    status = _status_of(body, host_text)
    if _NOT_PARSED.search(host_text):  # the request was read long ago, so this is about what the model wrote
        kind, advice = UNPARSED
    else:
        kind, advice = _meaning(status, host_text, None, endpoint)
    return make(kind, endpoint, f"reported an error in its reply: {host_text.rstrip('.')}. {advice}", status)


def _meaning(status: int, host_text: str, wait: float | None, endpoint: Endpoint) -> Meaning:
    name = endpoint.key_name
    key = f"the key in {name}" if name else "the key"
    if status == 413 or (status not in (401, 402, 429) and _TOO_LONG.search(host_text)):
        advice = "The chat is too long for the model: shorten the task or the tools' results, or use another model"
        return ContextOverflow, advice
    if _NO_CREDIT.search(host_text):
        return ModelDenied, f"The account behind {key} has no credit left: see its billing page, or use another model"
    if _NO_TOOLS.search(host_text):
        return (
            ModelRejected,
            'It does not take tools in this form: dialect="json" or dialect="text" describes them in words',
        )
    if 300 <= status < 400:
        return ModelMissing, look_at_base_url(endpoint)
    if status in (404, 405) or (status == 400 and _NO_MODEL.search(host_text)):
        advice = f"Check the model's name; `agentkit models` lists what was found. {look_at_base_url(endpoint)}"
        return ModelMissing, advice
    if status == 407:
        return ModelDenied, f"A proxy in front of it wants a user name and a password. {LOOK_AT_PROXY}"
    if status == 401 or (status == 400 and _WRONG_KEY.search(host_text)):
        check = f"Is {name} set, and is its key right?" if name else "Check the key, if one was given."
        return ModelDenied, f"{check} Or pass another: api_key=…"
    if status in (402, 403):
        return ModelDenied, f"Check that {key} may use this model, and that the account is in credit"
    if status == 429:
        when = "later" if wait is None else f"in {duration(wait)}"
        return ModelBusy, f"Too many requests or tokens: try again {when}, or set per_minute= to ask less often"
    if status >= 500 and _NOT_PARSED.search(host_text):
        return UNPARSED
    if status in (408, 409, 425) or status >= 500:
        return ModelBusy, "The host cannot answer now: try again, or name a second model with Fallback([…])"
    if _NO_JSON_MODE.search(host_text):
        advice = 'It has no JSON mode in this form: set abilities={"json": False} on the model, or dialect="text"'
        return ModelRejected, advice
    advice = "Look at settings= of the model and of the agent, and at what was sent: run.request() shows it"
    return ModelRejected, advice


def _status_of(body: Any, host_text: str) -> int:
    """Return the HTTP status that an error inside a reply would have had by itself, from what it names or says."""
    for name in ("code", "status", "type", "error_code"):
        value = body.get(name) if isinstance(body, dict) else None
        status = _STATUSES.get(value, 0) if isinstance(value, str) else value
        if name == "error_code" and isinstance(status, int):
            status //= 100  # FastChat numbers its errors from the status: 50004
        if isinstance(status, int) and 400 <= status < 600:
            return status
    text = f"{body.get('type', '')} {host_text}" if isinstance(body, dict) else host_text
    return 503 if _BUSY.search(text) else 400


# -- the connection failed ---------------------------------------------------------------------------------------------


def from_exception(error: Exception, endpoint: Endpoint, seconds: float) -> ModelError:
    """Return the error for a connection that failed; `seconds` is how long the host could be silent."""
    import httpx2

    reason = mask(" ".join(str(error).split()))[:_MAX_TEXT] or type(error).__name__
    is_it_up = f"Is it up, and is the address {endpoint.base_url!r} right?"
    if is_proxied(endpoint.base_url):
        is_it_up = f"{is_it_up} It is asked through a proxy. {LOOK_AT_PROXY}"
    if isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return make(ModelUnreachable, endpoint, f"does not accept the connection. {is_it_up}")
    if isinstance(error, httpx2.TimeoutException):
        return make(ModelTimeout, endpoint, f"was silent for {seconds:g} s. Try again, or allow more: timeout=…")
    if isinstance(error, httpx2.ProxyError):
        what = f"cannot be asked through the proxy that the environment names ({reason}). {LOOK_AT_PROXY}"
        return make(ModelUnreachable, endpoint, what)
    if isinstance(error, httpx2.ConnectError):
        return make(ModelUnreachable, endpoint, f"cannot be reached ({reason}). {is_it_up}")
    if isinstance(error, httpx2.DecodingError):
        return make(ModelGarbled, endpoint, f"sent damaged data ({reason}); nothing of it was used. Try again")
    if isinstance(error, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol | httpx2.InvalidURL):
        return make(ModelRejected, endpoint, f"cannot be asked: {reason}. Look at the base URL and at headers=")
    what = f"broke the connection ({reason}); nothing of the reply was used. Try again"
    return make(ModelUnreachable, endpoint, what)


def timed_out(endpoint: Endpoint, seconds: float) -> ModelTimeout:
    """Return the error for a call that took too long as a whole."""
    what = f"did not finish its reply within {seconds:g} s. Try again, or allow more: timeout=…"
    return make(ModelTimeout, endpoint, what)


# -- what errors are made of -------------------------------------------------------------------------------------------


def make(kind: type[E], endpoint: Endpoint, what: str, status: int = 0) -> E:
    """Return an error of a kind; its text is the host and the model, followed by `what`."""
    text = f"{endpoint.host} ({endpoint.model}) {what}"
    return kind(text, host=endpoint.host, model=endpoint.model, status=status)


def look_at_base_url(endpoint: Endpoint) -> str:
    """Return what to look at when a host that was asked is not an API."""
    return (
        f"Look at the base URL {endpoint.base_url!r}: it usually ends in /v1, "
        "and a proxy or a login page may be in front"
    )


def duration(seconds: float) -> str:
    """Return a duration in the unit that people would use, rounded up: "61 s", "24 hours"."""
    for size, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds > 2 * size:
            return f"{math.ceil(seconds / size):,} {name}"
    return f"{math.ceil(seconds)} s"


def error_text_in(body: bytes) -> str:
    """Return the text of an error in the body of a response, in one line and without secrets."""
    text = body.decode("utf-8", "replace")
    try:
        found = _text_in(json.loads(text))
    except (ValueError, RecursionError):
        found = ""
    if not found and text.lstrip().startswith("<"):
        without_code = re.sub(r"(?s)<(style|script).{0,20000}?</\1>", " ", text[:20_000])
        found = re.sub(r"<[^<>]{0,500}>", " ", without_code)
        found = " ".join(found.split())
    return mask(" ".join((found or text).split()))[:_MAX_TEXT]


def _text_in(data: Any) -> str:
    for name in ("error", "message", "detail", "msg", "errors", "text"):
        inner = data.get(name) if isinstance(data, dict) else None
        if isinstance(inner, str) and inner:
            code = data.get("code")
            is_new = isinstance(code, str) and code and code not in inner
            return mask(f"{inner} ({code})" if is_new else inner)[:_MAX_TEXT]
        if isinstance(inner, dict | list) and inner:
            return _text_in(inner) or mask(json.dumps(inner, default=str))[:_MAX_TEXT]
    return mask(data)[:_MAX_TEXT] if isinstance(data, str) else ""
