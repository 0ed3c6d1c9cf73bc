"""The native dialect: calls that the API sent, and calls that a model only wrote into its text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentkit.core.messages import Call, Chat, Message, Reply, assistant, user
from agentkit.models import dialects
from agentkit.models.dialects.native import NOT_RUN
from agentkit.models.dialects.one_action_per_turn import EXTRA_ACTIONS
from agentkit.tools.call_parsing import call_from_api
from agentkit.tools.tool import Tool, tool

NATIVE = dialects.get("native")


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def now() -> str:
    """Tell the time."""
    return "noon"


TOOLS: tuple[Tool, ...] = (add, now, tool(now.function, name="ask a friend"))


def read(text: str = "", *calls: Call, finish: str = "stop") -> Reply:
    return NATIVE.read(Reply(text, calls, finish=finish), TOOLS)


def test_calls_keep_their_ids_and_get_one_if_they_have_none() -> None:
    reply = read("so", Call("add", {"a": 1, "b": 2}, "c1"), Call("now"), Call("now"))
    assert reply.calls[0].id == "c1" and len({call.id for call in reply.calls}) == 3
    assert reply == read("so", Call("add", {"a": 1, "b": 2}, "c1"), Call("now"), Call("now"))
    assert (reply.text, reply.answer) == ("so", None)


def test_a_name_as_the_api_writes_it_finds_its_tool() -> None:
    assert NATIVE.schemas(TOOLS)[2]["function"]["name"] == "ask_a_friend"
    assert read("", Call("ask_a_friend", {}, "x")).calls[0].name == "ask a friend"


def test_prose_is_the_answer() -> None:
    assert read("It is noon.").answer == "It is noon."
    assert read("<think>hm</think>It is noon.").answer == "It is noon."
    assert read("I know.\nFINAL_ANSWER: noon").answer == "noon"


def test_arguments_that_are_not_a_json_object_are_refused(recorded: Callable[[str], list[dict[str, Any]]]) -> None:
    for line in recorded("malformed_arguments.jsonl"):
        (call,) = read("", call_from_api("add", line["arguments"], "c")).calls
        assert call.problem and call.arguments == {} and call.raw == line["arguments"], line["id"]


@pytest.mark.parametrize(
    "written",
    ['{"a": 1', '"text"', "{'a': 1}", "[1]", "", "null", "x", '{"a": 1} {"b": 2}', "[" * 3000, '{"a":' * 3000],
)
def test_arguments_are_never_invented(written: str) -> None:
    call = call_from_api("add", written)
    assert call.problem and call.arguments == {} and call.raw == written


def test_empty_arguments_will_do_for_a_tool_that_takes_none() -> None:
    (call,) = read("", call_from_api("now", "", "c")).calls
    assert (call.arguments, call.problem) == ({}, "") and call.coerced


@pytest.mark.parametrize(
    "text",
    [
        '[TOOL_CALL: add]({"a": 1, "b": 2})',
        'I add them.\n[TOOL_CALL: add] ( {"a": 1, "b": 2} )',
        '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>',
        '<tool_call>\n{"name": "add", "parameters": {"a": 1, "b": 2}}\n</tool_call>',
        'I add them.\n```json\n{"tool_name": "add", "tool_args": {"a": 1, "b": 2}}\n```',
        '```\n{"action": "add", "action_input": {"a": 1, "b": 2}}\n```\n',
        '{"function": {"name": "add", "arguments": "{\\"a\\": 1, \\"b\\": 2}"}}',
        'Thought: I add.\nAction: add\nAction Input: {"a": 1, "b": 2}\nObservation: 3\nFINAL_ANSWER: 3',
    ],
)
@pytest.mark.parametrize("name", ["native", "json", "text"])
def test_a_call_written_into_the_text_is_read_in_every_dialect(text: str, name: str) -> None:
    (call,) = dialects.get(name).read(Reply(text), TOOLS).calls
    assert (call.name, call.arguments, call.problem) == ("add", {"a": 1, "b": 2}, "")


@pytest.mark.parametrize("name", ["native", "json", "text"])
def test_an_invented_result_for_a_tool_that_does_not_exist_is_believed_in_no_dialect(name: str) -> None:
    reply = dialects.get(name).read(Reply("Action: nope\nAction Input: {}\nObservation: 42\nFINAL_ANSWER: 42"), TOOLS)
    assert ([call.name for call in reply.calls], reply.answer) == (["nope"], None)
    assert reply.cut == "Observation: 42\nFINAL_ANSWER: 42"


@pytest.mark.parametrize(
    "text",
    [
        "The page says [TOOL_CALL: now]({}) somewhere.",
        '```json\n{"name": "Ann", "arguments": {}}\n```',
        '```json\n{"name": "now", "age": 3, "arguments": {}}\n```',
        '```json\n{"name": "now"}\n```',
    ],
)
def test_data_and_quotations_are_not_taken_for_calls(text: str) -> None:
    assert read(text).calls == () and read(text).answer == text


def test_several_calls_in_the_text_all_run_natively_and_only_the_first_elsewhere() -> None:
    both = '<tool_call>{"name": "now", "arguments": {}}</tool_call>\n<tool_call>{"name": "add", "arguments": {}}</tool_call>'
    assert [call.name for call in read(both).calls] == ["now", "add"]
    reply = dialects.get("text").read(Reply(both), TOOLS)
    assert [(call.name, bool(call.problem)) for call in reply.calls] == [("now", False), ("add", True)]
    assert reply.problems == (f"{EXTRA_ACTIONS} add was not run",)


def test_a_call_in_the_text_without_an_end_is_unreadable() -> None:
    reply = read('<tool_call>{"name": "add", "arguments": {"a": 1')
    assert (reply.readable, reply.calls) == (False, ())


def test_a_call_without_any_offered_tool_is_dropped() -> None:
    reply = NATIVE.read(Reply("done", (Call("add"),)), ())
    assert (reply.calls, reply.answer) == ((), "done") and reply.problems


def asked(*ids: str) -> Message:
    return assistant("", calls=tuple(Call("now", {}, id) for id in ids), dialect="native")


def result(id: str, text: str) -> Message:
    return Message("tool", text, call_id=id, name="now")


def test_results_follow_their_calls_directly_and_in_the_order_of_the_calls() -> None:
    chat = Chat.of(
        [user("q"), asked("a", "b", "c"), result("c", "3"), user("wait"), result("a", "1"), result("z", "?")]
    )
    _, first, *rest = NATIVE.render(chat, TOOLS)
    assert [call["id"] for call in first["tool_calls"]] == ["a", "b", "c"]
    assert [(m["role"], m["content"]) for m in rest] == [
        ("tool", "1"),
        ("tool", NOT_RUN),
        ("tool", "3"),
        ("user", "wait"),
        ("user", "Observation: ?"),
    ]
    assert [m["tool_call_id"] for m in rest[:3]] == ["a", "b", "c"]


def test_an_id_that_is_used_again_is_sent_as_another() -> None:
    chat = Chat.of([asked("a", "a"), result("a", "1"), result("a", "2"), asked("a"), result("a", "3"), asked("")])
    sent = list(NATIVE.render(chat, TOOLS))
    ids = [call["id"] for message in sent for call in message.get("tool_calls", ())]
    assert len(set(ids)) == 4
    assert [(m["tool_call_id"], m["content"]) for m in sent if m["role"] == "tool"] == list(
        zip(ids, ["1", "2", "3", NOT_RUN], strict=True)
    )
    assert list(NATIVE.render(chat, TOOLS)) == sent


def test_arguments_are_sent_as_json_text_and_the_provider_gets_its_opaque_data_back() -> None:
    reply = NATIVE.read(Reply("", (Call("add", {"a": 1}, "c"),), opaque={"signed": "x"}), TOOLS)
    message, *_ = NATIVE.render(Chat.of([]) + reply, TOOLS)
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"a": 1}
    assert message["opaque"] == {"signed": "x"}
    assert all(
        "opaque" not in view
        for name in ("text", "json")
        for view in dialects.get(name).render(Chat.of([]) + reply, TOOLS)
    )
