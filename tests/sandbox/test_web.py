"""A fetch reaches only addresses that are public or allowed, whatever a model or a page writes, and is limited."""

from __future__ import annotations

import gzip
import http.server
import itertools
import shutil
import socket
import ssl
import subprocess
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentkit.errors import ToolError, UsageError
from agentkit.sandbox.web import Client, is_public
from agentkit.tools.builtin.web import WebFetch, html_text, is_text

SECRET = "the secret of an inner host"
Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


class Server:
    """A real HTTP server on an address of this machine; `paths` has what it answers, `hits` who asked for what."""

    def __init__(self, address: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.paths: dict[str, Answer] = {}
        self.hits: list[tuple[str, str]] = []
        self.default = SECRET
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server.hits.append((self.path, self.headers["Host"]))
                self.close_connection = True
                server.paths.get(self.path, text(server.default))(self)

            def log_message(self, *args: Any) -> None:
                pass

        class Listening(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *args: Any) -> None:
                pass

        self._server = Listening((address, port), Handler)
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.address, self.port = self._server.server_address[0], self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def host(self) -> str:
        return f"{self.address}:{self.port}"


def body(content: bytes, kind: str = "text/plain", **headers: str) -> Answer:
    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def text(content: str, kind: str = "text/plain; charset=utf-8") -> Answer:
    return body(content.encode(), kind)


def redirect(target: str, status: int = 302) -> Answer:
    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Location", target)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


@pytest.fixture
def open_server() -> Iterator[Server]:
    with Server() as server:
        server.paths["/"], server.default = text("open"), "open"
        yield server


@pytest.fixture
def secret(open_server: Server) -> Iterator[Server]:
    with Server() as server:
        yield server


NAMES = {
    "inner.test": ["127.0.0.1"],
    "both.test": ["1.1.1.1", "127.0.0.1"],
    "both6.test": ["2606:4700::1111", "::1"],
    "mapped.test": ["::ffff:127.0.0.1"],
    "metadata.test": ["169.254.169.254"],
    "private.test": ["10.1.2.3"],
    "localhost": ["127.0.0.1"],
    "localhost.localdomain": ["127.0.0.1"],
    "ip6-localhost": ["::1"],
    "zone.test": ["fe80::1%lo"],
    "127.0.0.1.nip.test": ["127.0.0.1"],
    "xn--inner-4ve.test": ["127.0.0.1"],
    "open.test": ["127.0.0.1"],
}


def resolve(host: str, port: int) -> list[str]:
    """Look up a host in the table; a number in any notation as the system does it, without asking anybody."""
    if host.lower().rstrip(".") in NAMES:
        return NAMES[host.lower().rstrip(".")]
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    return [str(entry[4][0]) for entry in found]


LOOPBACK = [
    "127.0.0.1", "127.1", "127.0.1", "127.000.000.001", "0177.0.0.1", "0x7f.0.0.1", "0x7f.1", "0x7F000001", "2130706433", "017700000001",
    "00000177.1", "0x7f.0x0.0x0.0x1", "0", "0.0.0.0", "0.0", "00", "0x0", "127.0.0.1.", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::0001]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]", "[2001:0:0:0:0:0:80ff:fffe]", "[fe80::1]", "[fe80::1%25lo]", "[::1%25lo]", "localhost", "LOCALHOST", "localhost.",
    "LocalHost.LocalDomain", "ip6-localhost", "inner.test", "INNER.TEST.", "both.test", "both6.test", "mapped.test", "zone.test",
    "127.0.0.1.nip.test", "１２７.0.0.1", "127。0。0。1", "①②⑦.0.0.1", "ⓛocalhost", "loc%61lhost", "%6cocalhost", "127.0.0.1%00.open.test",
    "user@127.0.0.1", "open.test@127.0.0.1", "user:pass@127.0.0.1", "open.test%20@127.0.0.1", "open.test:80@127.0.0.1", "127.0.0.1#@open.test",
    "127.0.0.1\\@open.test", "open.test\\@127.0.0.1", "127.0.0.1%2f@open.test", "[::1]#", "127.0.0.1?@open.test",
]  # fmt: skip
"""Notations of this machine, which lead to the inner host if anything does."""
INNER = [
    "10.0.0.1", "10.255.255.254", "172.16.0.1", "172.31.255.254", "192.168.0.1", "192.168.1.1", "169.254.169.254", "169.254.170.2", "2852039166",
    "0xA9FEA9FE", "0251.0376.0251.0376", "100.64.0.1", "100.100.100.200", "192.0.0.1", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1",
    "203.0.113.1", "192.88.99.1", "168.63.129.16", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "0.1.2.3", "metadata.test",
    "private.test", "[fc00::1]", "[fd00:ec2::254]", "[fec0::1]", "[ff02::1]", "[2001:db8::1]", "[3fff::1]", "[100::1]", "[64:ff9b:1::1]",
    "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::1]", "[2002:c0a8:101::]", "[2001:10::1]", "[2001:20::1]", "[::ffff:169.254.169.254]",
    "[::ffff:10.0.0.1]", "[fe80::a9fe:a9fe]", "[5f00::1]", "[4000::1]",
]  # fmt: skip
"""Addresses of other networks than the internet; nothing is connected to."""
SCHEMES = [
    "file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:{port}/_GET%20/", "dict://127.0.0.1:{port}/", "ldap://127.0.0.1/", "data:text/plain,x",
    "javascript:1", "jar:http://127.0.0.1!/", "unix:///run/docker.sock", "http+unix://%2Frun%2Fdocker.sock/", "//127.0.0.1:{port}/", "127.0.0.1:{port}",
    "http:127.0.0.1:{port}", "http:/127.0.0.1:{port}", "http:///127.0.0.1:{port}/", "http://", "https://", "", " http://127.0.0.1:{port}/",
    "http://127.0.0.1:{port}/\r\nHost: x", "http://open.test\n.127.0.0.1:{port}/", "HTTP://127.0.0.1:{port}/", "http://127.0.0.1:99999/",
    "http://127.0.0.1:-1/", "http://[127.0.0.1]:{port}/", "http://[::1:{port}/", "http://1.1.1.1:22/", "http://1.1.1.1:{port}/", "http://\x00127.0.0.1/",
    "http://" + "a" * 300 + ".test/", "http://..:{port}/", "http://.127.0.0.1:{port}/", "view-source:http://127.0.0.1:{port}/",
]  # fmt: skip


