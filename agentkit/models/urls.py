"""Addresses of hosts: checked, shortened to the base URL, and shown without their secrets."""

from __future__ import annotations

from urllib.parse import urlsplit

from agentkit.errors import UsageError


def without_secrets(url: str) -> str:
    """Return a URL without user, password and query, any of which may contain secrets."""
    head, separator, rest = url.partition("://")
    address = (rest if separator else head).partition("?")[0].partition("#")[0]
    shown = address.rpartition("@")[2] if "@" in address.partition("/")[0] else address
    return f"{head}://{shown}" if separator else shown


def base_of(url: str, *suffixes: str) -> str:
    """Return the base URL in a URL as people copy it, without the `suffixes` that the API adds itself;
    a query stays.
    """
    address, mark, query = url.strip().partition("?")
    address = address.rstrip("/")
    for suffix in suffixes:
        address = address.removesuffix(suffix)
    return f"{address}{mark}{query}"


def host_of(base_url: str) -> str:
    """Return the host of a base URL. Raises `UsageError` if a model cannot be reached under it."""
    try:
        parts = urlsplit(base_url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{without_secrets(base_url)!r} is not a URL: {error}") from None
    if "#" in base_url:
        raise UsageError(
            f"{without_secrets(base_url)!r} must come without its `#{parts.fragment}`: name the model apart from the "
            "URL"
        )
    if parts.username or parts.password:
        raise UsageError("a base URL must not contain a user or a password; give headers={'authorization': …} instead")
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(
            f"a base URL must begin with http:// or https:// and name a host, unlike {without_secrets(base_url)!r}"
        )
    return host


def is_local(host: str) -> bool:
    """Return whether a host name is that of this machine."""
    import ipaddress

    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def is_proxied(url: str) -> bool:
    """Return whether a URL is asked through a proxy that the environment names."""
    from urllib.request import getproxies, proxy_bypass

    host = urlsplit(url).hostname or ""
    has_proxy = bool(getproxies().keys() & {urlsplit(url).scheme, "all"})
    return has_proxy and not is_local(host) and not proxy_bypass(host)
