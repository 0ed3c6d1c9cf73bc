"""The doors of a server: which requests reach it, and with which right. Pure ASGI, for HTTP and websockets.

A server on this machine is open to every page that its browser shows, and to every program of every user. So each
request is asked for a token, and where a browser says which site a request comes from, it has to be this one:

1. `Host` has to be a name of this server: another site's name may lead here, too (DNS rebinding).
2. `Origin` has to be this server: a browser lets any site open a websocket, and post a form.
3. `Sec-Fetch-Site` has to be this server, except for a person who follows a link.
4. The token: `Authorization: Bearer …`, `?token=…`, or the cookie that a page is given for it.
5. With a cookie alone, what changes something has to say that it comes from this server.
6. A token may be one for watching only, which changes nothing.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Right = Literal["watch", "drive"]

MAY = "agentkit.may"
"""The key of the scope with what the token of a request allows: "watch" or "drive"."""

MAX_BODY = 1_000_000
"""The most bytes that the body of a request has."""

BODY_TIMEOUT = 30.0
"""How long a body may take to arrive, in seconds."""

RATE, BURST = 200.0, 2_000.0
"""How many requests a second are answered in the long run, and how many at once."""

_DRAINED = 16_000_000
_SAFE = ("GET", "HEAD", "OPTIONS")

HEADERS = {
    b"content-security-policy": b"default-src 'none'; script-src 'self' blob:; style-src 'self' 'unsafe-inline'; "
    b"img-src 'self' data: blob:; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'",  # blob: is for the packed part of the widget, which imports itself
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"cache-control": b"no-store",
}
"""The headers of each answer that does not have them."""


class Refused(Exception):
    """A request that is answered with a status and a text, and does not reach the application."""

    def __init__(self, status: int, text: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = list(headers)


class Guard:
    """An ASGI application that lets requests through to another one.

    `tokens` are the tokens with what each allows. `hosts` are the names of the server besides those of this machine.
    Requests to the `open_paths` need no token. `scope["agentkit.may"]` says what a request that is let through may do.
    """

    def __init__(
        self,
        app: App,
        tokens: Mapping[str, Right],
        hosts: Iterable[str] = (),
        *,
        open_paths: Iterable[str] = (),
        max_body: int = MAX_BODY,
        body_timeout: float = BODY_TIMEOUT,
        rate: float = RATE,
        burst: float = BURST,
    ) -> None:
        self.app = app
        self._tokens = {token.encode(): right for token, right in tokens.items() if token}
        self._hosts = set(map(_name, hosts)) - {""}
        self._open_paths = frozenset(open_paths)
        self._max_body, self._body_timeout = max_body, body_timeout
        self._rate, self._burst = rate, burst
        self._left, self._at = burst, time.monotonic()
        self._limits: set[asyncio.Timeout] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = _headers(scope)
        try:
            self._check_source(scope, headers)
            if _path(scope) not in self._open_paths:
                scope[MAY] = self._check_token(scope, headers)
                self._check_rate()
            if scope["type"] == "http" and scope["method"] not in _SAFE:
                receive = await self._with_body(headers, receive)
        except Refused as refused:
            await _refuse(scope, receive, send, refused)
            return
        await self.app(scope, receive, _with_headers(send))

    def close(self) -> None:
        """Stop waiting for bodies."""
        for limit in self._limits:
            limit.reschedule(0)

    # -- the checks ----------------------------------------------------------------------------------------------------

    def _check_source(self, scope: Scope, headers: Mapping[str, str]) -> None:
        """Check which name the request asks for, and which site it comes from. Raises `Refused`."""
        host = headers.get("host", "")
        if not self._is_known(host):
            raise Refused(421, f"this server does not answer to the name {host[:100]!r}; pass it in hosts=[…]")
        origin = headers.get("origin")
        if origin is not None and origin.lower().partition("://")[2] != host.lower():
            raise Refused(403, "a page of another site asked")
        is_link = (
            scope["type"] == "http"
            and scope["method"] == "GET"
            and headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document"
        )
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not is_link:
            raise Refused(403, "a page of another site asked")

    def _is_known(self, host: str) -> bool:
        name = _name(host)
        if name == "localhost" or name in self._hosts:
            return True
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return False

    def _check_token(self, scope: Scope, headers: Mapping[str, str]) -> Right:
        """Return what the token of the request allows. Raises `Refused`, also to send a page on without the token."""
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        in_url = next((value for name, value in query if name == "token"), "")
        shown = bearer.strip() if scheme.lower() == "bearer" else in_url
        given = shown or _cookie(headers, _cookie_name(scope))
        found: list[Right] = []
        for token, right in self._tokens.items():  # all of them, so that the time says nothing
            if hmac.compare_digest(token, given.encode("utf-8", "replace")):
                found.append(right)
        if not found:
            how = "send the header Authorization: Bearer and the token, or open the address that the server printed"
            raise Refused(401, how, [(b"www-authenticate", b"Bearer")])
        is_safe = scope["type"] == "http" and scope["method"] in _SAFE
        is_ours = "origin" in headers or headers.get("sec-fetch-site") == "same-origin"
        if not shown and not is_safe and not is_ours:
            raise Refused(403, "a request with only a cookie has to come from a page of this server")
        if found[0] == "watch" and scope["type"] == "http" and not is_safe:
            raise Refused(403, "this token is for watching only")
        if in_url and is_safe and "text/html" in headers.get("accept", ""):
            raise _without_token(scope, [(name, value) for name, value in query if name != "token"], given)
        return found[0]

    def _check_rate(self) -> None:
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            raise Refused(429, "too many requests; wait a moment", [(b"retry-after", b"1")])
        self._left -= 1

    # -- bodies --------------------------------------------------------------------------------------------------------

    async def _with_body(self, headers: Mapping[str, str], receive: Receive) -> Receive:
        """Read the body, and return a `receive` that gives it. Raises `Refused` if it is too large or too slow."""
        too_large = Refused(413, f"the body of a request may have {self._max_body:,} bytes")
        length = headers.get("content-length", "")
        is_too_large = length.isdecimal() and (len(length) > 12 or int(length) > self._max_body)
        if is_too_large and headers.get("expect"):
            raise too_large  # the client waits for an answer before it sends the body
        try:
            async with asyncio.timeout(self._body_timeout) as limit:
                self._limits.add(limit)
                body = await _read(receive, 0 if is_too_large else self._max_body)
        except TimeoutError:
            raise Refused(408, "the body of the request did not arrive") from None
        finally:
            self._limits.discard(limit)
        if body is None:
            raise too_large
        is_read = False

        async def received() -> Any:
            nonlocal is_read
            if is_read:
                return await receive()
            is_read = True
            return {"type": "http.request", "body": body, "more_body": False}

        return received


async def _read(receive: Receive, most: int) -> bytes | None:
    """Return the body of a request, or None if it has more than `most` bytes, most of which are read nevertheless:
    a client that is still sending would not see the answer. Raises `Refused` if the client leaves.
    """
    parts: list[bytes] = []
    size, more = 0, True
    while more and size < _DRAINED:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "the client left before the body was complete")
        part, more = message.get("body", b""), message.get("more_body", False)
        size += len(part)
        if size <= most:
            parts.append(part)
        else:
            parts.clear()
    return b"".join(parts) if size <= most else None


# -- what is read of a request -----------------------------------------------------------------------------------------


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers by their names in lower case; of a name that is there twice, the values are joined."""
    headers: dict[str, str] = {}
    for name, value in scope.get("headers", ()):
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        separator = "; " if key == "cookie" else ", "
        headers[key] = f"{headers[key]}{separator}{text}" if key in headers else text
    return headers


