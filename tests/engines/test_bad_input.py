"""Values out of range are refused by name at construction; whatever a model writes, no engine raises an error."""

from __future__ import annotations

import math
from typing import Any

import pytest
from splitting import split

from agentkit import Agent, Loop, tool
from agentkit.engines.registry import ENGINES, defaults
from agentkit.engines.self_ask import UNANSWERED
from agentkit.errors import Unknown, UsageError
from agentkit.models.scripted import Scripted

COUNTS = [(engine, name) for engine in ENGINES for name, value in defaults(engine).items() if type(value) is int]


@pytest.mark.parametrize(("engine", "name"), COUNTS)
@pytest.mark.parametrize("value", [-1, 1.5, True, "3", None, math.nan])
def test_a_count_out_of_range_is_refused_by_name(engine: str, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be (an integer|at least [01])"):
        Agent("echo", **split({name: value}, engine))


@pytest.mark.parametrize(
    ("engine", "name", "value"),
    [
        ("reflexion", "threshold", 2),
        ("reflexion", "threshold", math.nan),
        ("reflexion", "threshold", True),
        ("reflexion", "lessons", "one text"),
        ("reflexion", "lessons", [1]),
        ("dag", "min_confidence", 1.1),
        ("dag", "min_confidence", None),
        ("dag", "step_timeout", 0),
        ("dag", "step_timeout", math.inf),
        ("dag", "step_timeout", "5"),
        ("tree_of_thoughts", "min_score", 11),
        ("tree_of_thoughts", "search", "depth"),
        ("tree_of_thoughts", "n_branches", 0),
        ("tree_of_thoughts", "n_branches", 10**9),
        ("plan_and_execute", "max_steps", 0),
        ("plan_and_execute", "replan", 1),
        ("react", "force_answer", "yes"),
        ("critic", "prompts", {"critic": "x"}),
        ("critic", "prompts", {"critique": 3}),
        ("critic", "prompts", "x"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(engine: str, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        Agent("echo", **split({name: value}, engine))


@pytest.mark.parametrize("actor", ["reakt", {"engine": "reakt"}, {"engine": "react", "max_step": 1}])
def test_an_unknown_inner_engine_is_refused(actor: Any) -> None:
    with pytest.raises(Unknown):
        Agent("echo", engine=Loop("reflexion", actor=actor))


@pytest.mark.parametrize("actor", [3, {"max_iterations": 1}, lambda task: None, []])
def test_anything_that_is_not_an_engine_is_refused(actor: Any) -> None:
    with pytest.raises(UsageError):
        Agent("echo", engine=Loop("reflexion", actor=actor))


def test_ranges_also_apply_to_an_inner_engine() -> None:
    with pytest.raises(ValueError, match="max_iterations"):
        Agent("echo", engine=Loop("reflexion", actor={"engine": "react", "max_iterations": 0}))


@tool(effect="pure")
def look(query: str) -> str:
    """Look something up."""
    return "found"


PROSE = "I would first look around, and then decide."
THOUSAND = "\n".join(f"{n}. step" for n in range(1, 1001))


@pytest.mark.parametrize(
    ("engine", "replies", "answer", "calls"),
    [
        ("plan_and_execute", [PROSE, "direct"], "direct", 2),
        ("plan_and_execute", ["1. \n2. ", "direct"], "direct", 2),
        ("plan_and_execute", [THOUSAND, *["ok"] * 10, "sum"], "sum", 12),
        ("plan_and_execute", ["1. do step 1", "done", "sum"], "sum", 3),
        ("plan_and_execute", ["1. a", "A", "", ""], "Step 1 (a): A", 3),
        ("dag", [PROSE, "direct"], "direct", 2),
        ("dag", ["", "direct"], "direct", 2),
        ("dag", ["1. a [after: 1]"] * 4, "The plan cannot be carried out: step 1 needs itself.", 4),
        ("dag", [THOUSAND, *["ok"] * 20, "ACHIEVED: yes\nANSWER: a"], "a", 22),
        ("dag", ["1. a", "A", ""], "Step 1 (a): A", 3),
        ("dag", ["1. a", "A", "ACHIEVED: maybe\nCONFIDENCE: NaN\nANSWER: a"], "a", 3),
        ("reflexion", ["A", "", "r", "B", "SATISFACTORY\nUNSATISFACTORY", "", "C", "NaN"], "C", 8),
        ("tree_of_thoughts", ["a", "b", "c", "", "NaN", "Score: 3 Score: 9", "ANSWER: x"], "x", 7),
        ("tree_of_thoughts", ["", "", "", "5", "5", "5", ""], "No answer was found.", 7),
        ("critic", ["draft", 'He says "claim: x" and TOOL: look'], "draft", 2),
        ("critic", ["draft", ""], "draft", 2),
        ("critic", ["draft", "CLAIM: a\nTOOL: nothing like it\nTOOL INPUT: {", "", "VERIFIED: all"], "draft", 4),
        ("self_ask", ["Follow up:", "x"], "Follow up:", 1),
        ("self_ask", ["Tool: none\nTool Input: a", "So the final answer is: b"], "b", 2),
        ("self_refine", ["draft", ""], "draft", 2),
        ("rewoo", [PROSE, "solved"], "solved", 2),
        ("rewoo", ["#E1 = look[#E1]\n#E2 = look[#E9]", "solved"], "solved", 2),
        ("rewoo", ['#E1 = look[{"query": "\\u0023E9"}]', "solved"], "solved", 2),
        ("auto", ["", "a"], "a", 2),
        ("chain_of_thought", ["FINAL ANSWER:", "116"], "116", 2),
    ],
)
def test_whatever_a_model_writes_the_outcome_is_stable(
    engine: str, replies: list[str], answer: str, calls: int
) -> None:
    options: dict[str, Any] = {"max_depth": 1} if engine == "tree_of_thoughts" else {}
    tools = [] if engine in ("plan_and_execute", "dag", "reflexion", "auto") else [look]
    model = Scripted(replies)
    result = Agent(model, tools, journal="memory", **split(options, engine)).run("q")
    assert result.error is None and (result.answer, model.calls) == (answer, calls)


def test_self_ask_names_the_open_questions_and_the_answers_so_far_if_it_reaches_the_limit() -> None:
    model = Scripted(["Follow up: a\nFollow up: b\nFollow up: c\nFollow up: d", "A", "B", "So the final answer is: x"])
    assert Agent(model, engine=Loop("self_ask", max_follow_ups=2), journal="memory").run("q").answer == "x"
    lines = model.requests[-1]["messages"][-1]["content"].splitlines()
    assert lines[1] == "Intermediate answer: B" and lines[2:] == [f"Intermediate answer: {UNANSWERED}"]
    model = Scripted(["Follow up: a", "A", "Follow up: b", "Follow up: c"])
    result = Agent(model, engine=Loop("self_ask", max_follow_ups=1), journal="memory").run("q")
    known = (
        "No final answer was reached. These questions were asked and answered:\nFollow up: a\nIntermediate answer: A"
    )
    assert (result.answer, result.reason) == (known, "max_follow_ups")


LONG = "begin " + "long " * 20_000
JUDGED = "ACHIEVED: yes\nANSWER: a"


@pytest.mark.parametrize(
    ("engine", "replies"),
    [
        ("plan_and_execute", ["1. a\n2. b", LONG, LONG, "sum"]),
        ("dag", ["1. a\n2. b\n3. c [after: 1, 2]", LONG, LONG, "done", JUDGED]),
        ("reflexion", [LONG, "UNSATISFACTORY", "better", LONG, "SATISFACTORY"]),
        (
            "critic",
            [LONG, "CLAIM: a\nTOOL: look\nTOOL INPUT: a\nCLAIM: b\nTOOL: look\nTOOL INPUT: b", LONG, "VERIFIED: yes"],
        ),
        ("self_refine", [LONG, LONG, LONG, LONG, LONG, "DONE: yes"]),
        ("self_ask", ["Follow up: a\nFollow up: b", "So the final answer is: c"]),
        ("rewoo", ["#E1 = look[a]\n#E2 = look[b]", "solved"]),
        ("tree_of_thoughts", [LONG, "8", LONG, "8", "ANSWER: a"]),
    ],
)
def test_long_texts_never_push_out_the_question_or_later_texts(engine: str, replies: list[str]) -> None:
    def long(query: str) -> str:
        """Look something up."""
        return LONG

    options = {"n_branches": 1, "beam_width": 1, "max_depth": 2} if engine == "tree_of_thoughts" else {}
    tools = [tool(effect="pure", name="look")(long)] if engine in ("critic", "self_ask", "rewoo") else []
    model = Scripted(replies)
    assert not Agent(model, tools, journal="memory", **split(options, engine)).run("q").error
    sent = [request["messages"][-1]["content"] for request in model.requests]
    assert model.calls == len(replies) and 30_000 < max(map(len, sent)) < 45_000
    assert max(text.count("begin long") for text in sent) >= (1 if engine == "reflexion" else 2)


def test_braces_in_a_question_reach_the_model_unchanged() -> None:
    seen: list[str] = []
    for engine in ENGINES:
        seen.clear()
        Agent(lambda request: seen.append(str(request.messages)) or "x", engine=engine, journal="memory").run(
            "{plan} {0} {{"
        )  # type: ignore[func-returns-value]
        assert any("{plan} {0} {{" in text for text in seen), engine


def test_prompts_can_be_overridden_one_by_one() -> None:
    model = Scripted(["1. a", "A", "done"])
    Agent(model, engine=Loop("plan_and_execute", prompts={"synthesize": "Sum up: {done}"}), journal="memory").run("q")
    assert model.requests[-1]["messages"][-1]["content"] == "Sum up: Step 1 (a): A"
    assert "numbered list" in model.requests[0]["messages"][-1]["content"]


def test_the_defaults_are_the_documented_ones() -> None:
    wanted = {
        "react": {"max_iterations": 10},
        "plan_and_execute": {"max_steps": 10, "max_step_iterations": 5},
        "reflexion": {"max_reflections": 3, "max_iterations": 10},
        "self_ask": {"max_follow_ups": 8},
        "critic": {"max_critique_rounds": 2},
        "tree_of_thoughts": {"n_branches": 3, "beam_width": 2, "max_depth": 4},
        "dag": {"max_replans": 3},
    }
    for engine, values in wanted.items():
        assert values.items() <= defaults(engine).items()
