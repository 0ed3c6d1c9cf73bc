"""Recorded streams of real models: read correctly wherever the bytes are cut, and never taken for whole if they are
not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from loopback import Loopback, answer, cut, gather, parts

from agentkit import Agent, tool
from agentkit.core.messages import Chat, Reply
from agentkit.errors import ModelError, ModelGarbled
from agentkit.models import dialects
from agentkit.models.anthropic import Anthropic
from agentkit.models.base import Request
from agentkit.models.openai import OpenAI
from agentkit.models.remote import Remote
from agentkit.models.stream_collector import StreamCollector, collect
from agentkit.models.transport.stream_reader import StreamReader

pytestmark = pytest.mark.slow

OPENAI, ANTHROPIC = OpenAI("m", api_key="none"), Anthropic("m", api_key="none")
ASKED = Request(Chat.of("q"), dialects.get("native"))
SIZES = (0, 1, 7, 333)


def read(model: Remote, pieces: list[bytes]) -> tuple[StreamCollector, ModelError | None]:
    """Read pieces as a stream does; return what was collected, and the error that ended it."""
    reader, collector = StreamReader(model.parser(), model.endpoint), StreamCollector()
    try:
        gather(reader, pieces, collector)
    except ModelError as error:
        return collector, error
    return collector, None


def check_completion(line: dict[str, Any], reply: Reply, error: ModelError | None) -> None:
    """Compare a reply with the expected chat completion; a refusal is its text."""
    expected, usage = line["expected"], line["expected"]["usage"]
    assert reply.text == (expected["content"] or expected["refusal"] or ""), line["id"]
    assert reply.reasoning == expected["reasoning"], line["id"]
    calls = [{"id": call.id, "name": call.name, "arguments": call.raw or ""} for call in reply.calls]
    assert calls == expected["tool_calls"], line["id"]
    assert (error is None) == bool(expected["finish_reason"]), line["id"]
    finish = "refusal" if expected["refusal"] else expected["finish_reason"]
    assert error or reply.finish == finish, line["id"]
    if usage:
        assert reply.usage and (reply.usage.input, reply.usage.output) == (
            usage["prompt_tokens"],
            usage["completion_tokens"],
        )


@pytest.mark.parametrize("size", SIZES)
def test_openai_streams_are_read_as_expected(recorded: Any, size: int) -> None:
    lines = recorded("openai_streams.jsonl")
    assert len(lines) == 63
    for line in lines:
        collector, error = read(OPENAI, cut(line["raw"].encode(), size))
        collector.finish = collector.finish or "error"
        check_completion(line, collector.reply(), error)
        assert bool(error) == ("error_chunk" in line["flags"] and not line["expected"]["finish_reason"])


@pytest.mark.parametrize("size", SIZES)
def test_anthropic_streams_are_read_as_expected(recorded: Any, size: int) -> None:
    lines = recorded("anthropic_streams.jsonl")
    assert len(lines) == 18
    for line in lines:
        collector, error = read(ANTHROPIC, cut(line["raw"].encode(), size))
        assert error is None, line["id"]
        check_message(line, collector.reply())


def check_message(line: dict[str, Any], reply: Reply) -> None:
    """Compare a reply with the expected blocks."""
    blocks, usage = line["expected"]["content"], line["expected"]["usage"]
    assert reply.text == "".join(block["text"] for block in blocks if block["type"] == "text"), line["id"]
    assert reply.reasoning == "".join(block["thinking"] for block in blocks if block["type"] == "thinking"), line["id"]
    tools = [block for block in blocks if block["type"] == "tool_use"]
    assert [(call.id, call.name) for call in reply.calls] == [(block["id"], block["name"]) for block in tools], line[
        "id"
    ]
    stopped = line["expected"]["stop_reason"]
    if stopped == "max_tokens":  # the expected call was completed from arguments that were cut off: those do not run
        assert reply.finish == "length" and all(call.problem and not call.arguments for call in reply.calls)
    else:
        assert [call.arguments for call in reply.calls] == [block["input"] for block in tools], line["id"]
        assert reply.finish == {"end_turn": "stop", "tool_use": "tool_calls"}.get(stopped, stopped)
    cached = usage.get("cache_read_input_tokens", 0)
    read_in = usage["input_tokens"] + cached + usage.get("cache_creation_input_tokens", 0)
    assert reply.usage and (reply.usage.input, reply.usage.output, reply.usage.cached) == (
        read_in,
        usage["output_tokens"],
        cached,
    )
    signed = [block for block in blocks if block.get("signature")]
    kept = [block for block in (reply.opaque or {}).get("blocks", ()) if block.get("signature")]
    assert [(block["thinking"], block["signature"]) for block in kept] == [
        (block["thinking"], block["signature"]) for block in signed
    ]


@pytest.mark.parametrize("size", [0, 333])
def test_recorded_streams_are_read_the_same_over_a_socket(recorded: Any, size: int) -> None:
    for line in recorded("openai_streams.jsonl")[::4]:
        kind = "text/event-stream" if line["wire"] == "sse" else "application/x-ndjson"
        raw = line["raw"].encode()
        with Loopback([parts(cut(raw, size), kind=kind) if size else answer(raw, kind=kind)]) as host:
            model = OpenAI("m", base_url=host.url, retries=0)
            try:
                check_completion(line, collect(model(ASKED)), None)
            except ModelError as error:
                assert not line["expected"]["finish_reason"], error


def events(line: dict[str, Any]) -> Iterator[bytes]:
    """Yield the events of a stream, each with its terminator."""
    rest = line["raw"].encode()
    while rest:
        event, end, rest = rest.partition(b"\n" if line.get("wire") == "jsonlines" else b"\n\n")
        yield event + end


def test_no_stream_that_was_cut_off_between_two_events_passes_for_whole(recorded: Any) -> None:
    cuts = 0
    for model, name in ((OPENAI, "openai_streams.jsonl"), (ANTHROPIC, "anthropic_streams.jsonl")):
        for line in recorded(name):
            reader = StreamReader(model.parser(), model.endpoint)
            for event in events(line):
                if reader.parser.finish:
                    break
                with pytest.raises(ModelGarbled, match="cut off its reply"):
                    list(reader.end())
                cuts += 1
                try:
                    list(reader.feed(event))
                except ModelError:
                    break
    print(f"cut off in {cuts} places")
    assert cuts > 4000


def test_no_tool_runs_from_a_stream_that_was_cut_off(recorded: Any) -> None:
    ran: list[Any] = []
    lines = [
        line for line in recorded("openai_streams.jsonl") if "tool_calls" in line["flags"] and len(line["raw"]) < 6000
    ]
    assert len(lines) > 15
    for line in lines:
        pieces = list(events(line))
        end = next(n for n, piece in enumerate(pieces) if b'"finish_reason":"' in piece.replace(b" ", b""))
        tools = [acting(call["name"], ran) for call in line["expected"]["tool_calls"]]
        for n in range(1, end + 1):
            with Loopback([parts(pieces[:n])]) as host:
                result = Agent(OpenAI("m", base_url=host.url, retries=0), tools, journal=None).run("go")
            assert isinstance(result.error, ModelGarbled), (line["id"], n, result.error)
            assert result.run.status == "failed" and len(result.run.pending) == 1
    assert ran == []


def acting(name: str, ran: list[Any]) -> Any:
    """Return a tool that takes anything and records that it ran."""

    def act(**arguments: Any) -> str:
        ran.append((name, arguments))
        return "done"

    from agentkit.tools.tool import Tool

    return Tool(name, "Act.", {"type": "object", "properties": {}, "additionalProperties": True}, act, timeout=None)


def test_whole_responses_are_read_as_expected(recorded: Any) -> None:
    lines = recorded("tool_responses.jsonl")
    assert len(lines) == 84
    for line in lines:
        expected, body = line["expected"], json.dumps(line["response"])
        status = {200: "200 OK", 400: "400 Bad Request", 401: "401 Unauthorized", 429: "429 Too Many Requests"}[
            line["status"]
        ]
        with Loopback([answer(body, status, "application/json")]) as host:
            model = OpenAI("m", base_url=host.url, retries=0)
            if expected.get("error"):
                with pytest.raises(ModelError) as failed:
                    collect(model(ASKED))
                assert (failed.value.status, failed.value.transient) == (expected["status"], expected["retryable"]), (
                    line["id"]
                )
                continue
            reply = collect(model(ASKED))
        content = expected["content"] or expected["refusal"] or ""
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        assert reply.text == "".join(part["text"] for part in parts if part["type"] == "text"), line["id"]
        assert reply.reasoning == expected["reasoning"] or isinstance(content, list), line["id"]
        calls = [(call.name, call.arguments) for call in reply.calls]
        assert calls == [(call["name"], call["args"]) for call in expected["tool_calls"]], line["id"]
        assert reply.finish == (expected["finish_reason"] or "stop"), line["id"]


def test_malformed_arguments_never_run(recorded: Any) -> None:
    lines = recorded("malformed_arguments.jsonl")
    assert len(lines) == 15
    ran: list[Any] = []

    @tool
    def search(queries: list[str]) -> str:
        """Search."""
        ran.append(queries)
        return "found"

    from loopback import calling, completion

    for line in lines:
        with Loopback([answer(calling("search", line["arguments"])), answer(completion("sorry"))]) as host:
            result = Agent(OpenAI("m", base_url=host.url), [search], journal=None).run("go")
            result_text = host.got[1].json["messages"][-1]["content"]
        assert result.answer == "sorry" and "rguments" in result_text, line["id"]
    assert ran == []
