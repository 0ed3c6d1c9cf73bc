"""An HTTP client for addresses that a model writes: it connects only to public addresses, and to exactly those.

The name in an address is looked up once, every address that it has is checked, and the connection goes to the one that
was checked: a name that leads elsewhere a moment later leads nowhere. Each redirect is checked in the same way.
Proxies, cookies, passwords and the settings of the environment are not used.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from agentkit.core import background
from agentkit.core.checked_arguments import checked
from agentkit.errors import ToolError, UsageError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

PORTS = (80, 443)
REDIRECTS = (301, 302, 303, 307, 308)
_SILENCE = 10.0
"""After how many seconds without a byte a connection is given up."""
_CHUNK = 16_384

# What `ipaddress` of some versions of Python takes for public (IANA special-purpose registries), and addresses of
# clouds that answer only their own machines.
_CLOSED = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    )
)
_PUBLIC_V6 = ipaddress.ip_network("2000::/3")
"""The only addresses of IPv6 that are given to hosts of the internet; so no address in it contains one of IPv4 but in
the networks that `_CLOSED` has."""


def is_public(address: Address) -> bool:
    """Return whether an address is one of a host on the internet."""
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    if address.version == 6 and address not in _PUBLIC_V6:
        return False
    return not any(address in network for network in _CLOSED if network.version == address.version)


def look_up(host: str, port: int) -> list[str]:
    """Return the addresses of a host. Raises `OSError` or `UnicodeError` if it has none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True)
class Page:
    """What was fetched: the address that it came from, after redirects, the status, the type, and the content.

    `charset` is the one that the host named, or "". `is_cut` is true if there was more than may be read.
    """

    url: str
    status: int
    type: str
    charset: str
    content: bytes
    is_cut: bool


