"""The bytes of a request: those of its JSON, for every API, dialect and chat, however they were put together."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_chats import HOST, grown, growths

from agentkit import tool
from agentkit.core.messages import Chat, message_from_dict
from agentkit.core.schema import Shape
from agentkit.models import dialects
from agentkit.models.anthropic import Anthropic
from agentkit.models.base import Request
from agentkit.models.dialects.base import Dialect
from agentkit.models.ollama import Ollama
from agentkit.models.openai import OpenAI
from agentkit.models.remote import Remote
from agentkit.models.structured_output import StructuredOutput

pytestmark = pytest.mark.slow

URL = f"http://{HOST}"
MODELS = {
    "openai": OpenAI("m", base_url=URL, settings={"top_k": 3}),
    "openai, reasoning": OpenAI("gpt-5", base_url=URL),
    "anthropic": Anthropic("m", base_url=URL),
    "anthropic, unmarked": Anthropic("m", base_url=URL, without=("cache_control",)),
    "ollama": Ollama("m", base_url=URL, settings={"num_ctx": 9, "think": True}),
}
SHAPE = Shape("City", {"type": "object", "properties": {"name": {"type": "string"}}})
DIALECTS: list[Dialect] = [*dialects.DIALECTS.values(), *(StructuredOutput(SHAPE, name) for name in dialects.DIALECTS)]


@tool
def add(a: int, b: int = 2) -> int:
    """Add two numbers — “Grüße”."""
    return a + b


@tool
def look_up(query: str) -> str:
    """Look something up."""
    return query


def as_sent(model: Remote, request: Request) -> bytes:
    """Return the JSON of a request as bytes, written in one go."""
    body = model.body(request)
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "replace")


@st.composite
def requests(draw: st.DrawFn, chat: Chat) -> Request:
    dialect = draw(st.sampled_from(DIALECTS))
    is_structured = isinstance(dialect, StructuredOutput)
    tools: Any = (SHAPE,) if is_structured else draw(st.sampled_from([(), (add,), (add, look_up)]))
    more = draw(st.sampled_from([{}, {"temperature": 0}, {"temperature": 0.0}, {"timeout": 3}, {"max_tokens": 5}]))
    choice = "required" if is_structured else draw(st.sampled_from(["auto", "none"]))
    return Request(chat, dialect, tools, draw(st.sampled_from(["thought", "plan"])), choice, more)


@pytest.mark.parametrize("name", MODELS)
@given(growth=growths, data=st.data())
@settings(max_examples=50, deadline=None)
def test_the_bytes_are_those_of_the_json(name: str, growth: Any, data: st.DataObject) -> None:
    for chat in grown(growth):
        request = data.draw(requests(chat))
        assert MODELS[name].encode(request) == as_sent(MODELS[name], request)


@pytest.mark.parametrize("name", MODELS)
def test_the_bytes_of_recorded_chats_are_those_of_their_json(name: str, recorded: Any) -> None:
    model = MODELS[name]
    for run in recorded("native_runs.jsonl"):
        chat = Chat.of([])
        for message in run["messages"]:
            chat = chat + message_from_dict(message)
        for turn in run["turns"]:
            chat = chat + message_from_dict(turn["response"]["choices"][0]["message"])
            chat = chat + [message_from_dict(result | {"role": "tool"}) for result in turn.get("tool_results", ())]
            for dialect in DIALECTS[:3]:
                request = Request(chat, dialect, (add,))
                assert model.encode(request) == as_sent(model, request)


def test_a_changed_setting_tool_or_instruction_is_sent_at_once() -> None:
    model, chat = OpenAI("m", base_url=URL, settings={"seed": 1}), Chat.of("q")
    native = dialects.get("native")

    def both(request: Request) -> Any:
        assert model.encode(request) == as_sent(model, request)
        return json.loads(model.encode(request))

    changing: dict[str, Any] = {"temperature": 1}
    assert both(Request(chat, native, (add,), settings=changing))["temperature"] == 1
    changing["temperature"] = True  # equal to 1, and still not the same JSON
    assert both(Request(chat, native, (add,), settings=changing))["temperature"] is True
    model.settings["seed"] = 2
    assert both(Request(chat, native, (add,)))["seed"] == 2
    assert [each["function"]["name"] for each in both(Request(chat, native, (look_up,)))["tools"]] == ["look_up"]
    assert both(Request(chat, native, (look_up,), choice="none"))["tool_choice"] == "none"
    model.without.add("stream_options")
    assert "stream_options" not in both(Request(chat, native, (look_up,)))
    assert both(Request(chat, dialects.get("text"), (look_up,)))["stop"] == ["\nObservation:"]


@pytest.mark.parametrize("name", MODELS)
def test_settings_can_replace_even_the_messages(name: str) -> None:
    request = Request(
        Chat.of("q"), dialects.get("native"), settings={"messages": [{"role": "user", "content": "mine"}]}
    )
    assert MODELS[name].encode(request) == as_sent(MODELS[name], request)


def test_an_empty_chat_has_an_empty_list_of_messages() -> None:
    for model in MODELS.values():
        request = Request(Chat.of([]), dialects.get("native"))
        assert model.encode(request) == as_sent(model, request) and b'"messages":[]' in model.encode(request)
