"""The native dialect: calls that the API sent, and calls that a model only wrote into its text."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agentkit import Agent
from agentkit.core import finish_reasons
from agentkit.core.messages import Call, Chat, Message, Reply, assistant, user
from agentkit.models import Scripted, dialects
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


@tool
def look(place: str = "here", depth: int = 1) -> str:
    """Look around."""
    return place


@pytest.mark.parametrize("written", ["", " ", "null", "[]", '""', "None"])
def test_arguments_that_say_nothing_will_do_for_a_tool_that_needs_none(written: str) -> None:
    call = call_from_api("look", written, "c")
    (found,) = NATIVE.read(Reply("", (call,), finish="tool_calls"), (look,)).calls
    assert (found.arguments, found.problem) == ({}, "") and found.coerced
    (needed,) = read("", replace(call, name="add")).calls
    assert needed.problem


def test_empty_arguments_that_may_have_been_cut_off_are_refused_for_the_last_call() -> None:
    cut = tuple(call_from_api("look", "", id) for id in ("c1", "c2"))
    first, last = NATIVE.read(Reply("", cut, finish="length"), (look,)).calls
    assert not first.problem and last.problem


READABLE = [
    r'"{\"a\": 1}"',
    r'"\"{\\\"a\\\": 1}\""',
    '```json\n{"a": 1}\n```',
    '```\n{"a": 1}```',
    ' {"a": 1} ',
    '{"a": 1}}',
    '{"a": 1}\n```',
    '{"a": 1}</tool_call>',
    '{"a": 1}<|im_end|>',
    '{}{"a": 1}',
    '{"a": 1}{"a": 1}',
]
"""Arguments that are one object, whatever is around it."""

NOT_READABLE = [
    r'"{\"a\": 1"',
    '```json\n{"a": 1',
    '```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```',
    '{"a": 1}{"a": 2}',
    '{"a": 1} and {"b": 2}',
    '{"a": 1} or so',
    '{}{"a": ',
    '"{}" "{}"',
    '[{"a": 1}, {"a": 2}]',
]
"""Arguments that were cut off, or that could mean two things."""


@pytest.mark.parametrize("written", READABLE)
def test_arguments_are_read_whatever_is_around_them(written: str) -> None:
    call = call_from_api("add", written)
    assert (call.arguments, call.problem, call.raw) == ({"a": 1}, "", written)
    assert call.coerced or written.strip() == '{"a": 1}'


def test_a_raw_line_break_inside_an_argument_is_kept() -> None:
    call = call_from_api("add", '{"a": "x\ny"}')
    assert (call.arguments, call.problem) == ({"a": "x\ny"}, "") and call.coerced


@pytest.mark.parametrize("written", NOT_READABLE)
def test_arguments_that_were_cut_off_or_could_mean_two_things_are_refused(written: str) -> None:
    call = call_from_api("add", written)
    assert call.problem and call.arguments == {} and call.raw == written


@pytest.mark.parametrize(
    "text",
    [
        '[TOOL_CALL: add]({"a": 1, "b": 2})',
        'I add them.\n[TOOL_CALL: add] ( {"a": 1, "b": 2} )',
        '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>',
        '<tool_call>\n{"name": "add", "parameters": {"a": 1, "b": 2}}\n</tool_call>',
        '```json\n{"tool_name": "add", "tool_args": {"a": 1, "b": 2}}\n```',
        '```\n{"action": "add", "action_input": {"a": 1, "b": 2}}\n```\n',
        '{"function": {"name": "add", "arguments": "{\\"a\\": 1, \\"b\\": 2}"}}',
        'Thought: I add.\nAction: add\nAction Input: {"a": 1, "b": 2}\nObservation: 3\nFINAL_ANSWER: 3',
    ],
)
@pytest.mark.parametrize("name", ["native", "json", "text"])
def test_a_call_written_into_the_text_is_read_in_every_dialect(text: str, name: str) -> None:
    (call,) = dialects.get(name).read(Reply(text), TOOLS).calls
    assert (call.name, call.arguments, call.problem) == ("add", {"a": 1, "b": 2}, "")


FENCED = '```json\n{"tool_name": "add", "tool_args": {"a": 1, "b": 2}}\n```'


@pytest.mark.parametrize("text", [f"I add them.\n{FENCED}", f"{FENCED}\nThat is how you add.", f"So:\n{FENCED}\nDone."])
def test_a_fenced_call_beside_prose_is_an_example_for_a_model_that_can_make_calls(text: str) -> None:
    reply = read(text)
    assert (reply.calls, reply.answer) == ((), text)
    assert [call.name for name in ("json", "text") for call in dialects.get(name).read(Reply(text), TOOLS).calls] == [
        "add",
        "add",
    ]


def test_an_example_in_a_final_answer_runs_no_tool() -> None:
    ran: list[str] = []

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        ran.append(str(amount))
        return "paid"

    text = 'You would call it like this:\n\n```json\n{"name": "pay", "arguments": {"amount": 90}}\n```\n\nShall I?'
    result = Agent(Scripted([text]), [pay], dialect="native", journal=None).run("How do I pay?")
    assert (result.answer, ran) == (text, [])


@pytest.mark.parametrize("finish", ["length", "content_filter", "weird"])
@pytest.mark.parametrize("name", ["native", "json", "text"])
def test_a_call_in_a_reply_that_was_cut_short_is_reported(name: str, finish: str) -> None:
    written = {
        "native": Reply("", (Call("add", {"a": 1, "b": 2}, "c1"),), finish=finish),
        "json": Reply('{"type": "tool_call", "tool_name": "add", "tool_args": {"a": 1, "b": 2}} and', finish=finish),
        "text": Reply('Action: add\nAction Input: {"a": 1, "b": 2}\nThought: and', finish=finish),
    }
    reply = dialects.get(name).read(written[name], TOOLS)
    assert [call.name for call in reply.calls] == ["add"]
    assert reply.problems == finish_reasons.problems(finish) and len(reply.problems) == 1


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
