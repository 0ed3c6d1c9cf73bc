"""A run may change its dialect between two steps: each dialect can read what the others wrote."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from agentkit.core.messages import Call, Chat, Message, Reply, assistant
from agentkit.errors import Unknown
from agentkit.models import dialects
from agentkit.models.base import Abilities
from agentkit.tools.tool import Tool, tool


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


TOOLS: tuple[Tool, ...] = (add,)
ARGUMENTS = {"a": 1, "b": 2}
TURNS: dict[str, tuple[Reply, Reply]] = {
    "text": (
        Reply(f"Thought: I add.\nAction: add\nAction Input: {json.dumps(ARGUMENTS)}"),
        Reply("Thought: Known.\nFINAL_ANSWER: 3"),
    ),
    "json": (
        Reply(json.dumps({"type": "tool_call", "reasoning": "I add.", "tool_name": "add", "tool_args": ARGUMENTS})),
        Reply(json.dumps({"type": "final_answer", "reasoning": "Known.", "answer": "3"})),
    ),
    "native": (Reply("I add.", (Call("add", ARGUMENTS, "c1"),)), Reply("3")),
}
PAIRS = list(itertools.permutations(TURNS, 2))


def conversation(name: str) -> Chat:
    dialect, (asks, ends) = dialects.get(name), TURNS[name]
    thought = dialect.read(asks, TOOLS)
    chat = Chat.of("1 + 2?") + thought + Message("tool", "3", call_id=thought.calls[0].id, name="add")
    return chat + dialect.read(ends, TOOLS) + "And now?"


def as_reply(view: dict[str, Any]) -> Reply:
    calls = [call["function"] | {"id": call["id"]} for call in view.get("tool_calls", ())]
    return Reply(
        view["content"], tuple(Call(call["name"], json.loads(call["arguments"]), call["id"]) for call in calls)
    )


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_each_dialect_reads_back_what_it_makes_of_another_dialects_turns(before: str, after: str) -> None:
    dialect = dialects.get(after)
    *_, task, turn, result, final, more = dialect.render(conversation(before), TOOLS)
    assert (task["content"], more["content"]) == ("1 + 2?", "And now?")
    again = dialect.read(as_reply(turn), TOOLS)
    assert (again.text, [(call.name, call.arguments) for call in again.calls]) == ("I add.", [("add", ARGUMENTS)])
    assert dialect.read(as_reply(final), TOOLS).answer == "3"
    if after == "native":
        assert result == {"role": "tool", "tool_call_id": turn["tool_calls"][0]["id"], "name": "add", "content": "3"}
    else:
        assert result == {"role": "user", "content": "Observation: 3"}


@pytest.mark.parametrize("name", TURNS)
def test_a_dialect_sends_its_own_turns_back_word_for_word(name: str) -> None:
    rendered = dialects.get(name).render(conversation(name), TOOLS)
    assert [view["content"] for view in rendered if view["role"] == "assistant"] == [
        reply.text for reply in TURNS[name]
    ]


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_an_edited_thought_is_rendered_again(before: str, after: str) -> None:
    thought = conversation(before)[1]
    for name in (before, after):
        dialects.get(name).render(Chat.of([thought]), ())  # the cache that this fills must not outlive the edit
    edited = replace(thought, raw="", calls=(replace(thought.calls[0], arguments={"a": 5, "b": 6}),))
    for name in (before, after):
        view, *_ = dialects.get(name).render(Chat.of([edited]), ())
        assert "5" in json.dumps(view) and '"a": 1' not in view["content"]


def test_several_calls_are_written_one_after_the_other() -> None:
    both = assistant(
        "Two.", calls=(Call("add", {"a": 1, "b": 1}, "x"), Call("add", {"a": 2, "b": 2}, "y")), dialect="native"
    )
    (view,) = dialects.get("text").render(Chat.of([both]), ())
    assert view["content"].count("Action: add\nAction Input: {") == 2
    (view,) = dialects.get("json").render(Chat.of([both]), ())
    assert [json.loads(line)["tool_args"]["a"] for line in view["content"].splitlines()] == [1, 2]


def test_assistant_messages_of_the_caller_are_sent_as_plain_text() -> None:
    history = Chat.of([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}])
    for name in TURNS:
        assert list(dialects.get(name).render(history, TOOLS))[-1] == {"role": "assistant", "content": "Hello."}


@pytest.mark.parametrize(
    ("abilities", "name"),
    [
        (Abilities(tools=True, json=True), "native"),
        (Abilities(tools=True), "native"),
        (Abilities(json=True), "json"),
        (Abilities(stream=True), "text"),
    ],
)
def test_the_dialect_follows_the_abilities(abilities: Abilities, name: str) -> None:
    assert dialects.choose(abilities, TOOLS).name == name


def test_an_unknown_dialect_is_refused_with_a_suggestion() -> None:
    with pytest.raises(Unknown, match="native"):
        dialects.get("nativ")
