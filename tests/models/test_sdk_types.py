"""The official SDKs as judges: what agentkit sends, and what its own test host replies, fits their types strictly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anthropic
import openai
from anthropic.types import RawMessageStreamEvent
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from loopback import Loopback, answer, calling, completion, message
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter

from agentkit import Agent, tool
from agentkit.models.anthropic import Anthropic
from agentkit.models.openai import OpenAI
from agentkit.models.remote import Remote
from agentkit.models.tape import pieces_of


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def events(stream: bytes) -> list[Any]:
    data = [line.removeprefix(b"data: ") for line in stream.split(b"\n") if line.startswith(b"data: ")]
    return [json.loads(line) for line in data if line != b"[DONE]"]


def extras(model: Any) -> list[Any]:
    """Return everything in a pydantic object that its type does not know, at any depth."""
    if isinstance(model, list):
        return [extra for item in model for extra in extras(item)]
    if not hasattr(model, "model_fields_set"):
        return []
    own = list((model.model_extra or {}).items())
    return own + [extra for name in type(model).model_fields for extra in extras(getattr(model, name))]


def test_the_test_host_speaks_like_openai() -> None:
    for stream in (
        completion("hi", usage={"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}),
        calling("add", "{}"),
    ):
        for event in events(stream):
            chunk = ChatCompletionChunk.model_validate(event, strict=True)
            assert extras(chunk) == []
    with Loopback([answer(completion("hi"))]) as host, openai.OpenAI(base_url=host.url, api_key="k") as client:
        stream = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "q"}], stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == "hi"


def test_every_tape_of_this_repository_speaks_like_openai() -> None:
    tapes = sorted((Path(__file__).parents[2] / "notebooks" / "tapes").glob("*.json"))
    assert tapes
    for tape in tapes:
        for exchange in json.loads(tape.read_text(encoding="utf-8"))["exchanges"]:
            check(CompletionCreateParamsStreaming, json.dumps(exchange["request"]["body"]).encode())
            for event in events(b"".join(pieces_of(exchange["response"]))):
                assert extras(ChatCompletionChunk.model_validate(event, strict=True)) == []


def test_the_test_host_speaks_like_anthropic() -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
    stream = message({"type": "text", "text": "hi"}, {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}})
    for event in events(stream):
        assert extras(adapter.validate_python(event, strict=True)) == []
    with Loopback([answer(message({"type": "text", "text": "hi"}))]) as host:
        client = anthropic.Anthropic(base_url=host.url, api_key="k")
        with (
            client,
            client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "q"}]) as read,
        ):
            assert read.get_final_text() == "hi"


def talk(model: Remote) -> None:
    result = Agent(model, [add], instructions="Be brief.", journal=None).run("1+2?")
    assert result.answer == "three"


def check(kind: Any, body: bytes) -> None:
    """Check that a body fits the type of its parameters, and that the type knows all of its names."""
    sent = json.loads(body)
    TypeAdapter(kind).validate_python(sent)
    assert set(sent) <= set(kind.__annotations__) | {
        name for base in kind.__orig_bases__ for name in base.__annotations__
    }


def test_requests_to_openai_fit_its_types() -> None:
    with Loopback([answer(calling("add", '{"a": 1, "b": 2}')), answer(completion("three"))]) as host:
        talk(OpenAI("gpt-5-mini", base_url=host.url, api_key="k"))
        for got in host.got:
            check(CompletionCreateParamsStreaming, got.body)


def test_requests_to_anthropic_fit_its_types() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"}
    use = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1, "b": 2}}
    text_block = {"type": "text", "text": "three"}
    with Loopback([answer(message(thinking, use, stop="tool_use")), answer(message(text_block))]) as host:
        talk(Anthropic("claude-sonnet-4-5", base_url=host.url, api_key="k"))
        for got in host.got:
            check(MessageCreateParamsStreaming, got.body)
        assert host.got[0].headers["x-api-key"] == "k" and "authorization" not in host.got[0].headers