def _name(host: str) -> str:
    """Return the name in a `Host`, without the port; "" if there is none."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _path(scope: Scope) -> str:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _cookie_name(scope: Scope) -> str:
    """Return the name of the cookie: browsers do not separate cookies by port, so the port is in it."""
    _, port = scope.get("server") or ("", None)
    return f"agentkit-{port}" if port else "agentkit"


def _cookie(headers: Mapping[str, str], name: str) -> str:
    for part in headers.get("cookie", "").split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value
    return ""


# -- answers -----------------------------------------------------------------------------------------------------------


def _without_token(scope: Scope, query: list[tuple[str, str]], token: str) -> Refused:
    """Return the answer that gives a page its cookie, and sends it on to the address without the token.

    The cookie is also sent if a person follows a link of another site (SameSite=Lax), such as one in a notebook; any
    other request of another site is refused.
    """
    path = quote("/" + scope["path"].lstrip("/"))  # "//host" would lead to another server
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    folder = quote(scope.get("root_path", "")) or "/"
    cookie = f"{_cookie_name(scope)}={token}; Path={folder}; HttpOnly; SameSite=Lax{secure}"
    location = f"{path}?{urlencode(query)}" if query else path
    return Refused(303, "", [(b"location", location.encode()), (b"set-cookie", cookie.encode())])


def _with_headers(send: Send) -> Send:
    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            has = {name.lower() for name, _ in headers}
            message = {**message, "headers": headers + [item for item in HEADERS.items() if item[0] not in has]}
        await send(message)

    return sending


async def _refuse(scope: Scope, receive: Receive, send: Send, refused: Refused) -> None:
    """Answer a request that is refused, as JSON; a websocket is closed."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})  # before it is accepted: the answer is 403
        return
    body = json.dumps({"error": refused.text}).encode() if refused.text else b""
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *refused.headers]
    send = _with_headers(send)
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