class Client:
    """An HTTP client that connects only to public addresses at ports 80 and 443, and to those that are allowed.

    `allow` lists addresses ("127.0.0.1"), with a port ("127.0.0.1:8080", "[::1]:8080"), or networks ("10.0.0.0/8");
    names are refused, because who owns a name decides where it leads. With `public_only=False` it connects anywhere;
    that is for an address that a person wrote. `seconds` limits a fetch as a whole, `max_bytes` its content, after it
    is unpacked. `certificates` is a file of the authorities to trust; `resolve` returns the addresses of a host and a
    port. Raises `UsageError` for what cannot be allowed.
    """

    @checked
    def __init__(
        self,
        *,
        allow: Iterable[str] = (),
        public_only: bool = True,
        seconds: float = 20.0,
        max_bytes: int = 2_000_000,
        max_redirects: int = 5,
        certificates: str | None = None,
        resolve: Callable[[str, int], list[str]] = look_up,
    ) -> None:
        if isinstance(allow, str):
            raise UsageError(f"allow is a list of addresses, such as [{allow!r}]")
        self.allow = [_allowed(entry) for entry in allow]
        self.public_only = public_only
        self.seconds, self.max_bytes, self.max_redirects = seconds, max_bytes, max_redirects
        self.certificates, self.resolve = certificates, resolve

    def get(self, url: str, *, accepts: Callable[[str], bool] | None = None) -> Page:
        """Fetch what is at an address. `accepts` is asked about its type before anything is read.

        Raises `ToolError`, with a text for the model, if it may not or cannot be fetched.
        """
        with _Deadline(self.seconds) as deadline:
            for _ in range(self.max_redirects + 1):
                with deadline.explained(url), self._response(url, deadline) as response:
                    target = _target(response, url)
                    if target is None:
                        return self._page(response, url, accepts)
                url = target
        raise ToolError(f"{url:.200} was not fetched: there were more than {self.max_redirects} redirects")

    @contextlib.contextmanager
    def _response(self, url: str, deadline: _Deadline) -> Iterator[Any]:
        """Connect to the checked address of an URL, ask for it, and hold the response."""
        import requests

        prepared, parts = _prepared(url)
        host = parts.host.strip("[]")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        address = self._checked(url, host, port)
        adapter = _adapter(host if parts.scheme == "https" else "", deadline)
        prepared.headers["Host"] = parts.netloc
        prepared.url = parts._replace(host=f"[{address}]" if address.version == 6 else str(address)).url
        try:
            verify = self.certificates or True
            response = adapter.send(prepared, stream=True, timeout=_SILENCE, verify=verify)
            with contextlib.closing(response):
                yield response
        except requests.exceptions.SSLError as error:
            raise ToolError(f"{url:.200} was not fetched: its certificate is not valid ({_root(error)})") from None
        finally:
            adapter.close()

    def _checked(self, url: str, host: str, port: int) -> Address:
        """Return the address to connect to. Raises `ToolError` if one of those that the host has may not be used."""
        try:
            future = background.in_thread(lambda: self.resolve(host, port))
            addresses = [
                ipaddress.ip_address(address.partition("%")[0]) for address in background.wait(future, _SILENCE)
            ]
        except (OSError, ValueError):  # also a host that is not found in time, and a name that none can have
            addresses = []
        if not addresses:
            raise ToolError(f"{url:.200} was not fetched: there is no host {host[:100]!r}")
        for address in addresses:
            is_allowed = any(address in network and own in (0, port) for network, own in self.allow)
            if self.public_only and not is_allowed and not is_public(address):
                raise ToolError(f"{url:.200} was not fetched: {host[:100]!r} does not lead to a public address")
            if self.public_only and not is_allowed and port not in PORTS:
                raise ToolError(f"{url:.200} was not fetched: only the ports 80 and 443 are used, not {port}")
        return addresses[0]

    def _page(self, response: Any, url: str, accepts: Callable[[str], bool] | None) -> Page:
        kind, _, parameters = response.headers.get("Content-Type", "").partition(";")
        kind = kind.strip().lower()
        if accepts and not accepts(kind):
            raise ToolError(f"{url:.200} was not read: it is {kind[:100] or 'of no known type'}, not text")
        charset = ""
        for parameter in parameters.split(";"):
            name, _, value = parameter.partition("=")
            charset = value.strip().strip("\"'").lower() if name.strip().lower() == "charset" else charset
        content, is_cut = self._content(response, url)
        return Page(url, response.status_code, kind, charset, content, is_cut)

    def _content(self, response: Any, url: str) -> tuple[bytes, bool]:
        """Return the content, unpacked, and whether it was cut. No more than `max_bytes` is ever held."""
        packed = response.headers.get("Content-Encoding", "").strip().lower()
        if packed not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ToolError(f"{url:.200} was not read: it is packed in a way that was not asked for ({packed[:40]!r})")
        unpack = zlib.decompressobj(47) if packed not in ("", "identity") else None
        content, received = bytearray(), 0
        while len(content) <= self.max_bytes and received <= self.max_bytes:
            chunk = response.raw.read(_CHUNK, decode_content=False)
            if not chunk:
                return bytes(content), False
            received += len(chunk)
            while chunk and len(content) <= self.max_bytes:
                if unpack is None:
                    content += chunk
                    break
                content += unpack.decompress(chunk, _CHUNK)
                chunk = unpack.unconsumed_tail
            if unpack is not None and unpack.eof:
                break
        return bytes(content[: self.max_bytes]), len(content) > self.max_bytes or received > self.max_bytes


