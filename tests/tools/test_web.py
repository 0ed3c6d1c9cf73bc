"""The search: one function, a SearXNG instance, or what was recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from loopback import Loopback

from agentkit.errors import ToolError, UsageError
from agentkit.tools.builtin.web import RecordedSearch, SearXNG, WebSearch

FOUND = [
    {"title": f"Title {number}", "url": f"https://example.com/{number}", "text": "A line\nof text."}
    for number in range(1, 9)
]


def test_a_function_is_a_search_and_its_results_are_listed() -> None:
    asked = []

    def search(query: str, results: int) -> list[dict[str, str]]:
        asked.append((query, results))
        return FOUND

    shown = WebSearch(search).search("bern", 2)  # type: ignore[arg-type]
    assert asked == [("bern", 2)]
    assert (
        shown
        == "1. Title 1\n   https://example.com/1\n   A line of text.\n2. Title 2\n   https://example.com/2\n   A line of text."
    )
    assert WebSearch(lambda query, results: []).search("bern") == "Nothing was found."
    with pytest.raises(ToolError, match="query is empty"):
        WebSearch(lambda query, results: []).search(" ")


def response(content: object, status: str = "200 OK") -> bytes:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def test_a_searxng_instance_of_this_network_is_asked() -> None:
    results = [
        {"title": "Bern", "url": "https://example.com/", "content": "A city."},
        {"title": "No text", "url": "u", "content": None},
    ]
    with Loopback([response({"results": results})]) as host:
        shown = WebSearch(SearXNG(host.url)).search("bern & more")
        assert host.got[0].line == "GET /search?q=bern+%26+more&format=json HTTP/1.1"
    assert shown.startswith("1. Bern\n   https://example.com/\n   A city.\n2. No text")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (response({}, "403 Forbidden"), 'add "json" to search.formats'),
        (response({"results": 3}), "not with results"),
        (response(b"<html>"), "not with results"),
        (response([]), "not with results"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", "more than 0 redirects"),
    ],
)
def test_an_instance_that_does_not_answer_with_results_is_an_error(answer: bytes, error: str) -> None:
    with Loopback([answer]) as host, pytest.raises(ToolError, match=error):
        WebSearch(SearXNG(host.url)).search("bern")
    with pytest.raises(UsageError, match="begins with http"):
        SearXNG("localhost:8080")


def test_a_search_is_recorded_once_and_then_answered_from_the_file(tmp_path: Path) -> None:
    asked = []

    def search(query: str, results: int) -> list[dict[str, str]]:
        asked.append(query)
        return FOUND

    recording = RecordedSearch(tmp_path / "searches.json", search)  # type: ignore[arg-type]
    first = [recording("bern", 3), recording("bern", 3)]
    assert first == [FOUND[:3], FOUND[:3]] and asked == ["bern"]
    played = RecordedSearch(tmp_path / "searches.json")
    assert played("bern", 1) == FOUND[:1]
    with pytest.raises(ToolError, match="there is no recorded search for 'basel'"):
        played("basel", 1)
    (tmp_path / "searches.json").write_text("{")
    with pytest.raises(ToolError, match="cannot be read"):
        played("bern", 1)
