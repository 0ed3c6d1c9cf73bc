"""The pages of a server as HTML: nothing in them is markup but what the server wrote."""

from __future__ import annotations

import html.parser
import time

import pytest
from hostile_text import ATTACKS, RAW
from serve.test_page import TOKEN, WATCH, agent, get

from agentkit.serve import serve
from agentkit.serve.hub import Line
from agentkit.serve.web import list_html

MARKUP = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title><script>alert(1)</script>",
    "javascript:alert(1)",
    "' onmouseover='alert(1)",
    "&lt;b&gt;",
    "<!--",
    "]]>",
)


class Elements(html.parser.HTMLParser):
    """The elements of a page and their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def line(text: str, **changes: object) -> Line:
    values: dict[str, object] = {
        "id": text,
        "task": text,
        "status": text,
        "engine": text,
        "model": text,
        "cost": 0.5,
        "created": time.time() - 90,
        "updated": time.time(),
        "is_here": False,
        "session": text,
    }
    return Line(**{**values, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [*MARKUP, *ATTACKS])
def test_the_list_shows_hostile_texts_as_texts(text: str) -> None:
    harmless = Elements(list_html([(line("x"), "x", 5)], time.time()))
    written = list_html([(line(text), text, 5)], time.time())
    shown = Elements(written)
    assert [tag for tag, _ in shown.found] == [tag for tag, _ in harmless.found]
    assert [list(names) for _, names in shown.found] == [list(names) for _, names in harmless.found]
    assert not RAW.search(written)
    [link] = [attributes["href"] for tag, attributes in shown.found if tag == "a"]
    assert link is not None and link.startswith("/runs/") and link.count("/") == 3


def test_the_list_says_what_a_run_costs_and_which_ones_wait() -> None:
    lines = [(line("a", session=""), "waiting", 1234), (line("b", cost=None), "running", None)]
    text = Elements(list_html(lines, time.time())).text
    for part in ("1 run waits for you.", "waiting for you", "1,234 tokens", "$0.5000", "1 min ago", "session b"):
        assert part in text
    assert "session a" not in text
    assert "There are no runs yet" in list_html([], 0.0)


def test_the_pages_of_a_server_contain_no_script_and_no_style_of_their_own() -> None:
    with serve(agent(), token=TOKEN, watch_token=WATCH) as server:
        run = server.hub.start("".join(MARKUP), paused=True)
        for path in ("/", f"/runs/{run.id}/view", "/runs/nowhere/view"):
            status, text = get(server, path)
            assert status == (404 if "nowhere" in path else 200)
            page = Elements(text)
            scripts = [attributes for tag, attributes in page.found if tag == "script"]
            assert scripts == [{"type": "module", "src": "/static/page.js"}]
            assert not [tag for tag, attributes in page.found if tag in ("style", "img") or "style" in attributes]
            assert not [name for _, attributes in page.found for name in attributes if name.startswith("on")]


def test_only_the_files_of_the_pages_are_served() -> None:
    with serve(agent(), token=TOKEN, watch_token=WATCH) as server:
        for name in ("page.js", "page.css", "widget.js"):
            assert get(server, f"/static/{name}")[0] == 200
        for name in ("loader.js", "..%2f__init__.py", "../__init__.py", "%2e%2e/cli.py", "x", ""):
            assert get(server, f"/static/{name}")[0] in (404, 307)


def test_who_may_only_watch_is_not_offered_to_start_a_run() -> None:
    with serve(agent(), token=TOKEN, watch_token=WATCH) as server:
        assert 'id="start"' in get(server, "/")[1]
        assert 'id="start"' not in get(server, "/", WATCH)[1]
