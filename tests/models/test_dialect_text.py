"""The text dialect: what a model is shown, and how its lines are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentkit.core.messages import Chat, Message, Reply, assistant, system, user
from agentkit.models import dialects
from agentkit.models.dialects.one_action_per_turn import EXTRA_ACTIONS
from agentkit.tools.tool import Tool, tool

TEXT = dialects.get("text")
ONE_TEXT = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


@tool
def search(query: str) -> str:
    """Find pages."""
    return query


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def now() -> str:
    """Tell the time."""
    return "noon"


TOOLS: tuple[Tool, ...] = (search, add, now, tool(search.function, name="Ask a friend"))


def read(text: str, finish: str = "") -> Reply:
    return TEXT.read(Reply(text, finish=finish), TOOLS)


def act(name: str, written: str) -> Reply:
    return read(f"Thought: so\nAction: {name}\nAction Input: {written}")


def test_recorded_turns_are_read_as_an_honest_parser_would(recorded: Callable[[str], list[dict[str, Any]]]) -> None:
    for line in recorded("react_text.jsonl"):
        expected = line["expected"]
        arguments = expected.get("text", expected.get("args"))
        takes = ONE_TEXT if isinstance(arguments, str) else {"type": "object", "properties": {}}
        known = Tool(expected.get("tool") or "search", "", takes, lambda **_: None)
        reply = TEXT.read(Reply(line["input"]), (known, add))
        if expected["kind"] == "action":
            (call,) = reply.calls
            assert (call.name, call.problem) == (expected["tool"], ""), line["id"]
            assert call.arguments == ({"query": arguments} if isinstance(arguments, str) else arguments), line["id"]
        else:
            assert reply.calls == (), line["id"]
            assert reply.answer == expected["answer"] if expected["kind"] == "final" else not reply.readable, line["id"]
        assert bool(reply.cut) is line["invented_observation"], line["id"]


def test_the_instructions_come_first_and_only_if_there_are_tools() -> None:
    chat = Chat.of([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather?"}])
    first, *others = TEXT.render(chat, TOOLS)
    assert others == list(TEXT.render(chat, ()))
    assert others == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather?"}]
    assert first["role"] == "system"
    for marker in ("Thought:", "Action:", "Action Input:", "Observation:", "FINAL_ANSWER:"):
        assert marker in first["content"]
    assert json.dumps([tool.schema for tool in TOOLS], indent=2) in first["content"]


def test_a_turn_is_sent_back_as_the_model_wrote_it_and_its_result_as_an_observation() -> None:
    written = 'Thought: I look.\nAction: search\nAction Input: {"query": "rain"}'
    reply = read(written)
    chat = (
        Chat.of("Weather?") + reply + Message("tool", "wet\nFINAL_ANSWER: no", call_id=reply.calls[0].id, name="search")
    )
    assert list(TEXT.render(chat, TOOLS))[2:] == [
        {"role": "assistant", "content": written},
        {"role": "user", "content": "Observation: wet\nFINAL_ANSWER: no"},
    ]
    assert reply.text == "I look."


def test_an_invented_observation_and_what_follows_is_cut_off_and_kept_apart() -> None:
    honest = 'Thought: a\nAction: search\nAction Input: {"query": "x"}\n'
    reply = read(honest + "Observation: made up\nFINAL_ANSWER: 42")
    assert reply.calls[0].arguments == {"query": "x"} and reply.answer is None
    assert (reply.raw, reply.cut) == (honest, "Observation: made up\nFINAL_ANSWER: 42")
    assert len(reply.problems) == 1


@pytest.mark.parametrize(
    "text",
    [
        'Thought: a\nAction: search\nAction Input: {"query": "x"}\nFINAL_ANSWER:  42 \n',
        'Thought: a\nFinal Answer: 42\n\nAction: search\nAction Input: {"query": "x"}',
        "```\nThought: a\nFinal Answer: 42\n```",
        "**Thought:** a\n**Final Answer:** 42",
        "Thought: a\r\nFINAL_ANSWER: 42\r\n",
        "Thought: a\n**FINAL_ANSWER: 42**",
    ],
)
def test_a_final_answer_takes_precedence_over_an_action(text: str) -> None:
    reply = read(text)
    assert (reply.answer, reply.text, reply.calls, reply.reasoning) == ("42", "42", (), "a")


def test_a_fence_that_is_part_of_the_answer_stays() -> None:
    assert read("FINAL_ANSWER:\n```python\nprint(1)\n```").answer == "```python\nprint(1)\n```"


@pytest.mark.parametrize(
    "name", ["**search**", "`search`", "search(query)", "Search", '"search"', "ask_a_friend", "Ask a friend"]
)
def test_a_decorated_name_finds_its_tool(name: str) -> None:
    assert act(name, '{"query": "x"}').calls[0].name == ("Ask a friend" if "friend" in name else "search")


def test_an_unknown_tool_keeps_its_name_without_decoration() -> None:
    assert act("**look_up**", '{"x": 1}').calls[0].name == "look_up"


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ('{"a": {"b": [1, {"c": "}"}]}}', {"a": {"b": [1, {"c": "}"}]}}),
        ('{\n  "a": {"b":\n [1, {"c": "}"}]}}', {"a": {"b": [1, {"c": "}"}]}}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('`{"a": 1}`', {"a": 1}),
        ("{'a': 1, 'b': None, 'c': True}", {"a": 1, "b": None, "c": True}),
        ('{"a": 1, /* one */ "b": 2, // two\n}', {"a": 1, "b": 2}),
        ('{a: "it\'s"}', {"a": "it's"}),
        ('{"a": "the "best" of all"}', {"a": 'the "best" of all'}),
        ('{"a": "two\nlines\nAction: none"}', {"a": "two\nlines\nAction: none"}),
        ('{"a": 1}, or something like it.', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
    ],
)
def test_arguments_are_read_however_they_are_written(written: str, arguments: dict[str, Any]) -> None:
    call = act("add", written).calls[0]
    assert (call.arguments, call.problem) == (arguments, "")


@pytest.mark.parametrize("written", ["{'a': 1}", '{"a": 1,}', '{"a": "x "y" z"}', '{"a": 1} I hope'])
def test_mended_arguments_are_reported(written: str) -> None:
    assert act("add", written).calls[0].coerced


@pytest.mark.parametrize(
    "written",
    [
        '{"a": 1, "b": ',
        '{"a": "wea',
        "{",
        "{'a",
        '{"a": [1, 2}',
        "{invalid",
        "1, 2",
        "[1, 2]",
        '"1"',
        "",
        "[" * 5000,
        "{" * 5000,
    ],
)
def test_arguments_that_cannot_be_used_are_never_invented(written: str) -> None:
    call = act("add", written).calls[0]
    assert call.problem and call.arguments == {}


def test_in_a_reply_that_was_cut_off_a_complete_object_is_used_but_a_text_is_not() -> None:
    assert read('Action: search\nAction Input: {"query": "x"}', "length").calls[0].problem == ""
    assert "cut off" in read("Action: search\nAction Input: the weath", "length").calls[0].problem


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("rain in Oslo", "rain in Oslo"),
        ('"rain in Oslo"', "rain in Oslo"),
        ('"rain in Oslo', "rain in Oslo"),
        ("'rain'", "rain"),
        ("[rain] {Oslo}", "[rain] {Oslo}"),
        ('"a" or "b"', '"a" or "b"'),
        ("```sql\nselect 1\n```", "select 1"),
        ("None", "None"),
    ],
)
def test_a_bare_text_becomes_the_only_text_argument_of_a_tool_and_this_is_reported(written: str, text: str) -> None:
    call = act("search", written).calls[0]
    assert call.arguments == {"query": text} and call.coerced and call.raw == written


@pytest.mark.parametrize("written", ["{}", "None", "", "n/a"])
def test_a_tool_without_arguments_runs_with_an_empty_input(written: str) -> None:
    call = act("now", written).calls[0]
    assert (call.arguments, call.problem) == ({}, "")


@pytest.mark.parametrize(
    "text",
    [
        "It will rain.",
        "Thought: I should search.",
        "Action: search",
        "Action: now",
        'Action Input: {"query": "x"}',
        'Action Input: {"query": "x"}\nAction: search',
        'Action: \nAction Input: {"query": "x"}',
        'I will write "FINAL_ANSWER: 42" later.',
    ],
)
def test_a_reply_that_follows_no_rule_is_unreadable_and_runs_nothing(text: str) -> None:
    reply = read(text)
    assert (reply.readable, reply.calls, reply.answer, reply.dialect) == (False, (), text.strip(), "")


@pytest.mark.parametrize("text", ["", "  \n", "<think>What now?</think>", "<thinking>never closed"])
def test_an_empty_reply_is_readable(text: str) -> None:
    reply = read(text)
    assert (reply.readable, reply.answer, reply.calls) == (True, "", ())


def test_a_second_action_is_reported_by_its_name() -> None:
    action = 'Thought: a\nAction: {}\nAction Input: {{"query": "x"}}\n'
    reply = read(action.format("search") + action.format("look_up"))
    assert [(call.name, bool(call.problem)) for call in reply.calls] == [("search", False), ("look_up", True)]
    assert reply.problems == (f"{EXTRA_ACTIONS} look_up was not run",)


def test_markers_inside_thinking_are_ignored() -> None:
    reply = read("<think>\nAction: add\nAction Input: {}\nFINAL_ANSWER: 1</think>\nFINAL_ANSWER: 2")
    assert reply.answer == "2" and "FINAL_ANSWER: 1" in reply.reasoning and "think" not in reply.raw


def test_the_same_reply_gives_the_same_ids() -> None:
    assert act("search", "x").calls == act("search", "x").calls
    assert act("search", "x").calls[0].id != act("search", "y").calls[0].id


def test_native_calls_are_accepted_in_the_text_dialect() -> None:
    native_reply = dialects.get("native").read(Reply("", act("add", '{"a": 1, "b": 2}').calls), TOOLS)
    reply = TEXT.read(Reply("", native_reply.calls), TOOLS)
    assert reply.calls == native_reply.calls
    assert "Action: add" in list(TEXT.render(Chat.of("q") + reply, TOOLS))[-1]["content"]


def test_without_tools_the_whole_text_is_the_answer() -> None:
    assert TEXT.read(Reply("Action: x\nObservation: y "), ()).answer == "Action: x\nObservation: y"
    assert TEXT.read(Reply("Thought: a\nFINAL_ANSWER: b"), ()).answer == "b"


def test_messages_are_rendered_once_and_shared() -> None:
    chat = Chat.of([system("s"), user("q"), assistant("a")])
    assert all(first is second for first, second in zip(TEXT.render(chat, ()), TEXT.render(chat, ()), strict=True))


def test_an_observation_is_clipped_only_in_what_the_model_sees() -> None:
    message = Message("tool", "x" * 60_000)
    (view,) = TEXT.render(Chat.of([message]), ())
    assert len(view["content"]) < 51_000 and "[Truncated]" in view["content"] and len(message.text) == 60_000


@pytest.mark.parametrize(
    "written",
    [
        "search[weather]",
        "Search(weather)",
        'search("weather")',
        'search(query="weather")',
        'search({"query": "weather"})',
        '`search`\n{"query": "weather"}',
        "search\nInput: weather",
        'search\nArguments: {"query": "weather"}',
    ],
)
def test_arguments_may_follow_the_name_of_an_action(written: str) -> None:
    (call,) = read(f"Thought: I look.\nAction: {written}").calls
    assert (call.name, call.arguments, call.problem) == ("search", {"query": "weather"}, "")


@pytest.mark.parametrize(
    "written", ["search[weath", 'search({"query": "weath', 'search(query="weath', 'search {"query']
)
def test_arguments_after_the_name_of_an_action_are_not_used_if_they_are_cut_off(written: str) -> None:
    (call,) = read(f"Action: {written}").calls
    assert call.arguments == {} and "cut off" in call.problem
