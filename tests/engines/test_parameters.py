"""Each parameter of an engine does what it says, even for its extreme values."""

from __future__ import annotations

from typing import Any

import pytest
from engines.actors import look
from splitting import split

from agentkit import Agent, Result, tool
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def other(query: str) -> str:
    """Look elsewhere."""
    return f"elsewhere: {query}"


LOOK = 'Thought: I look.\nAction: look\nAction Input: {"query": "it"}'


def play(engine: str, replies: list[Any], *tools: Any, **options: Any) -> tuple[Result, Scripted]:
    """Play one step after the other, so that the replies go to parallel thoughts in their order."""
    model = Scripted(replies)
    run = Agent(model, tools, journal="memory", **split(options, engine)).start("q", paused=True)
    for _ in run:
        pass
    return run.result, model


def last(model: Scripted, request: int = -1) -> str:
    return str(model.requests[request]["messages"][-1]["content"])


def test_a_step_has_a_limit_of_iterations_and_fails_if_it_reaches_it() -> None:
    result, model = play("plan_and_execute", ["1. a", LOOK, LOOK, "perhaps", "sum"], look, max_step_iterations=2)
    assert (result.answer, model.calls) == ("sum", 5) and "Step 1 (a): FAILED: perhaps" in last(model)
    assert model.requests[3]["role"] == "answer"
    result, model = play("plan_and_execute", ["1. a", *[LOOK] * 5, "perhaps", "sum"], look)
    assert (result.answer, model.requests[6]["role"]) == ("sum", "answer")


def test_a_plan_is_replaced_at_most_max_replans_times() -> None:
    replies = ["1. a", "FAILED: x", "1. b", "FAILED: y", "sum"]
    result, model = play("plan_and_execute", replies, replan=True, max_replans=1)
    assert (result.answer, model.calls) == ("sum", 5) and "Step 2 (b): FAILED: y" in last(model)


def test_each_attempt_has_a_limit_of_iterations_unless_the_inner_loop_sets_one() -> None:
    replies = [LOOK, "A", "UNSATISFACTORY", "Reflection: r", LOOK, "B", "SATISFACTORY"]
    for options in ({"max_iterations": 1}, {"actor": {"engine": "react", "max_iterations": 1}}):
        result, model = play("reflexion", replies, look, **options)
        assert (result.answer, [request["role"] for request in model.requests].count("answer")) == ("B", 2)


def test_a_score_equal_to_the_threshold_is_enough_and_the_judge_sees_the_tool_results() -> None:
    result, model = play("reflexion", [LOOK, "FINAL_ANSWER: A", "Score: 0.8"], look, threshold=0.8)
    assert (result.answer, result.reason) == ("A", "") and "look: found: it" in last(model)


def test_follow_up_questions_are_counted_one_by_one_and_go_to_the_first_tool() -> None:
    replies = ["Follow up: a\nFollow up: b", "Follow up: c\nFollow up: d", "So the final answer is: x"]
    result, model = play("self_ask", replies, look, other, max_follow_ups=3)
    assert (result.answer, model.calls) == ("x", 3)
    assert last(model, 1) == "Intermediate answer: found: a\nIntermediate answer: found: b"
    assert last(model).startswith("Intermediate answer: found: c\nIntermediate answer: (") and "found: d" not in last(
        model
    )
    result, model = play(
        "self_ask", ["Follow up: a\nFollow up: b", "Follow up: c", "So the final answer is: x"], look, max_follow_ups=2
    )
    assert (result.reason, last(model)[:9]) == ("max_follow_ups", "No more f")


def test_a_question_after_the_final_answer_is_not_part_of_it() -> None:
    result, model = play("self_ask", ["So the final answer is: Oslo,\nin Norway\nFollow up: really?"], look)
    assert (result.answer, model.calls) == ("Oslo,\nin Norway", 1)


def test_a_claim_without_an_input_is_looked_up_by_its_own_text() -> None:
    _, model = play("critic", ["draft", "CLAIM: built in 1887\nTOOL: look", "revised", "VERIFIED: all"], look)
    assert 'Claim: "built in 1887"\nTool result: found: built in 1887' in last(model, 2)


