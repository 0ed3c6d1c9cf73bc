"""The HTTP clients, shared by all models: a connection lasts for one call, so that nothing is left open after it.

A host on this machine is asked directly, whatever proxy the environment names.
"""

from __future__ import annotations

import weakref
from typing import Any

_clients: weakref.WeakKeyDictionary[Any, dict[bool, Any]] = weakref.WeakKeyDictionary()
inserted: Any = None
"""The tape that records or plays all exchanges, if one is in place: it gives the client then."""


def is_here(host: str) -> bool:
    """Say whether a host name is this machine."""
    import ipaddress

    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def is_proxied(url: str) -> bool:
    """Say whether a URL is asked through a proxy that the environment names."""
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    host = urlsplit(url).hostname or ""
    named = getproxies().keys() & {urlsplit(url).scheme, "all"}
    return bool(named) and not is_here(host) and not proxy_bypass(host)


def is_played() -> bool:
    """Say whether a tape answers, and nobody else is asked."""
    return inserted is not None and inserted.mode == "replay"


def is_failure(error: Exception) -> bool:
    """Say whether an exception is about the connection, and not a slip in the code."""
    import ssl

    import httpx2

    return isinstance(error, httpx2.HTTPError | httpx2.StreamError | httpx2.InvalidURL | ssl.SSLError | OSError)


def client(here: bool) -> Any:
    """Give the client of the running event loop; `here` says that the host is this machine."""
    return inserted.client(here) if inserted is not None else network(here)


def network(here: bool) -> Any:
    """Give the client of the running event loop that really connects."""
    import asyncio

    import httpx2

    found = _clients.setdefault(asyncio.get_running_loop(), {})
    if here not in found:
        try:
            found[here] = httpx2.AsyncClient(**plainly(), **_connecting(here))
        except (
            ImportError,
            ValueError,
            httpx2.InvalidURL,
        ) as error:  # the environment names a proxy that cannot be used
            raise httpx2.ProxyError(str(error)) from None
        except OSError as error:
            raise httpx2.ConnectError(f"its certificates cannot be checked, look at SSL_CERT_FILE: {error}") from None
    return found[here]


def plainly() -> dict[str, Any]:
    """Give the settings of every client: no cookies, and one name."""
    from http.cookiejar import CookieJar, DefaultCookiePolicy

    return {"cookies": CookieJar(DefaultCookiePolicy(allowed_domains=[])), "headers": {"user-agent": "agentkit"}}


def _connecting(here: bool) -> dict[str, Any]:
    import httpx2

    return {"trust_env": not here, "limits": httpx2.Limits(max_connections=None, max_keepalive_connections=0)}
