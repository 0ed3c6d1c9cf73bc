"""Arounds that watch over a loop: self-checks, repeated calls, failures, completeness, revisions, discovery, markers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from splitting import split

from agentkit import Agent, Call, Loop, Reply, tool
from agentkit.agent.arounds import FROM_OUTSIDE
from agentkit.around.check_completion import incomplete
from agentkit.errors import Unknown, UsageError
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(effect="pure")
def fail(why: str = "it is broken") -> str:
    """Fail."""
    raise RuntimeError(why)


def call(name: str, id: str = "c", **arguments: Any) -> Reply:
    return Reply("", (Call(name, arguments, id),))


def go(replies: list[Any], tools: Any = (add, fail), **options: Any) -> tuple[Scripted, Any]:
    model = Scripted(replies, abilities=Abilities(tools=True))
    return model, Agent(model, list(tools), journal="memory", **split(options, Loop("react", max_iterations=20))).run(
        "What is 1 + 2?"
    )


def roles(result: Any) -> list[str]:
    return [entry.step.role for entry in result.run.entries if entry.kind == "think"]


# -- self-check --------------------------------------------------------------------------------------------------------


def test_after_six_calls_the_model_is_asked_about_its_progress_and_reminded_of_the_goal() -> None:
    calls = [call("add", f"c{n}", a=n, b=1) for n in range(6)]
    model, result = go([*calls, "I go in circles.", "three"], self_check=True)
    assert roles(result) == ["thought"] * 6 + ["self_check", "thought"]
    assert "What is 1 + 2?" in model.requests[6]["messages"][-1]["content"] and not model.requests[6]["tools"]
    last = model.requests[7]["messages"][-1]
    assert last["role"] == "user" and "I go in circles." in last["content"] and "What is 1 + 2?" in last["content"]


def test_the_assessment_stays_in_the_chat_and_the_next_check_comes_after_as_many_calls() -> None:
    calls = [call("add", f"c{n}", a=n, b=1) for n in range(4)]
    model, result = go([*calls[:2], "first judgement", *calls[2:], "second judgement", "three"], self_check=2)
    assert roles(result).count("self_check") == 2
    assert "first judgement" in str(model.requests[-1]["messages"]) and "second judgement" in str(
        model.requests[-1]["messages"]
    )


# -- repeated calls ----------------------------------------------------------------------------------------------------


def test_a_repeated_call_with_the_same_result_gets_a_warning_that_is_not_in_the_trace() -> None:
    model, result = go([call("add", "c1", a=1, b=2), call("add", "c2", a=1, b=2), "three"], warn_cycles=True)
    contents = [message["content"] for message in model.requests[-1]["messages"] if message["role"] == "tool"]
    assert contents[0] == "3" and contents[1].startswith(
        "3\n[Warning] You have called add with these arguments 2 times"
    )
    assert [entry.result.text for entry in result.run.entries if entry.kind == "act"] == ["3", "3"]


def test_other_arguments_or_another_result_do_not_count_as_repeated() -> None:
    ticks = iter(range(9))

    @tool(effect="pure")
    def clock() -> int:
        """Return the time."""
        return next(ticks)

    replies = [
        call("clock", "c1"),
        call("clock", "c2"),
        call("add", "c3", a=1, b=2),
        call("add", "c4", a=2, b=1),
        "three",
    ]
    model, _ = go(replies, (clock, add), warn_cycles=True)
    assert "[Warning]" not in str(model.requests[-1])


# -- failures ----------------------------------------------------------------------------------------------------------


def test_three_equal_failures_end_the_run_with_an_explanation() -> None:
    model, result = go([call("add", "c0", a=1, b=2), *[call("fail", f"c{n}") for n in range(9)]], max_failures=3)
    assert (model.calls, result.reason, result.interrupted) == (4, "failures", True)
    assert "fail failed 3 times" in result.answer and "it is broken" in result.answer and "add: 3" in result.answer


def test_a_success_in_between_resets_the_count() -> None:
    replies = [
        call("fail", "c1"),
        call("fail", "c2"),
        call("add", "c3", a=1, b=2),
        call("fail", "c4"),
        call("fail", "c5", why="x"),
    ]
    _, result = go([*replies, "three"], max_failures=3)
    assert result.answer == "three"


def test_failures_of_one_tool_count_whatever_their_errors_say() -> None:
    model, result = go([call("fail", f"c{n}", why=f"no file {n}") for n in range(9)], max_failures=3)
    assert (model.calls, result.reason) == (3, "failures") and "no file 2" in result.answer


def test_failures_of_one_tool_count_although_another_one_fails_in_between() -> None:
    replies = [call("fail" if n % 2 else "missing", f"c{n}") for n in range(9)]
    model, result = go(replies, max_failures=3)
    assert (model.calls, result.reason) == (5, "failures")


def test_the_checks_for_react_also_work_for_self_ask() -> None:
    replies = ["Follow up: a?"] * 3 + ["So the final answer is: x"]
    result = Agent(Scripted(replies), [fail], engine="self_ask", journal="memory", max_failures=3).run("q")
    assert (result.reason, result.step_count) == ("failures", 3)

    @tool(effect="pure")
    def look(query: str) -> str:
        """Look something up."""
        return "found"

    replies = ["Follow up: a?"] * 2 + ["in circles", "So the final answer is: x"]
    model = Scripted(replies)
    result = Agent(model, [look], engine="self_ask", journal="memory", warn_cycles=True, self_check=2).run("q")
    assert roles(result) == ["thought", "thought", "self_check", "thought"]
    assert "[Warning] You have called look with these arguments 2 times" in str(model.requests[-1]["messages"])


# -- completeness ------------------------------------------------------------------------------------------------------


def test_an_answer_that_is_judged_incomplete_is_sent_back_once_with_what_is_missing() -> None:
    model, result = go(["two", "INCOMPLETE: the sum is 3", "three"], check_completion=True)
    assert (result.answer, roles(result)) == ("three", ["thought", "check_completion", "thought"])
    assert "the sum is 3" in model.requests[-1]["messages"][-1]["content"]


def test_an_answer_that_is_judged_complete_is_accepted() -> None:
    _, result = go(["three", "COMPLETE"], check_completion=True)
    assert (result.answer, roles(result)) == ("three", ["thought", "check_completion"])


def test_completeness_is_checked_in_the_chat_of_the_task_and_not_in_that_of_a_judge() -> None:
    model = Scripted(["two", "SATISFACTORY", "INCOMPLETE: the sum", "three", "SATISFACTORY"])
    result = Agent(model, engine="reflexion", journal="memory", check_completion=True).run("What is the sum?")
    asked = [message["content"] for message in model.requests[2]["messages"]]
    assert asked[0] == "What is the sum?" and "two" in asked[-1] and "Judge this answer" not in "".join(asked)
    assert result.answer == "three" and "the sum" in model.requests[3]["messages"][-1]["content"]


def test_completeness_is_also_checked_if_all_thinking_was_parallel() -> None:
    model = Scripted(["ANSWER: two", "b", "c", "INCOMPLETE: the sum", "ANSWER: three", "b", "c"])
    result = Agent(model, engine="tree_of_thoughts", journal="memory", check_completion=True).run("What is the sum?")
    assert (result.answer, roles(result)) == ("three", ["propose"] * 3 + ["check_completion"] + ["propose"] * 3)
    assert model.requests[3]["messages"][0]["content"] == "What is the sum?"


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("COMPLETE", ""),
        ("**INCOMPLETE**: the date", "the date"),
        ("Not complete: the date", "the date"),
        ("incomplete", "it was judged incomplete"),
        ("It is not INCOMPLETE at all", ""),
        ("I think so\nINCOMPLETE: x", "x"),
        ("", ""),
        ("Completely fine. INCOMPLETE?", ""),
    ],
)
def test_a_verdict_counts_only_at_the_start_of_a_line(text: str, missing: str) -> None:
    assert incomplete(text) == missing


# -- markers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("marker", ["✅ Completed", "## Summary\nIt is 3.", "## Reflection", "Task completed."])
def test_a_marker_ends_a_run_in_any_dialect_without_another_question(marker: str) -> None:
    model = Scripted([marker])
    result = Agent(model, [add], journal="memory").run("q")
    assert (result.answer, model.calls) == (marker, 1)


def test_a_marker_never_drops_a_pending_call() -> None:
    reply = '✅ Completed\nAction: add\nAction Input: {"a": 1, "b": 2}'
    result = Agent(Scripted([reply, "FINAL_ANSWER: 3"]), [add], journal="memory").run("q")
    assert (result.answer, result.tool_calls_count) == ("3", 1)


def test_a_marker_in_the_middle_of_a_line_is_ignored_and_markers_can_be_replaced() -> None:
    assert Agent(Scripted(["not ✅ Completed yet", "FINAL_ANSWER: 3"]), [add], journal="memory").run("q").answer == "3"
    own = Agent(Scripted(["<<END>> 3"]), [add], journal="memory", completion_markers=["<<END>>"])
    assert own.run("q").answer == "<<END>> 3"
    with pytest.raises(ValueError, match="completion_markers"):
        Agent(Scripted([]), completion_markers=["("])
    assert (
        Agent(Scripted(["<<END>> 3"]), [add], journal="memory", completion_markers="<<END>>").run("q").answer
        == "<<END>> 3"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("completion_markers", value) for value in (0, True, [1], [None])),
        *(("discover", value) for value in (0.5, {}, [], ["notes"], b"notes")),
        ("structured_thinking", {"schema": 3}),
    ],
)
def test_an_invalid_value_is_refused_at_construction_with_an_explanation(name: str, value: Any) -> None:
    with pytest.raises((ValueError, UsageError), match=r"(completion_markers|discover|a schema) (must be|is)"):
        Agent(Scripted([]), [add], **split({name: value}))


# -- revisions ---------------------------------------------------------------------------------------------------------


def test_the_model_revises_an_earlier_call_and_only_its_view_marks_the_old_result_as_superseded() -> None:
    fix = call("revise_call", "c2", number=1, arguments={"a": 1, "b": 2}, why="wrong number")
    model, result = go([call("add", "c1", a=1, b=1), fix, "three"], revise_calls=True)
    acts = [(entry.step.call.name, entry.result.text) for entry in result.run.entries if entry.kind == "act"]
    assert acts == [("add", "2"), ("add", "3")]
    contents = [message["content"] for message in model.requests[-1]["messages"] if message["role"] == "tool"]
    assert contents[0].startswith("[Superseded") and contents[1] == "3"


def test_later_requests_leave_superseded_results_out() -> None:
    fix = call("revise_call", "c2", number=-1, arguments='{"a": 1, "b": 2}')
    model, _ = go([call("add", "c1", a=7, b=7), fix, call("add", "c3", a=5, b=5), "three"], revise_calls=True)
    contents = [message["content"] for message in model.requests[-1]["messages"] if message["role"] == "tool"]
    assert contents[0].startswith("[Superseded") and contents[1:] == ["3", "10"]


@pytest.mark.parametrize(
    "arguments",
    [{"number": 5, "arguments": {}}, {"number": 0, "arguments": {}}, {"number": 1, "arguments": 3}, {"number": "x"}],
)
def test_the_model_is_told_that_it_cannot_revise_a_call_that_does_not_exist(arguments: dict[str, Any]) -> None:
    model, result = go(
        [call("add", "c1", a=1, b=2), call("revise_call", "c2", **arguments), "three"], revise_calls=True
    )
    contents = [message["content"] for message in model.requests[-1]["messages"] if message["role"] == "tool"]
    assert contents[0] == "3" and contents[1].startswith("Error") and result.answer == "three"


def test_a_revision_that_fails_leaves_the_old_result() -> None:
    fix = call("revise_call", "c2", number=1, arguments={"a": "no number", "b": 2})
    model, _ = go([call("add", "c1", a=1, b=2), fix, "three"], revise_calls=True)
    assert next(m["content"] for m in model.requests[-1]["messages"] if m["role"] == "tool") == "3"


# -- discovery ---------------------------------------------------------------------------------------------------------


def test_the_model_can_find_tools_and_paths_before_it_guesses(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "budget_2024.txt").write_text("x")
    (tmp_path / ".secret").write_text("x")
    _, result = go([call("discover", "c1", intent="add budget numbers"), "three"], discover=str(tmp_path))
    found = result.run[2].result.value
    assert [spec["name"] for spec in found["tools"]] == ["add"] and found["tools"][0][
        "arguments"
    ] == "a (integer), b (integer)"
    assert found["paths"] == ["notes/budget_2024.txt"]


def test_a_discovered_tool_is_offered_after_a_selection_of_tools() -> None:
    many = [tool(name=f"t{n}", description=f"thing {n}", effect="pure")(lambda: "ok") for n in range(20)]
    model, _ = go(
        ["t1", call("discover", "c1", intent="add numbers"), "three"], [*many, add], discover=True, select_tools=True
    )
    assert [spec["function"]["name"] for spec in model.requests[1]["tools"]] == ["t1", "discover", "load_tools"]
    assert "add" in [spec["function"]["name"] for spec in model.requests[2]["tools"]]


def test_a_missing_folder_is_refused_at_construction() -> None:
    with pytest.raises(UsageError, match="folder"):
        Agent("offline", discover="/no/such/folder")


# -- options -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(name for name, (_, number) in FROM_OUTSIDE.items() if number))
@pytest.mark.parametrize("value", [0, -1, "many", 1.5])
def test_a_number_out_of_range_is_refused_at_construction_by_name(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name}|over"):
        Agent("offline", **split({name: value}))


def test_arounds_can_be_named_in_arounds_and_a_wrong_name_suggests_the_nearest() -> None:
    _, result = go([call("fail", "c1"), call("fail", "c2"), call("fail", "c3")], arounds=["max_failures"])
    assert result.reason == "failures"
    with pytest.raises(Unknown, match="'compact'"):
        Agent("offline", arounds=["compakt"])
    with pytest.raises(UsageError, match="evry"):
        Agent("offline", self_check={"evry": 3})


def test_false_and_none_switch_an_option_off() -> None:
    model, _ = go(["three"], self_check=False, compact=None, select_tools=False, discover=False)
    assert [spec["function"]["name"] for spec in model.requests[0]["tools"]] == ["add", "fail"]


def test_all_arounds_together_can_run_replay_and_take_an_edit() -> None:
    options: dict[str, Any] = {
        "self_check": 2, "warn_cycles": True, "max_failures": 3, "check_completion": True, "clear_results": 1, "compact": 1_000,
        "revise_calls": True, "offload": True, "discover": True, "select_tools": {"over": 2},
    }  # fmt: skip
    replies = [
        '{"tools": ["add"]}',
        call("add", "c1", a=1, b=1),
        call("add", "c2", a=1, b=2),
        "going well",
        "three",
        "COMPLETE",
    ]
    model, result = go([*replies, "still well", "four", "COMPLETE"], **options)
    assert result.answer == "three" and model.calls == 6
    run = result.run
    run.edit(5, text="4")
    assert (run.drive().answer, model.calls) == ("four", 9)
    roles = [entry.step.role for entry in run.entries if entry.kind == "think"]
    assert roles == ["select_tools", "thought", "thought", "self_check", "thought", "check_completion"]
