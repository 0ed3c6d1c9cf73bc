"""The doors of a server: which requests are let through, by the names, sites and tokens that they show."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agentkit.serve.guard import MAY, Guard

TOKEN, WATCH = "t0ken-that-lets-in", "t0ken-for-watching"
HOST = "127.0.0.1:8000"
BEARER = f"Bearer {TOKEN}"
COOKIE = f"other=1; agentkit-8000={TOKEN}"


class Asked:
    """What an application was asked, and what came back."""

    def __init__(self) -> None:
        self.scopes: list[Any] = []
        self.body = b""
        self.sent: list[Any] = []

    @property
    def status(self) -> int:
        return next((m["status"] for m in self.sent if m["type"].endswith("response.start")), 0)

    @property
    def headers(self) -> dict[str, str]:
        [start] = [m for m in self.sent if m["type"].endswith("response.start")]
        return {name.decode(): value.decode() for name, value in start["headers"]}

    @property
    def answer(self) -> Any:
        return json.loads(b"".join(m.get("body", b"") for m in self.sent if m["type"].endswith("response.body")))


def ask(
    path: str = "/runs",
    headers: dict[str, str] | None = None,
    *,
    method: str = "GET",
    type: str = "http",
    scheme: str = "",
    chunks: list[bytes] | None = None,
    messages: list[Any] | None = None,
    guard: Guard | None = None,
    **options: Any,
) -> Asked:
    """Send a request to a guard, and return what came of it. After its `messages`, nothing arrives any more."""
    asked = Asked()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.scopes.append(scope)
        if type == "websocket":
            await send({"type": "websocket.accept"})
            return
        if method == "POST":
            asked.body = (await receive())["body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    if type == "websocket":
        messages = [{"type": "websocket.connect"}]
    elif messages is None:
        chunks = chunks or [b""]
        messages = [
            {"type": "http.request", "body": chunk, "more_body": n + 1 < len(chunks)} for n, chunk in enumerate(chunks)
        ]
    waiting = iter(messages)

    async def receive() -> Any:
        for message in waiting:
            return message
        await asyncio.sleep(3600)

    async def send(message: Any) -> None:
        asked.sent.append(message)

    path, _, query = path.partition("?")
    given = {"host": HOST, **(headers or {})}
    scope: dict[str, Any] = {
        "type": type,
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "scheme": scheme or type.replace("websocket", "ws"),
        "headers": [(name.lower().encode(), value.encode()) for name, value in given.items() if value is not None],
        "server": ("127.0.0.1", 8000),
    }
    guard = guard or Guard(app, {TOKEN: "drive", WATCH: "watch"}, open_paths=["/health"], **options)
    guard.app = app
    asyncio.run(guard(scope, receive, send))
    return asked


LET_IN = {"authorization": BEARER}


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200),
        ("127.0.0.1", 200),
        ("127.8.9.1", 200),
        ("localhost:8000", 200),
        ("LOCALHOST", 200),
        ("[::1]:8000", 200),
        ("evil.example", 421),
        ("evil.example:8000", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("192.168.0.7:8000", 421),
        ("0.0.0.0:8000", 421),
        ("[::]:8000", 421),
        ("[::1", 421),
        ("127.0.0.1, evil.example", 421),
        ("evil.example@127.0.0.1", 200),  # no browser sends this; the name is that of this machine
        ("127.0.0.1:8000@evil.example", 421),
        ("", 421),
    ],
)
def test_a_request_is_answered_only_under_a_name_of_this_machine(host: str, status: int) -> None:
    assert ask(headers={**LET_IN, "host": host}).status == status
    assert ask("/health", headers={"host": host}).status == status


def test_another_name_has_to_be_passed() -> None:
    headers = {**LET_IN, "host": "Agents.example:443"}
    assert ask(headers=headers).status == 421
    assert ask(headers=headers, hosts=["agents.example"]).status == 200
    assert ask(headers=headers, hosts=["agents.example:8443", ""]).status == 200
    assert ask(headers={**headers, "host": ""}, hosts=[""]).status == 421


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (f"http://{HOST}", 200),
        (f"https://{HOST}", 200),  # a proxy may speak TLS
        ("http://127.0.0.1:8888", 403),
        ("http://127.0.0.1", 403),
        ("http://localhost:8000", 403),
        ("http://evil.example", 403),
        ("http://127.0.0.1:8000.evil.example", 403),
        ("null", 403),
        ("", 403),
        (HOST, 403),
    ],
)
def test_an_origin_has_to_be_this_server(method: str, origin: str, status: int) -> None:
    for let_in in (LET_IN, {"cookie": COOKIE}):
        assert ask(headers={**let_in, "origin": origin}, method=method).status == status


@pytest.mark.parametrize(
    ("site", "mode", "dest", "method", "status"),
    [
        ("same-origin", "cors", "empty", "GET", 200),
        ("same-origin", "cors", "empty", "POST", 200),
        ("none", "navigate", "document", "GET", 200),
        ("cross-site", "navigate", "document", "GET", 200),  # a person follows a link
        ("same-site", "navigate", "document", "GET", 200),
        ("cross-site", "navigate", "document", "POST", 403),  # a form of another site
        ("cross-site", "navigate", "iframe", "GET", 403),
        ("cross-site", "no-cors", "script", "GET", 403),
        ("cross-site", "no-cors", "image", "GET", 403),
        ("cross-site", "cors", "empty", "GET", 403),
        ("same-site", "cors", "empty", "GET", 403),  # another port of this machine
        ("same-site", "no-cors", "empty", "POST", 403),
    ],
)
def test_another_site_gets_nothing_unless_a_person_follows_a_link(
    site: str, mode: str, dest: str, method: str, status: int
) -> None:
    headers = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest}
    assert ask(headers={**headers, "cookie": COOKIE}, method=method).status == status


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/runs", {"authorization": BEARER}, 200),
        ("/runs", {"authorization": f"bearer  {TOKEN}"}, 200),
        (f"/runs?token={TOKEN}", {}, 200),
        (f"/runs?after=1.0&token={TOKEN}", {}, 200),
        ("/runs", {"cookie": COOKIE}, 200),
        ("/runs", {}, 401),
        ("/runs", {"authorization": "Bearer "}, 401),
        ("/runs", {"authorization": f"Bearer {TOKEN}x"}, 401),
        ("/runs", {"authorization": f"Bearer {TOKEN[:-1]}"}, 401),
        ("/runs", {"authorization": f"Basic {TOKEN}"}, 401),
        ("/runs", {"authorization": TOKEN}, 401),
        ("/runs?token=", {}, 401),
        ("/runs?token=%ff%00", {}, 401),
        ("/runs?token=wrong", {"cookie": COOKIE}, 401),  # what is shown on purpose counts
        ("/runs", {"cookie": f"agentkit-8001={TOKEN}"}, 401),  # of a server at another port
        ("/runs", {"cookie": f"xagentkit-8000={TOKEN}"}, 401),
        ("/runs", {"cookie": "agentkit-8000="}, 401),
        ("/health", {}, 200),
        ("/health/", {}, 401),
        ("/", {}, 401),
    ],
)
def test_a_request_needs_the_token(path: str, headers: dict[str, str], status: int) -> None:
    asked = ask(path, headers)
    assert asked.status == status and bool(asked.scopes) == (status == 200)
    if status == 401:
        assert asked.headers["www-authenticate"] == "Bearer" and TOKEN not in json.dumps(asked.answer)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"cookie": COOKIE}, 403),
        ({"cookie": COOKIE, "origin": f"http://{HOST}"}, 200),
        ({"cookie": COOKIE, "sec-fetch-site": "same-origin"}, 200),
        ({"cookie": COOKIE, "sec-fetch-site": "none"}, 403),
        ({"cookie": COOKIE, "authorization": BEARER}, 200),
        ({"authorization": BEARER}, 200),
    ],
)
def test_a_cookie_alone_changes_nothing(headers: dict[str, str], status: int) -> None:
    assert ask(headers=headers, method="POST").status == status
    assert ask(headers=headers, method="DELETE").status == status
    assert ask(headers=headers).status == 200


def test_a_token_for_watching_reads_and_changes_nothing() -> None:
    headers = {"authorization": f"Bearer {WATCH}"}
    seen = ask(headers=headers)
    assert seen.status == 200 and seen.scopes[0][MAY] == "watch"
    assert ask(headers=LET_IN).scopes[0][MAY] == "drive"
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        refused = ask(headers=headers, method=method)
        assert refused.status == 403 and not refused.scopes and "watching" in refused.answer["error"]
    socket = ask(headers={**headers, "origin": f"http://{HOST}"}, type="websocket")
    assert socket.scopes[0][MAY] == "watch"  # its messages are for the application to refuse


@pytest.mark.parametrize(
    ("headers", "is_let_in"),
    [
        ({"cookie": COOKIE, "origin": f"http://{HOST}"}, True),
        ({"authorization": BEARER}, True),
        ({"cookie": COOKIE}, False),
        ({"cookie": COOKIE, "origin": "http://evil.example"}, False),
        ({"cookie": COOKIE, "origin": "null"}, False),
        ({"authorization": BEARER, "host": "evil.example"}, False),
        ({"cookie": COOKIE, "origin": "http://127.0.0.1:8888", "sec-fetch-site": "same-site"}, False),
        ({}, False),
    ],
)
def test_a_websocket_is_let_in_like_a_request_that_changes_something(headers: dict[str, str], is_let_in: bool) -> None:
    asked = ask("/runs/x/socket", headers, type="websocket")
    assert bool(asked.scopes) == is_let_in
    assert asked.sent[0]["type"] == ("websocket.accept" if is_let_in else "websocket.close")


def test_a_page_is_sent_on_without_the_token_and_given_a_cookie() -> None:
    asked = ask(f"/runs/x/view?token={TOKEN}&a=b%20c", {"accept": "text/html,*/*"})
    assert asked.status == 303 and not asked.scopes
    assert asked.headers["location"] == "/runs/x/view?a=b+c"
    assert asked.headers["set-cookie"] == f"agentkit-8000={TOKEN}; Path=/; HttpOnly; SameSite=Lax"
    assert ask("/runs/x/view", {"cookie": asked.headers["set-cookie"].partition(";")[0]}).status == 200


def test_the_cookie_is_secure_behind_tls_and_the_way_stays_on_this_server() -> None:
    asked = ask(f"//evil.example/?token={TOKEN}", {"accept": "text/html"}, scheme="https")
    assert asked.headers["location"] == "/evil.example/"
    assert asked.headers["set-cookie"].endswith("; Secure")
    split = ask(f"/a\r\nx: y?token={TOKEN}", {"accept": "text/html"})
    assert split.headers["location"] == "/a%0D%0Ax%3A%20y"


def test_a_wrong_token_gives_no_cookie() -> None:
    asked = ask("/?token=wrong-but-long-enough", {"accept": "text/html"})
    assert asked.status == 401 and "set-cookie" not in asked.headers


@pytest.mark.parametrize("path", ["/runs", "/health", "/nothing"])
def test_each_answer_says_what_a_page_may_do(path: str) -> None:
    for headers in (LET_IN, {}, {"host": "evil.example"}):
        found = ask(path, headers).headers
        policy = found["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe-eval" not in policy
        assert "'unsafe-inline'" not in policy.partition("style-src")[0]  # no inline scripts
        assert found["referrer-policy"] == "no-referrer" and found["cache-control"] == "no-store"
        assert found["x-content-type-options"] == "nosniff" and found["x-frame-options"] == "DENY"
        assert found["cross-origin-opener-policy"] == found["cross-origin-resource-policy"] == "same-origin"
        assert not [name for name in found if name.startswith("access-control-")]


@pytest.mark.parametrize("with_length", [True, False])
@pytest.mark.parametrize(("size", "status"), [(1_000, 200), (1_001, 413), (2_000_000, 413)])
def test_a_body_that_is_too_large_is_refused_with_and_without_its_length(
    size: int, status: int, with_length: bool
) -> None:
    body = b"x" * size
    chunks = [body[start : start + 400] for start in range(0, size, 400)]
    headers = {**LET_IN, **({"content-length": str(size)} if with_length else {})}
    asked = ask(headers=headers, method="POST", chunks=chunks, max_body=1_000)
    assert asked.status == status and asked.headers["content-type" if status == 413 else "x-frame-options"]
    if status == 413:
        assert asked.answer == {"error": "the body of a request may have 1,000 bytes"} and not asked.scopes
    else:
        assert asked.body == body


def test_a_body_is_not_read_if_its_client_asks_first_or_may_not_send_it() -> None:
    headers = {**LET_IN, "content-length": "9" * 5_000, "expect": "100-continue"}
    assert ask(headers=headers, method="POST", chunks=[], max_body=10).status == 413
    assert ask(headers={"content-length": "5"}, method="POST", chunks=[]).status == 401


def test_a_client_that_leaves_within_a_body_starts_nothing() -> None:
    messages = [{"type": "http.request", "body": b'{"task"', "more_body": True}, {"type": "http.disconnect"}]
    asked = ask(headers=LET_IN, method="POST", messages=messages)
    assert asked.status == 400 and not asked.scopes


def test_a_body_that_does_not_arrive_is_not_waited_for() -> None:
    asked = ask(headers=LET_IN, method="POST", messages=[], body_timeout=0.01)
    assert asked.status == 408 and not asked.scopes


def test_too_many_requests_are_refused_and_wrong_tokens_do_not_use_up_the_rate() -> None:
    guard = Guard(None, {TOKEN: "drive"}, rate=0.001, burst=3)  # type: ignore[arg-type]
    assert [ask(headers={}, guard=guard).status for _ in range(10)] == [401] * 10
    statuses = [ask(headers=LET_IN, guard=guard).status for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]


def test_a_guard_without_tokens_lets_nobody_in() -> None:
    assert ask(headers={}, guard=Guard(None, {"": "drive"})).status == 401  # type: ignore[arg-type]
    assert ask("/?token=", headers={}, guard=Guard(None, {})).status == 401  # type: ignore[arg-type]