class _Deadline:
    """The end of a fetch: every connection is cut then, even one that sends a byte now and then."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._sockets: list[socket.socket] = []
        self.has_passed = False

    def __enter__(self) -> _Deadline:
        self._cancel = background.timer(self._seconds, self._cut)
        return self

    def __exit__(self, *error: object) -> None:
        self._cancel()
        for connection in self._sockets:
            connection.close()

    def watch(self, connection: socket.socket) -> None:
        """Cut a connection when the time is over; a second handle of it stays valid if TLS takes the first one over."""
        self._sockets.append(connection.dup())
        if self.has_passed:
            self._cut()

    def _cut(self) -> None:
        self.has_passed = True
        for connection in self._sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def explained(self, url: str) -> Iterator[None]:
        """Raise errors of a connection as a `ToolError`, in words for the model."""
        import requests
        import urllib3

        late = f"{url:.200} was not fetched: it took longer than {self._seconds:g} s"
        try:
            yield
        except ToolError as error:
            raise ToolError(late) if self.has_passed else error from None
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError, zlib.error) as error:
            raise ToolError(late if self.has_passed else f"{url:.200} was not fetched: {_root(error)}") from None
        if self.has_passed:
            raise ToolError(late)


def _prepared(url: str) -> tuple[Any, Any]:
    """Return the request for an URL and its parts. Raises `ToolError` if it is not one of the web."""
    import requests
    from urllib3.util import parse_url

    try:
        if not isinstance(url, str) or any(ord(character) < 33 for character in url):
            raise ValueError("it has spaces or control characters")
        prepared = requests.Request("GET", url, headers=_HEADERS).prepare()
        parts = parse_url(prepared.url or "")
    except (requests.RequestException, ValueError) as error:
        raise ToolError(f"{url!r:.200} is not an address of the web: {_root(error)}") from None
    if parts.scheme not in ("http", "https") or not parts.host:
        raise ToolError(f"{url!r:.200} is not an address of the web; it begins with https:// or http://")
    if parts.auth or "%" in parts.host:
        raise ToolError(f"{url!r:.200} was not fetched: it has a user or a zone before or in its host")
    return prepared, parts


_HEADERS = {
    "User-Agent": "agentkit",
    "Accept": "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "close",
}


def _target(response: Any, url: str) -> str | None:
    """Return where a response redirects to, as an absolute URL; None if it does not."""
    location = response.headers.get("Location")
    if response.status_code not in REDIRECTS or not location:
        return None
    return urljoin(url, location.encode("latin-1", "replace").decode("utf-8", "replace"))


def _adapter(name: str, deadline: _Deadline) -> Any:
    """Return what sends a request to an address; over TLS, the host has to be the one with this `name`."""
    from requests.adapters import HTTPAdapter
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
    from urllib3.connection import HTTPConnection, HTTPSConnection

    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            connection = super()._new_conn()
            deadline.watch(connection)
            return connection

    class Secure(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            connection = super()._new_conn()
            deadline.watch(connection)
            return connection

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    adapter = HTTPAdapter(max_retries=0)
    names: dict[str, Any] = {"server_hostname": name, "assert_hostname": name} if name else {}
    adapter.init_poolmanager(1, 1, **names)
    adapter.poolmanager.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}
    return adapter


def _allowed(entry: str) -> tuple[Network, int]:
    """Return the network and the port (0 for every port) of an entry of `allow`."""
    host, _, port = entry.rpartition(":") if entry.count(":") == 1 or "]:" in entry else (entry, "", "0")
    try:
        network = ipaddress.ip_network(host.strip("[]"), strict=False)
        if not 0 <= int(port) < 65536:
            raise ValueError
    except ValueError:
        raise UsageError(
            f"allow takes addresses such as '127.0.0.1:8080' or '10.0.0.0/8', not {entry!r}; a name can lead anywhere"
        ) from None
    return network, int(port)


def _root(error: BaseException) -> str:
    """Return the text of the innermost error, as one short line."""
    while True:
        inner = getattr(error, "reason", None) or next(
            (part for part in error.args if isinstance(part, BaseException)), None
        )
        if not isinstance(inner, BaseException):
            break
        error = inner
    text = " ".join(str(error.args[-1] if error.args else error).split())
    return (text.rpartition(">: ")[2] or type(error).__name__)[:200]
