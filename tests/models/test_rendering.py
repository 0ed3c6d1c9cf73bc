"""Rendering a chat: what it costs, that it never depends on what was rendered before, and how calls are grouped."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from random_chats import grown, growths

from agentkit import tool
from agentkit.core.messages import Call, Chat, Message, Reply, assistant
from agentkit.models import dialects
from agentkit.models.base import Request
from agentkit.models.dialects import native
from agentkit.models.dialects.native import NOT_RUN, wire_name
from agentkit.models.dialects.rendering import Rendering
from agentkit.models.openai import OpenAI
from agentkit.models.scripted import Scripted

pytestmark = pytest.mark.slow

NAMES = tuple(dialects.DIALECTS)


@tool
def add(a: int) -> int:
    """Add one."""
    return a + 1


def afresh(chat: Chat) -> Chat:
    """Return the same chat without anything that was rendered of it."""
    return Chat.of(list(chat))


@pytest.mark.parametrize("name", NAMES)
@given(growth=growths)
@settings(max_examples=100)
def test_a_chat_is_rendered_the_same_whatever_was_rendered_before(name: str, growth: Any) -> None:
    dialect = dialects.get(name)
    for chat in grown(growth):
        assert list(dialect.render(chat, ())) == list(dialect.render(afresh(chat), ()))


@given(growth=growths)
@settings(max_examples=100)
def test_calls_are_grouped_with_their_results_under_unique_ids(growth: Any) -> None:
    for chat in grown(growth):
        assert list(dialects.get("native").render(chat, ())) == grouped(chat)


def grouped(chat: Chat) -> list[dict[str, Any]]:
    """Return a chat as the native dialect must render it, in the most obvious way."""
    rendered: list[dict[str, Any]] = []
    used: dict[str, int] = {}
    messages = list(chat)
    while messages:
        message = messages.pop(0)
        if not message.calls:
            rendered.append(native._write(message))
            continue
        following = []
        while messages and messages[0].role != "assistant":
            following.append(messages.pop(0))
        results = []
        sent_ids = [unique(call.id or "call", used) for call in message.calls]
        for call, id in zip(message.calls, sent_ids, strict=True):
            result = next((each for each in following if each.role == "tool" and each.call_id == call.id), None)
            if result is None:
                view = {"role": "tool", "tool_call_id": id, "name": wire_name(call.name), "content": NOT_RUN}
            else:
                following = [each for each in following if each is not result]
                view = {**native._write_result(result), "tool_call_id": id}
            results.append(view)
        asked = native._write(message)
        asked["tool_calls"] = [{**sent, "id": id} for sent, id in zip(asked["tool_calls"], sent_ids, strict=True)]
        rendered += [asked, *results, *map(native._write, following)]
    return rendered


def unique(id: str, used: dict[str, int]) -> str:
    fresh = id
    while fresh in used:
        used[id] += 1
        fresh = f"{id}_{used[id]}"
    used[fresh] = 1
    return fresh


def turn(number: int) -> tuple[Reply, list[Message]]:
    call = Call("add", {"a": number}, f"call_{number}")
    return Reply("", (call,), dialect="native"), [Message("tool", str(number), call_id=call.id, name="add")]


@pytest.mark.parametrize("name", NAMES)
def test_a_long_chat_has_few_blocks_and_its_old_messages_are_not_written_again(name: str) -> None:
    dialect, chat, most = dialects.get(name), Chat.of("go"), 0
    rendering: Rendering | None = None
    for number in range(3_000):
        reply, results = turn(number)
        chat = chat + reply + results
        before, rendering = rendering, dialect.render(chat, ())
        most = max(most, len(rendering.blocks))
        if before and number % 500 == 0:
            old, new = list(before), list(rendering)
            assert all(first is second for first, second in zip(old, new[: len(old)], strict=True))
    assert most <= 50 and rendering and len(list(rendering)) == 6_001


def calls_made(work: Callable[[], Any]) -> int:
    """Return how many functions are called, in Python and in C, as a measure of work that does not depend on the
    machine.
    """
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", NAMES)
def test_a_turn_is_as_much_work_after_two_thousand_turns_as_after_twenty(name: str) -> None:
    """Also with a side question in every turn, as arounds ask them: the chat goes on without it, so each is a branch."""
    dialect, openai, chat = dialects.get(name), OpenAI("m", base_url="http://127.0.0.1:9"), Chat.of("go")
    scripted, work = Scripted("ok" for _ in itertools.repeat(None)), []
    for number in range(2_100):
        reply, results = turn(number)
        chat = chat + reply + results
        requests = [Request(chat, dialect, (add,)), Request(chat + f"side question {number}", dialect, (add,))]
        work.append(calls_made(lambda requests=requests: [openai.encode(request) for request in requests]))  # type: ignore[misc]
        work.append(calls_made(lambda requests=requests: [scripted(request) for request in requests]))  # type: ignore[misc]
    encoding, following_a_script = work[::2], work[1::2]
    assert sum(encoding[-100:]) < 2.5 * sum(encoding[20:120])
    assert set(following_a_script[-100:]) == set(following_a_script[20:120])


def test_a_chat_can_be_forked_anywhere_after_it_was_rendered() -> None:
    dialect, nodes = dialects.get("native"), [Chat.of("go")]
    for number in range(100):
        reply, results = turn(number)
        nodes.append(nodes[-1] + reply + results)
        dialect.render(nodes[-1], ())
    for node in nodes:
        fork = node + assistant("", calls=(Call("add", {}, "call_0"), Call("add", {}, "call_99")), dialect="native")
        assert list(dialect.render(fork, ())) == grouped(fork)
