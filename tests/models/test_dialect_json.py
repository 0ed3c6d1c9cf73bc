"""The json dialect: one object per turn."""

from __future__ import annotations

import json

import pytest

from agentkit.core.messages import Chat, Message, Reply
from agentkit.models import dialects
from agentkit.models.dialects.one_action_per_turn import EXTRA_ACTIONS
from agentkit.tools.tool import Tool, tool

JSON = dialects.get("json")


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def search(query: str) -> str:
    """Find pages."""
    return query


TOOLS: tuple[Tool, ...] = (add, search)
CALL = {"type": "tool_call", "reasoning": "sum", "tool_name": "add", "tool_args": {"a": 1, "b": 2}}


def read(text: str, reasoning: str = "") -> Reply:
    return JSON.read(Reply(text, reasoning=reasoning), TOOLS)


@pytest.mark.parametrize("frame", ["{}", "```json\n{}\n```", "Here it is:\n{}\nDone.", "<think>{{}}</think>{}", "[{}]"])
def test_a_tool_call_is_found_whatever_surrounds_it(frame: str) -> None:
    reply = read(frame.format(json.dumps(CALL)))
    assert reply.text == "sum" and reply.answer is None
    assert [(call.name, call.arguments) for call in reply.calls] == [("add", {"a": 1, "b": 2})]


@pytest.mark.parametrize("kind", ["final_answer", "something_else"])
def test_any_other_type_is_a_final_answer(kind: str) -> None:
    reply = read(json.dumps({"type": kind, "reasoning": "known", "answer": "42"}))
    assert (reply.answer, reply.reasoning, reply.calls) == ("42", "known", ())


def test_an_answer_that_is_not_a_string_is_written_as_json() -> None:
    assert read('{"type": "final_answer", "answer": {"x": [1]}}').answer == '{"x": [1]}'


def test_without_reasoning_in_the_object_the_reasoning_channel_becomes_the_thought() -> None:
    assert read(json.dumps({**CALL, "reasoning": ""}), reasoning="from the channel").text == "from the channel"


def test_a_second_object_is_reported_and_not_run() -> None:
    reply = read(json.dumps(CALL) + "\n" + json.dumps({**CALL, "tool_name": "search"}))
    assert [(call.name, bool(call.problem)) for call in reply.calls] == [("add", False), ("search", True)]
    assert reply.problems[0].startswith(EXTRA_ACTIONS) and "search" in reply.problems[0]


@pytest.mark.parametrize(
    "text", ["It is 3.", '{"type": "tool_call", "tool_name": "add", "tool_args": {"a": 1', '{"sum": 3}']
)
def test_a_reply_that_is_neither_an_action_nor_an_answer_is_unreadable(text: str) -> None:
    reply = read(text)
    assert (reply.readable, reply.calls, reply.answer) == (False, (), text)


NESTED = '{"tool_name": "add", "tool_args": {"a": 1, "b": 2}}'


@pytest.mark.parametrize("finish", ["length", "stop"])
@pytest.mark.parametrize(
    "text",
    [
        '{"steps": [' + NESTED + ', {"tool_name": "ad',
        '{"steps": [' + NESTED,
        "{'steps': [" + NESTED + ", {'tool_name': 'ad",
        "{steps: [" + NESTED + ", {",
        '{"note": "a "quoted" word", "call": ' + NESTED + "}",
        '{"answer"; ' + NESTED + "}",
    ],
)
def test_a_call_inside_an_object_that_is_broken_or_was_cut_off_is_not_run(text: str, finish: str) -> None:
    reply = JSON.read(Reply(text, finish=finish), TOOLS)
    assert (reply.calls, reply.readable) == ((), False)


def test_a_brace_in_prose_does_not_hide_the_object_after_it() -> None:
    (call,) = JSON.read(Reply("I open with { and then: " + NESTED), TOOLS).calls
    assert (call.name, call.arguments) == ("add", {"a": 1, "b": 2})


def test_loose_json_is_read_and_reported() -> None:
    (call,) = read("{'type': 'tool_call', 'tool_name': 'add', 'tool_args': {'a': 1, 'b': 2}}").calls
    assert call.arguments == {"a": 1, "b": 2} and call.coerced


def test_arguments_as_a_string_follow_the_rules_of_the_text_dialect() -> None:
    assert read('{"type": "tool_call", "tool_name": "search", "tool_args": "rain"}').calls[0].arguments == {
        "query": "rain"
    }
    assert read('{"type": "tool_call", "tool_name": "add", "tool_args": "1, 2"}').calls[0].problem
    assert read('{"type": "tool_call", "tool_name": "add", "tool_args": [1, 2]}').calls[0].problem


def test_an_invented_observation_is_cut_off_in_json_too() -> None:
    reply = read(json.dumps(CALL) + '\nObservation: 3\n{"type": "final_answer", "answer": "3"}')
    assert len(reply.calls) == 1 and reply.cut.startswith("Observation:") and not reply.answer


def test_a_reply_in_the_text_protocol_is_understood_anyway() -> None:
    assert read("FINAL_ANSWER: 3").answer == "3"
    assert read("Action: add\nAction Input: {}").calls[0].name == "add"


def test_the_instructions_describe_the_tools_and_earlier_turns_are_sent_as_objects() -> None:
    reply = read(json.dumps(CALL))
    first, _, turn, result = JSON.render(
        Chat.of("1 + 2?") + reply + Message("tool", "3", call_id=reply.calls[0].id), TOOLS
    )
    assert json.dumps([tool.schema for tool in TOOLS], indent=2) in first["content"]
    assert '"type": "tool_call"' in first["content"] and '"type": "final_answer"' in first["content"]
    assert turn == {"role": "assistant", "content": json.dumps(CALL)}
    assert result == {"role": "user", "content": "Observation: 3"}


def test_without_tools_there_are_no_instructions_and_the_whole_text_is_the_answer() -> None:
    assert list(JSON.render(Chat.of("hi"), ())) == [{"role": "user", "content": "hi"}]
    assert JSON.read(Reply(json.dumps(CALL)), ()).answer == json.dumps(CALL)