def ways_in(port: int) -> list[str]:
    """Return the addresses that a model could write to reach an inner host."""
    hosts = [
        f"{host}:{port}" if "#" not in host and "?" not in host else host.replace("127.0.0.1", f"127.0.0.1:{port}", 1)
        for host in LOOPBACK
    ]
    return [
        *(f"http://{host}/secret" for host in hosts),
        *(f"https://{host}/secret" for host in hosts[:20]),
        *(f"http://{host}/latest/meta-data/" for host in INNER),
        *(url.replace("{port}", str(port)) for url in SCHEMES),
    ]


@pytest.mark.slow
def test_of_many_ways_to_an_inner_host_none_leads_there(
    open_server: Server, secret: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://{secret.host}")
    monkeypatch.setenv("NO_PROXY", "")
    client = Client(allow=[open_server.host], resolve=resolve, seconds=5)
    cases = ways_in(secret.port)
    reached = []
    for way, url in itertools.product(("direct", "redirect", "second redirect"), cases):
        if way != "direct" and any(ord(character) < 33 or ord(character) > 255 for character in url):
            continue  # a header cannot have it
        open_server.paths |= {"/go": redirect(url), "/first": redirect("/go", 307)}
        first = {
            "direct": url,
            "redirect": f"http://{open_server.host}/go",
            "second redirect": f"http://open.test:{open_server.port}/first",
        }[way]
        try:
            page = client.get(first)
            if SECRET.encode() in page.content:
                reached.append((way, url))
        except ToolError as error:
            assert "was not fetched" in str(error) or "is not an address of the web" in str(error)
    print(f"{len(cases)} addresses, directly and by redirects; {len(secret.hits)} in")
    assert len(set(cases)) >= 120
    assert (reached, secret.hits) == ([], [])


def test_each_inner_address_is_refused_before_anything_is_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(resolve=resolve)
    for host in (*INNER, *LOOPBACK[:40]):
        with pytest.raises(
            ToolError, match=r"public address|there is no host|user or a zone|not an address of the web"
        ):
            client.get(f"http://{host}/")


def test_a_name_that_leads_elsewhere_after_it_was_checked_leads_nowhere() -> None:
    with Server() as server, Server("127.0.0.2", server.port) as inner:
        server.paths |= {"/": text("open"), "/again": redirect(f"http://name.test:{server.port}/")}
        answers = {
            "later": [["127.0.0.1"], ["127.0.0.2"]],
            "beside": [["127.0.0.1", "127.0.0.2"]],
            "before": [["127.0.0.2", "127.0.0.1"]],
            "inner": [["127.0.0.2"]],
        }
        for kind, listed in answers.items():
            for path in ("/", "/again"):
                looked_up = iter([*listed, *itertools.repeat(["127.0.0.2"], 20)])
                client = Client(allow=[server.host], resolve=lambda host, port, looked_up=looked_up: next(looked_up))
                if (kind, path) == ("later", "/"):
                    assert client.get(f"http://name.test:{server.port}/").content == b"open"
                    continue
                with pytest.raises(ToolError, match="does not lead to a public address"):
                    client.get(f"http://name.test:{server.port}{path}")
        assert inner.hits == []
        assert {host for _, host in server.hits} == {f"name.test:{server.port}"}


@pytest.mark.parametrize("address", ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450::1"])
def test_hosts_of_the_internet_are_public(address: str) -> None:
    import ipaddress

    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("entry", ["localhost", "example.com:80", "127.0.0.1:x", "127.0.0.1:99999", "", "10.0.0.0/99"])
def test_only_addresses_can_be_allowed(entry: str) -> None:
    with pytest.raises(UsageError, match="a name can lead anywhere"):
        Client(allow=[entry])


def test_an_allowed_network_and_an_allowed_port_are_used(open_server: Server) -> None:
    for allow in ("127.0.0.1", open_server.host, "127.0.0.0/8"):
        assert Client(allow=[allow]).get(f"http://{open_server.host}/").content == b"open"
    with pytest.raises(ToolError, match="public address"):
        Client(allow=["127.0.0.1:1", "[::1]:80"]).get(f"http://{open_server.host}/")


def test_redirects_are_followed_a_few_times(open_server: Server) -> None:
    open_server.paths |= {f"/{number}": redirect(f"/{number - 1}", 308) for number in range(1, 9)} | {"/0": text("end")}
    client = Client(allow=[open_server.host])
    page = client.get(f"http://{open_server.host}/5")
    assert (page.content, page.url) == (b"end", f"http://{open_server.host}/0")
    with pytest.raises(ToolError, match="more than 5 redirects"):
        client.get(f"http://{open_server.host}/6")


# -- limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("packing", ["gzip", "deflate", "none", "chunked"])
def test_more_than_the_limit_is_neither_read_nor_unpacked(open_server: Server, packing: str) -> None:
    plain = b"x" * 50_000_000
    sent = {"gzip": gzip.compress, "deflate": zlib.compress}.get(packing, bytes)(plain)

    def chunked(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/plain")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        while True:
            handler.wfile.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")

    headers = {"Content_Encoding": packing} if packing in ("gzip", "deflate") else {}
    open_server.paths["/bomb"] = chunked if packing == "chunked" else body(sent, **headers)
    page = Client(allow=[open_server.host], max_bytes=100_000).get(f"http://{open_server.host}/bomb")
    assert page.is_cut and page.content == b"x" * 100_000


@pytest.mark.parametrize("packing", ["br", "zstd", "gzip, gzip", "compress", "x" * 100])
def test_a_packing_that_was_not_asked_for_is_refused(open_server: Server, packing: str) -> None:
    open_server.paths["/packed"] = body(b"abc", Content_Encoding=packing)
    with pytest.raises(ToolError, match="packed in a way"):
        Client(allow=[open_server.host]).get(f"http://{open_server.host}/packed")


def drip(part: str) -> Answer:
    """Return an answer that sends a byte now and then, for ever, in the headers or in the body."""

    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        begin = {
            "status": b"HTTP/1.1 200",
            "headers": b"HTTP/1.1 200 OK\r\nX: ",
            "body": b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n",
        }
        handler.wfile.write(begin[part])
        while True:
            handler.wfile.write(b"x")
            handler.wfile.flush()
            time.sleep(0.05)

    return answer


@pytest.mark.slow
@pytest.mark.parametrize("part", ["status", "headers", "body"])
def test_a_host_that_sends_a_byte_now_and_then_is_given_up(open_server: Server, part: str) -> None:
    open_server.paths["/slow"] = drip(part)
    start = time.monotonic()
    with pytest.raises(ToolError, match="took longer than 1 s"):
        Client(allow=[open_server.host], seconds=1).get(f"http://{open_server.host}/slow")
    assert time.monotonic() - start < 20


def test_broken_answers_are_errors_in_words(open_server: Server) -> None:
    def raw(content: bytes) -> Answer:
        return lambda handler: handler.wfile.write(content)

    open_server.paths |= {
        "/nothing": raw(b""),
        "/garbage": raw(b"\0\xff" * 1000),
        "/line": raw(b"HTTP/1.1 200 " + b"x" * 100_000),
        "/headers": raw(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 1000 + b"\r\n"),
        "/short": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"),
        "/packed": body(b"this is not gzip", Content_Encoding="gzip"),
        "/chunks": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
    }
    client = Client(allow=[open_server.host])
    for path in ("/nothing", "/garbage", "/line", "/headers", "/short", "/packed", "/chunks"):
        with pytest.raises(ToolError, match="was not fetched"):
            client.get(f"http://{open_server.host}{path}")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(ToolError, match="was not fetched"):
        Client(allow=["127.0.0.1"]).get(f"http://127.0.0.1:{port}/")


# -- TLS ---------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_over_tls_the_host_proves_the_name_and_not_the_address(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if not openssl:
        pytest.skip("this system has no openssl to make a certificate with")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=open.test"]
    made += ["-addext", "subjectAltName=DNS:open.test", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    seen: list[str] = []
    context.sni_callback = lambda connection, name, _: seen.append(name)
    with Server(tls=context) as server:
        server.paths["/"] = text("over TLS")
        options: dict[str, Any] = {"allow": [server.host], "resolve": resolve}
        client = Client(**options, certificates=str(cert))
        assert client.get(f"https://open.test:{server.port}/").content == b"over TLS"
        assert (seen, server.hits) == (["open.test"], [("/", f"open.test:{server.port}")])
        for url, other in (
            (f"https://inner.test:{server.port}/", client),
            (f"https://open.test:{server.port}/", Client(**options)),
        ):
            with pytest.raises(ToolError, match="its certificate is not valid"):
                other.get(url)


# -- the tool ----------------------------------------------------------------------------------------------------------


def test_a_page_becomes_text_with_its_links_and_without_what_is_hidden(open_server: Server) -> None:
    open_server.paths["/page"] = text(
        "<!doctype html><title>T</title><style>p { color: red }</style><script>evil()</script><h1>Bern</h1>"
        "<p>A <b>city</b> with <a href='/aare'>a river</a>.</p><p style='display:none'>hidden</p><!-- comment -->"
        "<ul><li>one<li>two</ul><table><tr><td>x<td>y</table>",
        "text/html",
    )
    shown = WebFetch(allow=[open_server.host]).fetch(f"http://{open_server.host}/page")
    assert shown.splitlines()[0] == f"[http://{open_server.host}/page · status 200 · text/html]"
    assert f"A city with [a river](http://{open_server.host}/aare)." in shown
    assert "* one" in shown and "x  y" in shown
    for word in ("evil", "hidden", "comment", "color", "<"):
        assert word not in shown.partition("\n")[2]


@pytest.mark.parametrize(
    ("content", "kind", "shown"),
    [
        ("Zürich".encode("latin-1"), "text/plain; charset=ISO-8859-1", "Zürich"),
        ("Zürich".encode("utf-16"), "text/plain", "Zürich"),
        ("\ufeffZürich".encode(), "text/plain; charset=latin-1", "Zürich"),
        ("Zürich".encode(), 'text/plain; charset="no-such-charset"', "Zürich"),
        ("Zürich".encode(), "text/plain; charset=utf-7", "Zürich"),
        (b"abc", "text/plain; charset=base64", "abc"),
        (b"\\ud800\\x41", "text/plain; charset=unicode_escape", "\\ud800\\x41"),
        (b"\\u202e", "text/plain; charset=raw-unicode-escape", "\\u202e"),
        (b"abc", "text/plain; charset=\xff", "abc"),
        ("東京".encode("shift_jis"), "text/plain; charset=Shift_JIS", "東京"),
        (b"\xff\xfeabc", "text/plain; charset=utf-8", "扡"),
        (b'{"a": 1}', "application/json", '{"a": 1}'),
        (b"", "text/plain", "(no text)"),
        (b"", "text/html", "(no text)"),
        (b"<html><body>x", "text/html", "x"),
        (b"<?xml version='1.0' encoding='utf-16'?><html><body>x", "text/html", "x"),
        (b"\0\1\2", "text/html", "\ufffd"),
    ],
)
def test_odd_encodings_are_read(open_server: Server, content: bytes, kind: str, shown: str) -> None:
    open_server.paths["/"] = body(content, kind)
    assert shown in WebFetch(allow=[open_server.host]).fetch(f"http://{open_server.host}/").partition("\n")[2]


@pytest.mark.parametrize(
    "kind", ["image/png", "application/pdf", "application/octet-stream", "application/zip", "video/mp4", "text", "x/y"]
)
def test_what_is_not_text_is_not_read(open_server: Server, kind: str) -> None:
    open_server.paths["/"] = body(b"x", kind)
    with pytest.raises(ToolError, match="was not read: it is"):
        WebFetch(allow=[open_server.host]).fetch(f"http://{open_server.host}/")
    assert is_text("application/ld+json") and is_text("text/html")


def test_a_long_page_is_read_in_parts(open_server: Server) -> None:
    open_server.paths["/"] = text("a" * 20_000 + "b" * 500)
    box = WebFetch(allow=[open_server.host])
    assert box.fetch(f"http://{open_server.host}/").endswith("a\n[500 more characters; go on with start=20000]")
    assert box.fetch(f"http://{open_server.host}/", 20_000).endswith("\n" + "b" * 500)


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        "<div>",
        "<!--",
        "</",
        "<a ",
        '<a b="',
        "<table><tr><td>",
        "<b><p>",
        "&#x",
        "<![CDATA[",
        "<svg><style>",
        "<p style='",
    ],
)
def test_hostile_html_is_read_in_linear_time(part: str) -> None:
    start = time.perf_counter()
    try:
        html_text("<html><body>" + part * (300_000 // len(part)), "http://open.test/")
    except ToolError:
        pass
    assert time.perf_counter() - start < 30  # comments alone take a parser of quadratic time a minute
