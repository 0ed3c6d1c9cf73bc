"""What a model means is read however it writes it; what cannot be read is told."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit import Agent, Loop, Reply, Run, tool
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def search(query: str) -> str:
    """Search."""
    return f"found {query}"


def play(engine: str, replies: list[Any], tools: Any = (search,), **options: Any) -> tuple[Run, Scripted]:
    model = Scripted(replies, abilities=options.pop("abilities", None))
    run = Agent(model, tools, engine=Loop(engine, **options), journal="memory").start("q", paused=True)
    run.drive()
    return run, model


def warnings(run: Run) -> list[str]:
    return [event.data["text"] for event in run.events() if event.kind == "warning"]


CLAIM = [{"claim": "built in 1887", "tool": "search", "tool_input": {"query": "when"}}]


@pytest.mark.parametrize(
    "critique",
    [
        "CLAIM: built in 1887\nTOOL: search\nTOOL INPUT: when",
        "1. CLAIM: built in 1887\n   TOOL: search\n   TOOL INPUT: when",
        "1. Built in 1887\nTOOL: search\nTOOL INPUT: when",
        "**1. Claim:** built in 1887\n**Tool:** search\n**Tool Input:** when",
        "- **CLAIM 1:** built in 1887\n  - **TOOL:** `search`\n  - **TOOL INPUT:** when",
        "CLAIM: built in 1887 TOOL: search TOOL INPUT: when",
        'I found one claim. CLAIM: built in 1887, TOOL: search, TOOL INPUT: {"query": "when"}',
        f"```json\n{CLAIM!r}\n```".replace("'", '"'),
        '{"claims": [{"claim": "built in 1887", "tool": "search", "tool input": "when"}]}',
    ],
)
def test_critic_reads_claims_in_many_forms(critique: str) -> None:
    run, _ = play("critic", ["draft", critique, "better", "VERIFIED: all"])
    assert [e.result.text for e in run.entries if e.kind == "act"] == ["found when"]
    assert run.answer == "better" and warnings(run) == []


@pytest.mark.parametrize("critique", ["VERIFIED: all claims are correct", "**VERIFIED**", "Verified: yes", "VERIFIED."])
def test_critic_accepts_a_draft_that_is_verified_without_a_warning(critique: str) -> None:
    run, _ = play("critic", ["draft", critique])
    assert (run.answer, warnings(run)) == ("draft", [])


@pytest.mark.parametrize(
    "critique", ["The date seems wrong to me.", "UNVERIFIED: the date", "CLAIM: it is so", "", "It says VERIFIED: no."]
)
def test_critic_says_that_it_could_not_read_the_claims(critique: str) -> None:
    run, _ = play("critic", ["draft", critique, critique])
    assert run.answer == "draft" and "could not be read" in warnings(run)[0]


@pytest.mark.parametrize(
    "plan",
    [
        '["find the date", "compare it"]',
        '```json\n{"steps": ["find the date", "compare it"]}\n```',
        '[{"task": "find the date"}, {"task": "compare it"}]',
        '{"plan": [{"id": "a", "description": "find the date"}, {"id": "b", "description": "compare it"}]}',
        "- find the date\n- compare it",
        "* **find the date**\n* compare it",
        "My plan:\n• find the date\n• compare it\nThat is all.",
        "1. **find the date**\n2. **compare** it",
        "**1. find the date**\n**2. compare it**",
        "**find the date**\n**compare it**",
    ],
)
@pytest.mark.parametrize("engine", ["plan_and_execute", "dag"])
def test_a_plan_is_read_in_many_forms(engine: str, plan: str) -> None:
    run, model = play(engine, [plan, "A", "B", "ACHIEVED: yes\nCONFIDENCE: 1\nANSWER: end"], ())
    steps = [request["messages"][-1]["content"] for request in model.requests[1:3]]
    assert "nothing else: find the date\n" in steps[0] and "nothing else: compare it\n" in steps[1]
    assert warnings(run) == []


def test_the_bold_beginning_of_a_step_is_read_without_its_signs() -> None:
    _, model = play("plan_and_execute", ["1. **Search flights**: find **one**\n2. b", "A", "B", "end"], ())
    assert "nothing else: Search flights: find **one**\n" in model.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("engine", "replies", "told"),
    [
        ("plan_and_execute", ["I know it.", "42"], "no plan could be read"),
        ("dag", ["I know it.", "42"], "no plan could be read"),
        ("rewoo", ["I know it.", "42"], "no plan could be read"),
        ("auto", ["I do not know.", "42"], "could not be read"),
        ("reflexion", ["42", "Hm.", "be better", "42", "SATISFACTORY"], "could not be read"),
        ("reflexion", ["42", "Hm.", "be better"] * 3, "could not be read"),
    ],
)
def test_an_engine_that_falls_back_says_so_once(engine: str, replies: list[str], told: str) -> None:
    run, _ = play(engine, replies, ())
    assert run.answer == "42"
    assert all(told in text for text in warnings(run)) and len(warnings(run)) == max(1, replies.count("Hm."))


@pytest.mark.parametrize("engine", ["react", "chain_of_thought", "self_ask", "tree_of_thoughts"])
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("{}: 42", "42"),
        ("Thought: I know. {}: 42", "42"),
        ("Thought: I know. **{}:** 42", "42"),
        ("{}: 42\n\nThought: I am done.", "42"),
        ("{}: 42\nAction: search", "42"),
        ("Thought: I know. {}: 42\nThought: I am done.", "42"),
        ("Thought: I know.\n{}: 1. a\n2. b", "1. a\n2. b"),
    ],
)
def test_an_answer_is_read_after_its_marker_up_to_another_part(engine: str, text: str, answer: str) -> None:
    marker = {"self_ask": "So the final answer is", "tree_of_thoughts": "ANSWER"}.get(engine, "FINAL_ANSWER")
    run, _ = play(engine, [text.format(marker)] * 3)
    assert run.answer == answer


def test_a_marker_that_is_only_mentioned_is_not_an_answer() -> None:
    run, model = play("react", ['I will write "FINAL_ANSWER:" later.', "FINAL_ANSWER: 42"])
    assert (run.answer, model.calls) == ("42", 2)
    run, _ = play("react", ["I will give FINAL_ANSWER: later.\nAction: search\nAction Input: a", "FINAL_ANSWER: 42"])
    assert run.answer == "42" and any(e.kind == "act" for e in run.entries)


def test_a_forced_reply_that_is_an_action_is_not_the_answer() -> None:
    text = "Thought: t\nAction: search\nAction Input: a"
    json = '{"type": "tool_call", "reasoning": "r", "tool_name": "search", "tool_args": {"query": "a"}}'
    for reply, abilities in ((text, Abilities()), (json, Abilities(json=True))):
        run, model = play("react", [reply] * 11, abilities=abilities)
        assert model.calls == 11 and (run.answer or "").startswith("No answer was reached."), run.answer


def test_a_reply_keeps_an_observation_of_its_own_in_the_answer() -> None:
    run, _ = play("react", [Reply("FINAL_ANSWER: see\nObservation 1: it rains")])
    assert run.answer == "see\nObservation 1: it rains"


JUDGED = "ACHIEVED: yes\nCONFIDENCE: 1\nANSWER: 42"
FALLBACKS: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("react", ["42", "42"], {}, "the reply could not be read"),
    ("react", ["Action: search\nAction Input: a"] * 2, {"max_iterations": 1}, "what it did is the answer"),
    ("chain_of_thought", ["42"], {}, "no line FINAL ANSWER:"),
    ("self_ask", ["42"], {}, "neither a follow-up question nor the final answer"),
    ("self_ask", ["Follow up: who?"] * 3, {"max_follow_ups": 1}, "kept asking after the limit"),
    ("tree_of_thoughts", ["a", "Hm.", "ANSWER: 42"], {"n_branches": 1, "max_depth": 1}, "score of a thought"),
    ("tree_of_thoughts", ["a", "Score: 5", "42"], {"n_branches": 1, "max_depth": 1}, "no line ANSWER:"),
    ("tree_of_thoughts", ["a", "Score: 5", ""], {"n_branches": 1, "max_depth": 1}, "the last step of the best line"),
    ("plan_and_execute", ["I know it.", "FINAL_ANSWER: 42"], {}, "no plan could be read"),
    ("plan_and_execute", ["1. a", "FINAL_ANSWER: A", ""], {}, "the results of the steps are the answer"),
    (
        "plan_and_execute",
        ["1. a", "FINAL_ANSWER: FAILED: no", "Hm.", "42"],
        {"replan": True},
        "no new plan could be read",
    ),
    ("dag", ["I know it.", "FINAL_ANSWER: 42"], {}, "no plan could be read"),
    ("dag", ["1. a", "FINAL_ANSWER: A", "42"], {}, "the judgement of the results could not be read"),
    ("dag", ["1. a", "FINAL_ANSWER: A", "ACHIEVED: no\nANSWER: 4", "Hm."], {}, "no new plan could be read"),
    ("rewoo", ["I know it.", "42"], {}, "no plan could be read"),
    ("rewoo", ["Plan: a\n#E1 = search[a]", ""], {}, "what was looked up is the answer"),
    ("auto", ["Hm.", "FINAL_ANSWER: 42"], {}, "the choice of an engine could not be read"),
    ("critic", ["42", "Hm."], {}, "the claims in a critique could not be read"),
    ("critic", ["42", "CLAIM: c\nTOOL: search\nTOOL INPUT: a", "", "VERIFIED: all"], {}, "a revision was empty"),
    ("self_refine", ["42", ""], {}, "the feedback was empty"),
    ("self_refine", ["42", "Add more.", "", "DONE: good"], {}, "a revision was empty"),
    ("reflexion", ["FINAL_ANSWER: 42", "Hm."], {"max_reflections": 1}, "a judgement could not be read"),
]


@pytest.mark.parametrize(("engine", "replies", "options", "told"), FALLBACKS)
def test_every_fallback_of_every_engine_is_told_by_an_event(
    engine: str, replies: list[Any], options: dict[str, Any], told: str
) -> None:
    run, _ = play(engine, replies, **options)
    (warning,) = warnings(run)
    assert run.answer and told in warning


@pytest.mark.parametrize(
    ("engine", "replies"),
    [
        ("react", ["FINAL_ANSWER: 42"]),
        ("chain_of_thought", ["FINAL ANSWER: 42"]),
        ("self_ask", ["So the final answer is: 42"]),
        ("tree_of_thoughts", ["ANSWER: 42"] * 3),
        ("plan_and_execute", ["1. a", "FINAL_ANSWER: A", "42"]),
        ("dag", ["1. a", "FINAL_ANSWER: A", JUDGED]),
        ("rewoo", ["Plan: a\n#E1 = search[a]", "42"]),
        ("auto", ["CHOICE: STEPWISE", "FINAL_ANSWER: 42"]),
        ("critic", ["42", "VERIFIED: all"]),
        ("self_refine", ["42", "DONE: good"]),
        ("reflexion", ["FINAL_ANSWER: 42", "SATISFACTORY"]),
    ],
)
def test_an_engine_that_reads_everything_warns_of_nothing(engine: str, replies: list[Any]) -> None:
    run, _ = play(engine, replies)
    assert (run.answer, warnings(run)) == ("42", [])


@pytest.mark.parametrize(
    ("engine", "replies"),
    [
        ("plan_and_execute", ["1. a", "A", "42"]),
        ("dag", ["1. a", "A", JUDGED]),
        ("reflexion", ["42", "SATISFACTORY"]),
        ("critic", ["42", "VERIFIED: all"]),
        ("self_refine", ["42", "DONE: good"]),
        ("self_ask", ["Follow up: who?", "A", "So the final answer is: 42"]),
    ],
)
def test_a_fallback_of_a_nested_engine_is_told(engine: str, replies: list[Any]) -> None:
    run, _ = play(engine, replies, actor="chain_of_thought")
    assert run.answer == "42" and ["FINAL ANSWER:" in text for text in warnings(run)] == [True]


def test_an_engine_that_falls_back_on_another_hides_none_of_its_warnings() -> None:
    run, _ = play("plan_and_execute", ["I know it.", "42", "Hm."], actor="critic")
    assert sorted(text.split(",")[0] for text in warnings(run)) == [
        "no plan could be read",
        "the claims in a critique could not be read",
    ]


def test_what_was_wrong_with_a_reply_is_in_its_event() -> None:
    run, _ = play("react", ["I know: FINAL_ANSWER: 42"])
    (event,) = [event for event in run.events() if event.kind == "thought"]
    assert event.data["problems"] == ["the final answer was found within a line"]
    run, _ = play(
        "react", ["<tool_call>{'name': 'search', 'arguments': {'query': 'a'}}</tool_call>", "FINAL_ANSWER: 42"]
    )
    (call,) = next(event for event in run.events() if event.kind == "thought").data["calls"]
    assert call["coerced"][0] == "the call was written into the text, as <tool_call>" and len(call["coerced"]) == 2
