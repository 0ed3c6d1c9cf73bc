"""The HTTP clients, shared by all models. On the private event loop, connections are kept for the next call to the same
host, and closed when the process exits; on any other loop a connection lasts for one call, because the loop may end.

A host on this machine is asked directly, whatever proxy the environment names.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import weakref
from typing import Any

from agentkit.core import background

MAX_KEPT = 20
"""Connections that are kept, of all hosts together."""

KEPT_SECONDS = 55.0
"""How long a connection is kept without a call; many hosts close theirs after a minute."""

_clients: weakref.WeakKeyDictionary[Any, dict[bool, Any]] = weakref.WeakKeyDictionary()

_keeper = 0
"""The process whose private event loop has clients."""

inserted_tape: Any = None
"""The tape that records or plays all exchanges, if one is inserted; clients then come from it."""


def is_replaying() -> bool:
    """Return whether a tape gives all responses, and no host is asked."""
    return inserted_tape is not None and inserted_tape.mode == "replay"


def is_connection_failure(error: Exception) -> bool:
    """Return whether an exception is about the connection, and not a mistake in the code."""
    import ssl

    import httpx2

    return isinstance(error, httpx2.HTTPError | httpx2.StreamError | httpx2.InvalidURL | ssl.SSLError | OSError)


def is_broken(error: Exception) -> bool:
    """Return whether a connection was lost before a response began."""
    import httpx2

    return isinstance(error, httpx2.RemoteProtocolError | httpx2.ReadError | httpx2.WriteError)


def client(is_local: bool) -> Any:
    """Return the client of the running event loop for hosts on this machine, or elsewhere."""
    return inserted_tape.client(is_local) if inserted_tape is not None else network_client(is_local)


def network_client(is_local: bool) -> Any:
    """Return the client of the running event loop that really connects."""
    global _keeper
    import asyncio

    import httpx2

    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    if is_local not in clients:
        is_private = background.on_loop()
        kept = MAX_KEPT if is_private else 0
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=kept, keepalive_expiry=KEPT_SECONDS)
        if is_private:
            _keeper = os.getpid()
        try:
            clients[is_local] = httpx2.AsyncClient(**shared_settings(), trust_env=not is_local, limits=limits)
        except (ImportError, ValueError, httpx2.InvalidURL) as error:  # the environment names an unusable proxy
            raise httpx2.ProxyError(str(error)) from None
        except OSError as error:
            raise httpx2.ConnectError(f"its certificates cannot be checked, look at SSL_CERT_FILE: {error}") from None
    return clients[is_local]


def close_kept() -> None:
    """Close the connections of the private event loop; those of a parent process are its own."""
    import asyncio

    async def close() -> None:
        for client in _clients.pop(asyncio.get_running_loop(), {}).values():
            await client.aclose()

    if _keeper == os.getpid():
        with contextlib.suppress(Exception):
            background.submit(close()).result(1.0)


atexit.register(close_kept)


def shared_settings() -> dict[str, Any]:
    """Return the settings of every client: no cookies, and one name."""
    from http.cookiejar import CookieJar, DefaultCookiePolicy

    return {"cookies": CookieJar(DefaultCookiePolicy(allowed_domains=[])), "headers": {"user-agent": "agentkit"}}
