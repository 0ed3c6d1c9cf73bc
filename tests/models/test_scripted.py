"""The scripted model: what it returns, what it keeps, and how it ends."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest

from agentkit.core.messages import Call, Chat, Reply, Usage
from agentkit.errors import NotRecorded
from agentkit.models import dialects
from agentkit.models.base import Abilities, Chunk, Request
from agentkit.models.dialects.rendering import Rendering
from agentkit.models.dialects.text import Text
from agentkit.models.scripted import Echo, Scripted
from agentkit.models.stream_collector import collect
from agentkit.tools.tool import Tool, tool


@tool
def now() -> str:
    """Return the time."""
    return "noon"


def request(text: str = "q", dialect: str = "text") -> Request:
    return Request(Chat.of(text), dialects.get(dialect), (now,))


def test_the_script_is_followed_and_every_request_is_kept_as_it_would_be_sent() -> None:
    model = Scripted(["one", Reply("two"), lambda asked: asked.chat.last.text.upper()], usage=Usage(3, 1))
    replies: list[Any] = [model(request(text)) for text in ("a", "b", "c")]
    assert [reply.text for reply in replies] == ["one", "two", "C"]
    assert replies[0].usage == Usage(3, 1)
    assert [asked["messages"][-1]["content"] for asked in model.requests] == ["a", "b", "c"]
    assert model.requests[0] == request("a").to_dict() and "Action:" in model.requests[0]["messages"][0]["content"]
    assert [asked.chat.last.text for asked in model.raw_requests] == ["a", "b", "c"]  # type: ignore[union-attr]


class CountingText(Text):
    """The text dialect, which counts how often a chat is rendered."""

    rendered = 0

    def render(self, chat: Chat, tools: tuple[Tool, ...]) -> Rendering:
        self.rendered += 1
        return super().render(chat, tools)


def test_requests_are_rendered_only_when_they_are_looked_at() -> None:
    model, dialect = Scripted(["one", "two"]), CountingText()
    sent = [Request(Chat.of(text), dialect, (now,)) for text in ("a", "b")]
    expected = [request.to_dict() for request in sent]
    dialect.rendered = 0
    for request in sent:
        model(request)
    assert dialect.rendered == 0 and len(model.requests) == model.calls == 2
    assert model.requests[-1] == expected[-1] and dialect.rendered == 1
    assert model.requests == expected == list(model.requests) and model.requests[:1] == expected[:1]
    assert [] != model.requests != expected[:1] and repr(model.requests) == repr(expected)


def test_an_error_in_the_script_is_raised_and_the_script_goes_on() -> None:
    model = Scripted([OSError("down"), "up"])
    with pytest.raises(OSError, match="down"):
        model(request())
    assert model(request()).text == "up"  # type: ignore[union-attr]


def test_the_error_at_the_end_of_the_script_names_its_length_and_the_request() -> None:
    model = Scripted(["one"])
    model(request())
    with pytest.raises(NotRecorded, match=r"had 1 replies.*'what now\?'"):
        model(request("what now?"))
    assert len(model.requests) == 2


def test_a_script_may_be_endless() -> None:
    model = Scripted(f"reply {n}" for n in itertools.count())
    assert [model(request()).text for _ in range(3)] == ["reply 0", "reply 1", "reply 2"]  # type: ignore[union-attr]


def test_a_single_reply_is_refused_as_a_script() -> None:
    with pytest.raises(TypeError, match="list"):
        Scripted("hello")


def test_a_reply_can_be_streamed_in_pieces() -> None:
    reply_in_full = Reply("hello there", (Call("now", {"a": "ü"}, "c1"),), reasoning="because", usage=Usage(1, 2))
    model = Scripted([reply_in_full], abilities=Abilities(tools=True, stream=True), chunks=3)
    seen: list[Chunk] = []
    reply = collect(model(request()), seen.append)
    assert (reply.text, reply.reasoning, reply.usage, reply.finish) == (
        "hello there",
        "because",
        Usage(1, 2),
        "tool_calls",
    )
    assert [(call.name, call.arguments, call.id) for call in reply.calls] == [("now", {"a": "ü"}, "c1")]
    assert [chunk.text for chunk in seen if chunk.text] == ["hel", "lo ", "the", "re"]


def test_threads_share_one_script_without_losing_a_line() -> None:
    model, got = Scripted(map(str, range(200))), []
    start = threading.Barrier(4)

    def ask() -> None:
        start.wait()
        got.extend(model(request()).text for _ in range(50))  # type: ignore[union-attr]

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got, key=int) == list(map(str, range(200))) and len(model.requests) == 200


def test_echo_answers_with_the_last_user_message() -> None:
    reply = Echo()(request("hi"))
    assert dialects.get("text").read(reply, (now,)).answer == "hi"