def test_a_thought_without_a_score_counts_as_five_of_ten() -> None:
    options = {"n_branches": 3, "beam_width": 1, "max_depth": 1}
    result, model = play("tree_of_thoughts", ["a", "b", "c", "4", "no number", "4.9", "ANSWER: x"], **options)
    assert result.answer == "x" and "1. b" in last(model)


def test_a_search_that_turned_back_answers_from_its_deepest_branch() -> None:
    replies = ["a", "b", "8", "6", "aa", "ab", "1", "2", "ba", "bb", "1", "1", "no marker"]
    result, model = play("tree_of_thoughts", replies, search="dfs", n_branches=2, max_depth=3)
    assert result.answer == "no marker" and "1. a\n2. ab" in last(model)
    assert result.run.entries[-1].step.tags["chosen"] == ["1", "1.2"]


def test_a_thought_with_the_minimum_score_is_followed_and_one_below_is_not() -> None:
    options: dict[str, Any] = {"search": "dfs", "n_branches": 1, "max_depth": 2, "min_score": 5}
    assert play("tree_of_thoughts", ["a", "5", "ANSWER: x"], **options)[0].answer == "x"
    result, model = play("tree_of_thoughts", ["a", "4.9", "ANSWER: y"], **options)
    assert (result.answer, model.requests[-1]["role"]) == ("y", "answer")


def test_if_even_the_forced_answer_is_empty_the_best_thought_is_the_answer() -> None:
    result, _ = play("tree_of_thoughts", ["a", "b", "4", "8", ""], n_branches=2, beam_width=1, max_depth=1)
    assert (result.answer, result.reason) == ("b", "")


YES = "ACHIEVED: yes\nCONFIDENCE: 0.8\nANSWER: x"


def test_at_most_max_parallel_steps_of_a_plan_run_at_the_same_time() -> None:
    plan = "\n".join(f"{n}. a" for n in range(1, 6))
    model = Scripted([plan, *["done"] * 5, YES])
    result = Agent(model, journal="memory", **split({"max_parallel": 2}, "dag")).run("q")
    thoughts = [entry for entry in result.run.entries if entry.step is not None and entry.step.role == "thought"]
    assert result.answer == "x" and [entry.path[:4] for entry in thoughts] == ["[1.0", "[1.1", "[1.2", "[1.3", "[1.4"]
    at_once = [sum(e.started <= other.started < e.ended for e in thoughts) for other in thoughts]
    assert max(at_once) <= 2


def test_the_minimum_confidence_is_enough_and_each_step_has_a_limit_of_iterations() -> None:
    result, model = play("dag", ["1. a", LOOK, "perhaps", YES], look, max_step_iterations=1)
    assert (result.answer, result.reason, model.requests[2]["role"]) == ("x", "", "answer")
    assert "Step 1 (a): FAILED: perhaps" in last(model)


def test_the_number_of_look_ups_is_limited_and_one_that_cannot_run_says_what_it_needs() -> None:
    plan = "#E1 = look[a]\n#E2 = look[#E4]\n#E3 = look[c]\n#E4 = look[d]"
    _, model = play("rewoo", [plan, "x"], look, max_steps=3)
    evidence = last(model)
    assert "#E2 = look[#E4]\n(not done: it needs #E4)" in evidence and "#E3 = look[c]\nfound: c" in evidence
    assert "#E4 = " not in evidence


def test_an_empty_revision_changes_nothing() -> None:
    assert play("self_refine", ["draft", "too long", "", "DONE: fine"])[0].answer == "draft"


@pytest.mark.parametrize(("choice", "replies"), [("STEPWISE", []), ("PLANNED", ["1. a"])])
def test_the_chosen_engine_gets_the_tools(choice: str, replies: list[str]) -> None:
    result, _ = play("auto", [f"CHOICE: {choice}", *replies, LOOK, "FINAL_ANSWER: x", YES], look)
    assert (result.answer, result.tool_calls_count) == ("x", 1)


def test_the_steps_of_a_rewoo_plan_are_read_in_the_forms_that_models_write() -> None:
    plan = "**#E1** = look[a]\n2. #E2 = look(b)\n- `E3 = look[#E1 [sic]]`\n**3. #E4 = **look**[d]**"
    result, model = play("rewoo", [plan, "x"], look)
    assert result.tool_calls_count == 4
    assert all(f"found: {found}" in last(model) for found in ("a", "b", "found: a [sic]", "d"))
