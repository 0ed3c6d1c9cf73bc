"""What counts as a whole reply, and what does not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from loopback import completion, cut, delta, gather, sse

from agentkit.core.messages import Reply
from agentkit.errors import ContextOverflow, ModelBusy, ModelError, ModelGarbled, ModelRejected
from agentkit.models.openai import OpenAI
from agentkit.models.stream_collector import StreamCollector
from agentkit.models.transport.stream_reader import StreamReader

pytestmark = pytest.mark.slow

MODEL = OpenAI("m", base_url="http://127.0.0.1:9/v1")
SIZES = pytest.mark.parametrize("size", [0, 1, 7])


def read(raw: bytes, size: int = 0, most: int = 1_000_000) -> Reply:
    reader, collector = StreamReader(MODEL.parser(), MODEL.endpoint, max_bytes=most), StreamCollector()
    gather(reader, cut(raw, size), collector)
    return collector.reply()


def calls(*deltas: list[dict[str, Any]]) -> bytes:
    return sse(*(delta(tool_calls=each) for each in deltas), delta("tool_calls"), b"[DONE]")


def piece(arguments: str = "", name: str = "", **more: Any) -> dict[str, Any]:
    return {"function": {"arguments": arguments, **({"name": name} if name else {})}, **more}


@SIZES
def test_the_done_marker_is_an_end_even_without_a_finish_reason(size: int) -> None:
    assert read(sse(delta(content="hi"), b"[DONE]"), size) == Reply("hi", finish="stop")


@SIZES
def test_a_name_and_an_id_that_are_repeated_in_every_piece_belong_to_one_call(size: int) -> None:
    raw = calls([piece('{"a"', "add", index=0, id="c1")], [piece(": 1}", "add", index=0, id="c1")])
    assert [(call.name, call.id, call.arguments) for call in read(raw, size).calls] == [("add", "c1", {"a": 1})]


@SIZES
def test_two_calls_with_the_same_index_stay_two(size: int) -> None:
    raw = calls([piece('{"a": 1}', "add", index=0, id="c1")], [piece('{"a": 2}', "add", index=0, id="c2")])
    assert [call.arguments for call in read(raw, size).calls] == [{"a": 1}, {"a": 2}]


@SIZES
def test_calls_without_an_index_are_distinguished_by_their_ids(size: int) -> None:
    raw = calls(
        [piece("", "add", id="c1")], [piece('{"a": 1}')], [piece("", "sub", id="c2")], [piece('{"b": '), piece("2}")]
    )
    assert [(call.name, call.arguments) for call in read(raw, size).calls] == [("add", {"a": 1}), ("sub", {"b": 2})]


@SIZES
@pytest.mark.parametrize("listed", ["one", "by index"])
def test_calls_in_an_object_instead_of_a_list_are_read(listed: str, size: int) -> None:
    whole = piece('{"a": 1}', "add", id="c1", type="function")
    raw = sse(delta(tool_calls=whole if listed == "one" else {"0": whole}), delta("tool_calls"), b"[DONE]")
    assert [(call.name, call.arguments) for call in read(raw, size).calls] == [("add", {"a": 1})]


def test_calls_of_a_whole_message_are_as_many_as_it_lists_whatever_their_indexes() -> None:
    listed = [piece("", "now", index=0), piece("", "now", index=0), piece("", "now")]
    body = {"choices": [{"message": {"content": None, "tool_calls": listed}, "finish_reason": "tool_calls"}]}
    assert len(read(json.dumps(body).encode()).calls) == 3


def test_the_first_of_several_choices_counts() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": None}]}
    raw = sse(
        delta(content="y"),
        other,
        delta(content="es"),
        {"choices": [{"index": 1, "delta": {}, "finish_reason": "stop"}]},
    )
    with pytest.raises(ModelGarbled):
        read(raw)
    assert read(raw + sse(delta("stop"))).text == "yes"


def test_content_in_parts_missing_fields_and_empty_choices_are_read() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, "b"]
    odd = [
        {"choices": []},
        {"choices": None},
        {},
        {"choices": [{}]},
        {"choices": [{"delta": None}]},
        {"choices": [None]},
    ]
    usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}
    reply = read(sse(*odd, {"choices": [{"delta": {"content": parts}}]}, delta("stop"), usage, b"[DONE]"))
    assert (reply.text, reply.reasoning) == ("ab", "hm")
    assert reply.usage and (reply.usage.input, reply.usage.output) == (3, 4)


@SIZES
def test_a_whole_object_over_many_lines_is_read_but_half_of_one_is_not(size: int) -> None:
    whole = json.dumps({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}, indent=2).encode()
    assert read(whole, size).text == "hi"
    with pytest.raises(ModelGarbled):
        read(whole[:-10], size)


@SIZES
@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"", "cut off its reply after 0 bytes"),
        (b"<!doctype html><title>Sign in</title>", "a web page"),
        (b"data: {nonsense\n\n", "not JSON"),
        (b"data: [1, 2]\n\n", "something other than an object"),
        (b"\x00\xff\xfe garbage \n\n\n", "not a reply .*garbage"),
        (sse(delta(content="hi")), "without a finish reason"),
        (b'{"choices": [{"message": {"cont', "not JSON"),
        (b'["a"]', r"not a reply \('\[\"a\"\]'\)"),
        (b"null\n", "not a reply .*null"),
    ],
)
def test_something_that_is_not_a_reply_is_an_error_that_says_so(raw: bytes, text: str, size: int) -> None:
    with pytest.raises(ModelGarbled, match=text) as failed:
        read(raw, size)
    assert "127.0.0.1:9" in str(failed.value) and "(m)" in str(failed.value)


@SIZES
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "overloaded", "type": "server_error"}, ModelBusy),
        ({"message": "too long", "code": "context_length_exceeded"}, ContextOverflow),
        ({"message": "bad tool"}, ModelRejected),
        ("plain words", ModelRejected),
    ],
)
def test_an_error_inside_a_stream_is_raised_as_that_error(error: Any, kind: type[ModelError], size: int) -> None:
    with pytest.raises(ModelError) as failed:
        read(sse(delta(content="half")) + sse({"error": error}), size)
    assert type(failed.value) is kind


def test_reading_stops_at_the_maximum_size() -> None:
    with pytest.raises(ModelGarbled, match="more than 1,000 bytes"):
        read(sse(delta(content="x" * 2000)), 100, most=1_000)


def test_the_reader_is_done_at_the_end_marker() -> None:
    reader = StreamReader(MODEL.parser(), MODEL.endpoint)
    list(reader.feed(completion("hi")))
    assert reader.done


@SIZES
@pytest.mark.parametrize("name", ["m", "M", "m-2026-01-01", "vendor/m", "", None, 5])
def test_a_host_that_answers_with_the_model_that_was_asked_is_not_reported(name: Any, size: int) -> None:
    assert read(sse(delta(content="hi") | {"model": name}, delta("stop")), size).problems == ()


@SIZES
def test_a_reply_says_which_other_model_gave_it(size: int) -> None:
    raw = sse(*(delta(content=word) | {"model": "qwen3-8b"} for word in ("One ", "two.")), delta("stop"))
    asked = OpenAI("qwen33", base_url="http://127.0.0.1:9/v1")
    reader, collector = StreamReader(asked.parser(), asked.endpoint), StreamCollector()
    gather(reader, cut(raw, size), collector)
    reply = collector.reply()
    assert (reply.text, reply.problems) == (
        "One two.",
        ("the model 'qwen3-8b' answered, not 'qwen33', which was asked",),
    )
