"""Arounds, in real runs with the scripted model."""

from __future__ import annotations

from typing import Any

import pytest
from engines.actors import Actor, look
from splitting import split

from agentkit import Agent, Call, Reply, tool
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(effect="pure", ends_turn=True)
def hand_over(to: str) -> str:
    """Hand over to a person."""
    return f"{to} takes over"


def go(model: Scripted, **options: Any) -> Any:
    return Agent(model, [add, hand_over], journal="memory", **split(options)).run("q")


def roles(result: Any) -> list[str]:
    return [entry.step.role for entry in result.run.entries if entry.kind == "think"]


def test_an_unreadable_reply_is_requested_once_more_and_then_taken_as_it_is() -> None:
    result = go(Scripted(["well, hm", "really no idea"]))
    assert (result.answer, roles(result), result.step_count) == ("really no idea", ["thought", "reformat"], 2)


def test_a_corrected_reply_continues_the_run_and_both_calls_count_as_iterations() -> None:
    model = Scripted(["well, hm", 'Action: add\nAction Input: {"a": 1, "b": 2}', "FINAL_ANSWER: 3"])
    result = go(model, max_iterations=2)
    assert result.answer == "3" and roles(result) == ["thought", "reformat", "answer"]


def test_each_turn_may_be_corrected_once() -> None:
    model = Scripted(["hm", 'Action: add\nAction Input: {"a": 1, "b": 2}', "hm again", "FINAL_ANSWER: 3"])
    assert roles(go(model)) == ["thought", "reformat", "thought", "reformat"]


def test_without_repair_the_raw_text_is_the_answer_at_once() -> None:
    result = go(Scripted(["well, hm"]), repair=0)
    assert (result.answer, roles(result)) == ("well, hm", ["thought"])


@pytest.mark.parametrize("empty", ["", "<thinking>x</thinking>", "  \n"])
def test_an_empty_reply_is_nudged_once(empty: str) -> None:
    result = go(Scripted([empty, "FINAL_ANSWER: 3"]))
    assert (result.answer, roles(result)) == ("3", ["thought", "nudge"])


def test_two_empty_replies_end_the_run_with_an_explanation() -> None:
    result = go(Scripted(["", ""]))
    assert (result.reason, roles(result)) == ("empty_reply", ["thought", "nudge"])
    assert "no answer" in result.answer


def test_a_tool_that_ends_the_turn_ends_the_run_with_its_result() -> None:
    model = Scripted([Reply("", (Call("hand_over", {"to": "Ada"}, "c"),))], abilities=Abilities(tools=True))
    result = go(model)
    assert (result.answer, result.reason) == ("Ada takes over", "ends_turn")


def test_calls_over_the_limit_are_not_run_and_the_model_is_told() -> None:
    calls = tuple(Call("add", {"a": n, "b": 1}, f"c{n}") for n in range(5))
    model = Scripted([Reply("", calls), "done"], abilities=Abilities(tools=True))
    result = go(model, max_tool_calls=2)
    contents = [message["content"] for message in model.requests[1]["messages"][-5:]]
    assert contents[:2] == ["1", "2"] and all("limit of 2 tool calls" in text for text in contents[2:])
    assert (result.answer, result.tool_calls_count) == ("done", 2)


@pytest.mark.parametrize(
    "more", [{}, {"self_check": 1}, {"warn_cycles": True, "max_failures": 5, "revise_calls": True}]
)
def test_a_model_that_keeps_calling_above_the_limit_is_told_each_time(more: Any) -> None:
    calls = [Reply("", (Call("add", {"a": n, "b": 1}, f"c{n}"),)) for n in range(3)]
    extra_replies = {"self_check": lambda request: "on it"} if "self_check" in more else {}
    replies = iter([*calls, "done"])
    model = Scripted(
        [lambda request: extra_replies.get(request.role, lambda _: next(replies))(request)] * 9,
        abilities=Abilities(tools=True),
    )
    result = go(model, max_tool_calls=1, **more)
    assert (result.answer, result.error, result.tool_calls_count) == ("done", None, 1)
    assert sum("limit of 1 tool calls" in message["content"] for message in model.requests[-1]["messages"]) == 2
    result.run.trace.rebuild(strict=True)
    assert result.run.answer == "done" and result.run.undo().drive().answer == "done"


