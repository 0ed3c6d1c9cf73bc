"""The dialect may change during a run: every ordered pair, and what the model then sees."""

from __future__ import annotations

import json
from itertools import permutations

import pytest

from agentkit import Agent, Call, Reply, tool
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

ACTING = {
    "text": 'Thought: I look\nAction: look\nAction Input: {"city": "Oslo"}',
    "json": '{"type": "tool_call", "reasoning": "I look", "tool_name": "look", "tool_args": {"city": "Oslo"}}',
    "native": Reply("I look", (Call("look", {"city": "Oslo"}, "c1"),)),
}
ENDING = {
    "text": "Thought: I know\nFINAL_ANSWER: rain",
    "json": '{"type": "final_answer", "reasoning": "I know", "answer": "rain"}',
    "native": Reply("rain"),
}


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    return f"rain in {city}"


@pytest.mark.parametrize(("first", "second"), list(permutations(ACTING, 2)))
def test_a_run_continues_in_another_dialect(first: str, second: str) -> None:
    model = Scripted([ACTING[first], ACTING[second], ENDING[second]])
    run = Agent(model, [look], journal="memory", dialect=first).start("How is Oslo?", paused=True)
    next(run)
    next(run)
    run.dialect = second
    assert run.drive().answer == "rain"
    assert [entry.dialect for entry in run.entries if entry.kind == "think"] == [first, second, second]
    messages = model.requests[1]["messages"]
    if second == "native":
        asking, answer = messages[-2:]
        assert answer["tool_call_id"] == asking["tool_calls"][0]["id"] and answer["content"] == "rain in Oslo"
        assert json.loads(asking["tool_calls"][0]["function"]["arguments"]) == {"city": "Oslo"}
        assert "Action" not in (asking["content"] or "")
    else:
        assert messages[-1] == {"role": "user", "content": "Observation: rain in Oslo"}
        assert "tool_calls" not in messages[-2]
        assert ("Action Input:" in messages[-2]["content"]) == (second == "text")
    assert bool(model.requests[1]["tools"]) == (second == "native")


def test_several_native_calls_are_shown_one_after_the_other_in_the_text_dialect() -> None:
    calls = (Call("look", {"city": "Oslo"}, "c1"), Call("look", {"city": "Rome"}, "c2"))
    model = Scripted([Reply("both", calls), ENDING["text"]])
    run = Agent(model, [look], journal="memory", dialect="native").start("q", paused=True)
    run.step()
    run.step_over()
    run.dialect = "text"
    assert run.drive().answer == "rain"
    contents = [message["content"] for message in model.requests[1]["messages"][-3:]]
    assert contents[0].count("Action:") == 2 and contents[1:] == [
        "Observation: rain in Oslo",
        "Observation: rain in Rome",
    ]


@pytest.mark.parametrize(
    ("abilities", "dialect"),
    [
        (Abilities(tools=True), "native"),
        (Abilities(json=True), "json"),
        (Abilities(), "text"),
        (Abilities(tools=True, json=True), "native"),
    ],
)
def test_the_dialect_is_chosen_by_the_abilities_of_the_model(abilities: Abilities, dialect: str) -> None:
    model = Scripted([ACTING[dialect], ENDING[dialect]], abilities=abilities)
    run = Agent(model, [look], journal="memory").start("q", paused=True)
    assert run.dialect == dialect and run.drive().answer == "rain"


def test_a_second_action_is_answered_with_not_run() -> None:
    twice = ACTING["text"] + '\nAction: look\nAction Input: {"city": "Rome"}'
    model = Scripted([twice, ENDING["text"]])
    run = Agent(model, [look], journal="memory").start("q", paused=True)
    run.drive()
    first, second = (message["content"] for message in model.requests[1]["messages"][-2:])
    assert first == "Observation: rain in Oslo" and "one" in second and "not run" in second
    assert [entry.result.ok for entry in run.entries if entry.kind == "act"] == [True, False]
    assert run.result.tool_calls_count == 1
