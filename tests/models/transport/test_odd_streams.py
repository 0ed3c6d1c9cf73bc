"""Streams as some real hosts send them: the message beside its pieces, errors in every form, two messages in one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from loopback import Loopback, answer, cut, delta, gather, lines, message, parts, sse

from agentkit import Agent, tool
from agentkit.core.messages import Reply
from agentkit.errors import ContextOverflow, ModelBusy, ModelError, ModelGarbled
from agentkit.models.anthropic import Anthropic
from agentkit.models.ollama import Ollama
from agentkit.models.openai import OpenAI
from agentkit.models.stream_collector import StreamCollector
from agentkit.models.transport.stream_reader import StreamReader

MODEL = OpenAI("m", base_url="http://127.0.0.1:9/v1")
SIZES = pytest.mark.parametrize("size", [0, 1, 7])
WORDS = ("One ", "two ", "three.")


def read(raw: bytes, size: int = 0, model: Any = MODEL) -> Reply:
    reader, collector = StreamReader(model.parser(), model.endpoint), StreamCollector()
    gather(reader, cut(raw, size), collector)
    return collector.reply()


def beside(*words: str, finish: str | None = "stop") -> list[dict[str, Any]]:
    """Return chunks that hold the whole message so far beside each piece, as Perplexity sends them."""
    chunks = [delta(content=word) for word in words]
    for n, chunk in enumerate(chunks):
        chunk["choices"][0]["message"] = {"role": "assistant", "content": "".join(words[: n + 1])}
    chunks[-1]["choices"][0]["finish_reason"] = finish
    return chunks


def whole_message(content: Any, finish: str | None = "stop", **more: Any) -> dict[str, Any]:
    """Return a chunk that holds a whole message and no piece."""
    found = {"role": "assistant", "content": content, **more}
    return {"choices": [{"index": 0, "message": found, "finish_reason": finish}]}


# -- the message beside its pieces -------------------------------------------------------------------------------------


@SIZES
def test_a_message_beside_its_pieces_is_not_read_twice(size: int) -> None:
    assert read(sse(*beside(*WORDS), b"[DONE]"), size) == Reply("One two three.", finish="stop")


def test_a_message_beside_its_pieces_is_no_end() -> None:
    for count in range(1, len(WORDS)):
        with pytest.raises(ModelGarbled, match="without a finish reason"):
            read(sse(*beside(*WORDS, finish=None)[:count]))


@pytest.mark.slow
def test_a_message_beside_its_pieces_does_not_end_a_slow_stream() -> None:
    with Loopback([parts([sse(chunk) for chunk in beside(*WORDS)], pause=1.2)]) as host:
        assert Agent(OpenAI("m", base_url=host.url), journal=None).run("count").answer == "One two three."


@SIZES
@pytest.mark.parametrize("finish", [None, "stop"])
def test_a_last_frame_with_the_whole_message_does_not_double_it(size: int, finish: str | None) -> None:
    pieces = [delta(content=word) for word in WORDS]
    raw = sse(*pieces, delta(finish), whole_message("One two three."), b"[DONE]")
    assert read(raw, size) == Reply("One two three.", finish="stop")


def test_a_last_frame_with_the_whole_message_does_not_repeat_a_call() -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "add", "arguments": '{"a": 1}'}}
    raw = sse(delta(tool_calls=[call]), whole_message("", "tool_calls", tool_calls=[call]), b"[DONE]")
    assert [(call.id, call.arguments) for call in read(raw).calls] == [("c1", {"a": 1})]


def test_a_call_that_only_the_last_frame_holds_is_not_lost() -> None:
    call = {"id": "c1", "function": {"name": "add", "arguments": '{"a": 1}'}}
    raw = sse(delta(content="I add."), whole_message("I add.", "tool_calls", tool_calls=[call]), b"[DONE]")
    reply = read(raw)
    assert (reply.text, [call.name for call in reply.calls]) == ("I add.", ["add"])


def test_a_whole_message_beside_an_empty_piece_is_read() -> None:
    body = whole_message("hi")
    body["choices"][0]["delta"] = {"role": "assistant", "content": ""}
    assert read(json.dumps(body).encode()) == Reply("hi", finish="stop")


@SIZES
def test_one_whole_object_is_a_reply_without_a_finish_reason_but_a_frame_of_a_stream_is_not(size: int) -> None:
    assert read(json.dumps(whole_message("hi", None)).encode(), size) == Reply("hi", finish="stop")
    assert read(sse(whole_message("hi", None), b"[DONE]"), size) == Reply("hi", finish="stop")
    with pytest.raises(ModelGarbled, match="without a finish reason"):
        read(sse(whole_message("hi", None)), size)
    two = b"\n".join(json.dumps(whole_message(word, None)).encode() for word in WORDS[:2]) + b"\n"
    with pytest.raises(ModelGarbled, match="without a finish reason"):
        read(two, size)


# -- ends --------------------------------------------------------------------------------------------------------------


@SIZES
@pytest.mark.parametrize("end", [b"data: [DONE] \n\n", b"data:[DONE]\r\n\r\n", b"data:  [DONE]\t\n\n"])
def test_the_end_marker_may_have_spaces_around_it(end: bytes, size: int) -> None:
    assert read(sse(delta(content="hi")) + end, size) == Reply("hi", finish="stop")


@SIZES
def test_a_stream_of_nothing_but_a_role_is_not_a_reply(size: int) -> None:
    with pytest.raises(ModelGarbled, match="without a finish reason"):
        read(sse(delta(role="assistant", content=""), b"[DONE]"), size)


def test_a_second_message_in_one_stream_is_an_error_and_no_tool_runs() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "note", "input": {"text": "x"}}
    first = message(use, stop="tool_use", ends=False)
    ran: list[str] = []

    @tool
    def note(text: str) -> str:
        """Note a text."""
        ran.append(text)
        return "noted"

    with Loopback([answer(first + message(use, stop="tool_use"))]) as host:
        result = Agent(Anthropic("m", base_url=host.url, retries=0), [note], journal=None).run("go")
    assert isinstance(result.error, ModelGarbled) and "second message" in str(result.error) and ran == []


@SIZES
def test_nothing_after_the_end_of_a_message_belongs_to_it(size: int) -> None:
    model = Anthropic("m", base_url="http://127.0.0.1:9")
    hello, more = message({"type": "text", "text": "hello"}), message({"type": "text", "text": "more"})
    assert read(hello + more, size, model).text == "hello"
    stray = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "stray"}}
    assert read(hello + sse(stray), size, model).text == "hello"


@SIZES
def test_nothing_after_the_last_line_of_a_reply_belongs_to_it(size: int) -> None:
    hello = {"message": {"role": "assistant", "content": "hello"}, "done": True, "done_reason": "stop"}
    more = {"message": {"role": "assistant", "content": "more"}, "done": False}
    assert read(lines(hello, more), size, Ollama("m", base_url="http://127.0.0.1:9")).text == "hello"


# -- errors ------------------------------------------------------------------------------------------------------------

TOO_LONG = {"code": 400, "message": "the request exceeds the available context size, try increasing it"}
ERRORS: dict[str, tuple[bytes, type[ModelError], str]] = {
    "llama.cpp, as a field": (b"error: " + json.dumps(TOO_LONG).encode() + b"\n\n", ContextOverflow, "context size"),
    "FastChat": (sse({"text": "NETWORK ERROR. PLEASE REGENERATE.", "error_code": 50004}), ModelBusy, "NETWORK ERROR"),
    "vLLM": (sse({"object": "error", "message": "it broke", "type": "x", "code": 500}), ModelBusy, "it broke"),
    "FastAPI": (sse({"detail": "it broke"}), ModelError, "it broke"),
    "FastAPI, a list": (sse({"detail": [{"msg": "it broke"}]}), ModelError, "it broke"),
    "a gateway": (sse({"message": "Internal server error"}), ModelBusy, "Internal server error"),
    "a gateway that says success": (sse({"success": False, "msg": "it broke"}), ModelError, "it broke"),
    "an empty object": (sse({"error": {}}), ModelError, "an error without a text"),
    "a text": (sse({"error": "it broke"}), ModelError, "it broke"),
    "an event that is not JSON": (b"event: error\ndata: it broke\n\n", ModelError, "it broke"),
    "an event with a status": (b'event: error\ndata: {"code": 503, "message": "it broke"}\n\n', ModelBusy, "it broke"),
    "OpenRouter, in the choice": (
        sse({"choices": [{"index": 0, "delta": {}, "error": {"code": 502, "message": "it broke"}}]}),
        ModelBusy,
        "it broke",
    ),
    "in the choice, with a finish": (
        sse({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "error": {"message": "it broke"}}]}),
        ModelError,
        "it broke",
    ),
    "beside a piece": (sse(delta(content="x") | {"error": {"code": 500, "message": "it broke"}}), ModelBusy, "broke"),
}


@SIZES
@pytest.mark.parametrize("case", ERRORS)
def test_an_error_in_any_form_is_an_error_although_the_stream_ends_properly(case: str, size: int) -> None:
    error, kind, text = ERRORS[case]
    call = {"index": 0, "id": "c1", "function": {"name": "add", "arguments": '{"a": 1}'}}
    with pytest.raises(kind, match=text):
        read(sse(delta(content="Some text"), delta(tool_calls=[call])) + error + sse(b"[DONE]"), size)


@pytest.mark.parametrize("error", [{"error": {}}, {"error": {"message": "it broke"}}, {"message": "it broke"}])
@pytest.mark.parametrize("make", [Anthropic, Ollama])
def test_the_other_apis_report_errors_in_these_forms_too(make: Any, error: dict[str, Any]) -> None:
    model = make("m", base_url="http://127.0.0.1:9")
    raw = sse(error) if make is Anthropic else json.dumps(error).encode() + b"\n"
    with pytest.raises(ModelError, match="reported an error in its reply"):
        read(raw, model=model)


@pytest.mark.parametrize(
    "harmless",
    [{}, {"error": None, "choices": []}, {"choices": [], "prompt_filter_results": []}, {"type": "ping"}, {"id": "x"}],
)
def test_an_object_that_carries_neither_a_piece_nor_an_error_is_skipped(harmless: dict[str, Any]) -> None:
    raw = sse(delta(content="hi"), harmless, delta("stop") | {"error": None}, b"[DONE]")
    assert read(raw) == Reply("hi", finish="stop")


@SIZES
@pytest.mark.parametrize(
    "error",
    [
        {"error": {"code": 500, "message": "Failed to parse input at pos 12: <tool_call>", "type": "server_error"}},
        {"error": "error parsing tool call: raw='{', err=unexpected end of JSON input"},
    ],
)
def test_a_host_that_cannot_parse_what_its_model_wrote_is_not_called_busy(error: dict[str, Any], size: int) -> None:
    with pytest.raises(ModelGarbled, match="could not read what its model wrote") as raised:
        read(sse(delta(content="Some"), error), size)
    assert raised.value.transient