@pytest.mark.parametrize(
    ("engine", "calls"),
    [("reflexion", 1), ("plan_and_execute", 1), ("critic", 1), ("self_ask", 1), ("rewoo", 1), ("dag", 1)],
)
def test_the_limit_applies_to_all_engines_of_a_run(engine: str, calls: int) -> None:
    model = Actor()
    model.evaluate = lambda request: Reply("UNSATISFACTORY")  # type: ignore[method-assign]
    result = Agent(model, [look], engine=engine, max_tool_calls=1, journal="memory").run("q")
    assert (result.tool_calls_count, result.error) == (calls, None) and result.answer
    result.run.trace.rebuild(strict=True)


@pytest.mark.parametrize("most", [0, -1, True, "3", 1.5])
def test_an_invalid_limit_is_refused_at_construction(most: Any) -> None:
    with pytest.raises(ValueError, match="max_tool_calls"):
        Agent(Scripted([]), max_tool_calls=most)


def test_the_forced_answer_is_taken_as_it_is() -> None:
    model = Scripted(['Action: add\nAction Input: {"a": 1, "b": 2}', "three, I think"])
    result = go(model, max_iterations=1)
    assert (result.answer, len(model.requests)) == ("three, I think", 2)


def test_two_turns_and_a_forced_answer_are_three_calls_and_the_last_asks_for_the_answer() -> None:
    act = 'Action: add\nAction Input: {"a": 1, "b": 2}'
    model = Scripted([act, act, "Thought: enough\nFINAL_ANSWER: 3"])
    result = go(model, max_iterations=2)
    assert (result.answer, result.reason, len(model.requests)) == ("3", "max_turns", 3)
    assert "FINAL_ANSWER: now" in model.requests[2]["messages"][-1]["content"]


@pytest.mark.parametrize("engine", ["dag", "rewoo", "self_ask"])
def test_parallel_lanes_share_the_limit(engine: str) -> None:
    plans = {
        "dag": "1. a\n2. b\n3. c\n4. d",
        "rewoo": "\n".join(f"#E{n} = look[{n}]" for n in range(1, 5)),
        "self_ask": "Follow up: a\nFollow up: b\nFollow up: c\nFollow up: d",
    }

    def reply(request: Any) -> Any:
        last = list(request.chat)[-1]
        if request.role == "plan" or (engine == "self_ask" and last.text == "q"):
            return plans[engine]
        if request.role == "thought" and engine == "dag" and last.role != "tool":
            return Reply("", (Call("look", {"query": "it"}, "c"),))
        return "ACHIEVED: yes\nCONFIDENCE: 1\nANSWER: So the final answer is: end"

    model = Scripted([reply] * 30, abilities=Abilities(tools=engine == "dag"))
    result = Agent(model, [look], engine=engine, max_tool_calls=2, journal="memory").run("q")
    assert (result.tool_calls_count, result.error) == (2, None) and "end" in result.answer
    refused = [e for e in result.run.entries if e.kind == "act" and "limit of 2 tool calls" in e.result.text]
    assert len(refused) == 2
    result.run.trace.rebuild(strict=True)


def test_a_reply_with_thousands_of_calls_over_the_limit_is_answered() -> None:
    calls = tuple(Call("add", {"a": n, "b": 1}, f"c{n}") for n in range(2_000))
    result = go(Scripted([Reply("", calls), "done"], abilities=Abilities(tools=True)), max_tool_calls=1)
    assert (result.answer, result.tool_calls_count, result.error) == ("done", 1, None)


def test_a_limit_on_calls_still_holds_after_a_resume(tmp_path: Any) -> None:
    replies = [Reply("", (Call("add", {"a": n, "b": 1}, f"c{n}"),)) for n in range(3)]
    agent = Agent(
        Scripted([*replies, "done"], abilities=Abilities(tools=True)),
        [add],
        max_tool_calls=2,
        journal=tmp_path / "r.db",
    )
    run = agent.start("q", paused=True)
    for _ in range(4):
        next(run)
    run.close()
    assert agent.resume(run.id).drive().tool_calls_count == 2
