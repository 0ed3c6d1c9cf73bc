"""Anthropic's prompt cache: what is marked for it, and what it costs."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from loopback import Loopback, answer, fault, message
from pydantic import TypeAdapter

from agentkit import Agent, tool
from agentkit.core.usage import Usage
from agentkit.models.anthropic import Anthropic
from agentkit.models.prices import Price, price_of
from agentkit.models.stream_collector import collect

MARK = {"type": "ephemeral"}
USE = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1, "b": 2}}
SCRIPT: list[Any] = [answer(message(USE, stop="tool_use")), answer(message({"type": "text", "text": "three"}))]


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def sent(script: list[Any] = SCRIPT, instructions: str = "Be brief.", tools: Any = (add,), **more: Any) -> list[Any]:
    with Loopback(list(script)) as host:
        model = Anthropic("claude-sonnet-4-5", base_url=host.url, **more)
        assert Agent(model, list(tools), instructions=instructions, journal=None).run("1+2?").answer == "three"
        return [got.json for got in host.got]


def test_the_beginning_and_the_end_of_a_request_are_marked_in_a_form_that_the_sdk_accepts() -> None:
    first, second = sent()
    for body in (first, second):
        TypeAdapter(MessageCreateParamsStreaming).validate_python(body)
        assert body["cache_control"] == body["system"][-1]["cache_control"] == MARK
    assert second["messages"][: len(first["messages"])] == first["messages"] and second["tools"] == first["tools"]
    assert str(second).count("cache_control") == 2


def test_without_a_system_prompt_the_tools_are_marked_and_with_neither_only_the_end() -> None:
    from agentkit.core.messages import Chat
    from agentkit.models import dialects
    from agentkit.models.base import Request

    model = Anthropic("m", base_url="http://127.0.0.1:9")
    body = model.body(Request(Chat.of("q"), dialects.get("native"), (add,)))
    assert "system" not in body and body["tools"][-1]["cache_control"] == MARK
    assert str(model.body(Request(Chat.of("q"), dialects.get("native")))).count("cache_control") == 1


def test_the_marks_can_be_switched_off_or_set_to_last_longer() -> None:
    assert "cache_control" not in str(sent(without=("cache_control",)))
    hour = {"type": "ephemeral", "ttl": "1h"}
    assert {str(body["system"][-1]["cache_control"]) for body in sent(settings={"cache_control": hour})} == {str(hour)}


def test_a_gateway_that_does_not_know_the_marks_is_asked_without_them_from_then_on() -> None:
    picky = fault("400 Bad Request", "cache_control: Extra inputs are not permitted")
    refused, *others = sent([picky, *SCRIPT])
    assert "cache_control" in refused and len(others) == 2 and "cache_control" not in str(others)


def test_storing_in_the_cache_and_reading_from_it_have_their_own_prices() -> None:
    model = Anthropic("claude-sonnet-4-5", base_url="http://127.0.0.1:9")
    parser = model.parser()
    usage_report = {
        "input_tokens": 1_000_000,
        "cache_creation_input_tokens": 1_000_000,
        "cache_read_input_tokens": 1_000_000,
    }
    whole = {"type": "message", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"}
    usage = collect(parser.event("", {**whole, "usage": {**usage_report, "output_tokens": 1_000_000}})).usage
    assert usage and (usage.input, usage.cached, usage.output) == (3_000_000, 1_000_000, 1_000_000)
    assert usage.cost == pytest.approx(3 + 3.75 + 0.3 + 15)


def test_a_price_without_cache_prices_is_the_same_for_all_input() -> None:
    assert Price(2, 0).of(Usage(input=1_000_000, cached=400_000), 500_000) == 2
    assert price_of("claude-haiku-4-5-20251001") == Price(1, 5, 0.1, 1.25)
