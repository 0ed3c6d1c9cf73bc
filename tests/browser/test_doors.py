"""The doors of a server, asked by a real browser: what its own pages may do, and what pages of others may not."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from browser.pages import LONG_ENOUGH
from playwright.sync_api import Page
from serving import TOKEN, Client, serving

from agentkit import Agent, Call, Reply, tool
from agentkit.models import Scripted
from agentkit.serve import Server

pytestmark = pytest.mark.slow

LISTEN = """
async ([path, names]) => {
    const seen = [];
    const source = new EventSource(path);
    window.seen = seen;
    for (const name of names) {
        source.addEventListener(name, (event) => {
            seen.push([name, event.lastEventId, event.data]);
            if (name === "done") source.close();
        });
    }
}
"""
NAMES = ["started", "step", "answer", "error", "done"]


def until(page: Page, check: Callable[[], Any]) -> None:
    """Wait until a check is true; the policy of our pages forbids the way in which Playwright waits for a script."""
    end = time.monotonic() + LONG_ENOUGH
    while not check():
        assert time.monotonic() < end, "it did not become true"
        page.wait_for_timeout(50)


@pytest.fixture
def go() -> Iterator[threading.Event]:
    go = threading.Event()
    yield go
    go.set()


@pytest.fixture
def agent(go: threading.Event) -> Agent:
    @tool(effect="pure", timeout=None)
    def wait() -> str:
        """Wait."""
        go.wait(LONG_ENOUGH)
        return "waited"

    return Agent(Scripted([Reply("", (Call("wait", {}, "c"),)), "the end"]), [wait], journal="memory")


@pytest.fixture
def served(agent: Agent) -> Iterator[tuple[Server, Client]]:
    with serving(agent) as pair:
        yield pair


@pytest.fixture
def other_site(served: tuple[Server, Client]) -> Iterator[str]:
    """Yield the address of a page of another server of this machine, which links to ours."""
    link = f'<!doctype html><title>other</title><a href="{served[0].url}/runs" id="link">runs</a>'

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(link.encode())

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=functools.partial(server.serve_forever, 0.05), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_an_event_source_of_a_browser_reads_a_run_and_goes_on_after_the_server_was_started_again(
    page: Page, agent: Agent, go: threading.Event
) -> None:
    with serving(agent) as (server, client):
        page.goto(server.address)
        assert page.url == f"{server.url}/" and TOKEN not in page.content()
        assert page.evaluate("document.cookie") == ""  # no script can read it
        id = client.start()
        page.evaluate(LISTEN, [f"/runs/{id}/events", NAMES])
        until(page, lambda: page.evaluate("window.seen.length >= 3"))
        port = server.port
    go.set()
    with serving(agent, port=port) as (_, client):
        until(page, lambda: page.evaluate("window.seen.some((frame) => frame[0] === 'done')"))
        seen = page.evaluate("window.seen")
        whole = [frame for frame in client.events(id) if frame.id]
    ids = [seen_id for n, (_, seen_id, _) in enumerate(seen) if seen_id and seen_id not in [s[1] for s in seen[:n]]]
    assert ids == [frame.id for frame in whole]
    assert [name for name, *_ in seen].count("started") == 1 and "the end" in seen[-1][2]


def test_a_page_of_another_server_of_this_machine_reads_and_changes_nothing(
    page: Page, served: tuple[Server, Client], other_site: str
) -> None:
    server, client = served
    id = client.start(paused=True)
    page.goto(server.address)  # the browser has the cookie, which is sent to every port
    page.goto(other_site)
    outcome = """
    async ([url, id]) => {
        const tried = async (path, options) => {
            try {
                const answer = await fetch(url + path, { credentials: "include", ...options });
                return answer.type === "opaque" ? "opaque" : answer.status;
            } catch { return "failed"; }
        };
        const loaded = (tag, path) => new Promise((done) => {
            const element = document.createElement(tag);
            element.onload = () => done("loaded");
            element.onerror = () => done("failed");
            element.src = url + path;
            document.body.append(element);
        });
        const socket = await new Promise((done) => {
            const socket = new WebSocket(url.replace("http", "ws") + `/runs/${id}/socket`);
            socket.onopen = () => done("open");
            socket.onclose = () => done("closed");
        });
        const events = await new Promise((done) => {
            const source = new EventSource(`${url}/runs/${id}/events`, { withCredentials: true });
            source.onopen = () => done("open");
            source.onerror = () => { source.close(); done("failed"); };
        });
        return {
            read: await tried("/runs", {}),
            post: await tried(`/runs/${id}/resume`, { method: "POST", body: "{}" }),
            blind: await tried(`/runs/${id}/resume`, { method: "POST", body: "{}", mode: "no-cors" }),
            script: await loaded("script", "/runs"),
            image: await loaded("img", "/runs"),
            socket,
            events,
        };
    }
    """
    found = page.evaluate(outcome, [server.url, id])
    assert set(found.values()) <= {"failed", "closed"}, found
    form = f'<form id="f" method="post" action="{server.url}/runs/{id}/resume" enctype="text/plain"></form>'
    page.set_content(form)
    with page.expect_response(lambda answer: answer.url.endswith("/resume")) as posted:
        page.evaluate("document.getElementById('f').submit()")
    assert posted.value.status == 403
    assert client.get(f"/runs/{id}").json()["status"] == "paused"


def test_a_page_without_an_origin_gets_no_websocket_and_no_stream(page: Page, served: tuple[Server, Client]) -> None:
    server, client = served
    id = client.start(paused=True)
    page.goto(server.address)
    page.goto("data:text/html,<title>nowhere</title>")
    found = page.evaluate(
        """([url, id]) => new Promise((done) => {
            const socket = new WebSocket(url.replace("http", "ws") + `/runs/${id}/socket`);
            socket.onopen = () => done("open");
            socket.onclose = () => done("closed");
        })""",
        [server.url, id],
    )
    assert found == "closed"


def test_a_person_who_follows_a_link_of_another_page_is_let_in_and_the_page_is_in_no_frame(
    page: Page, served: tuple[Server, Client], other_site: str
) -> None:
    server, client = served
    client.start(paused=True)
    page.goto(other_site)
    with page.expect_response(lambda answer: answer.url.endswith("/runs")) as answered:
        page.click("#link")
    assert answered.value.status == 401  # without the cookie
    page.goto(server.address)
    page.goto(other_site)
    with page.expect_response(lambda answer: answer.url.endswith("/runs")) as answered:
        page.click("#link")
    assert answered.value.status == 200
    page.goto(other_site)
    page.evaluate(
        "(url) => { const f = document.createElement('iframe'); f.src = url; document.body.append(f); }", server.address
    )
    until(page, lambda: len(page.frames) > 1 and page.frames[1].url.startswith("chrome-error:"))


def test_no_script_within_a_page_is_run(page: Page, served: tuple[Server, Client]) -> None:
    server, _ = served
    page.goto(server.address)
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.inline = true";
            document.head.append(script);
            const button = document.createElement("button");
            button.setAttribute("onclick", "window.handler = true");
            document.body.append(button);
            button.click();
        }"""
    )
    assert page.evaluate("[window.inline, window.handler]") == [None, None]
