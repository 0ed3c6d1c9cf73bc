"""A plan, a result, a reflection, a verdict, a claim or a score is edited in a pause, and the engine continues from
there.
"""

from __future__ import annotations

from typing import Any

from splitting import split

from agentkit import Agent, Run, tool
from agentkit.journal.entries import Entry
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def look(query: str) -> str:
    """Look something up."""
    return f"found {query}"


def begin(engine: str, replies: list[Any], **options: Any) -> tuple[Run, Scripted]:
    model = Scripted(replies)
    return Agent(model, options.pop("tools", ()), journal="memory", **split(options, engine)).start(
        "q", paused=True
    ), model


def until(run: Run, role: str) -> Entry:
    for entry in run:
        if entry.step is not None and entry.step.role == role:
            return entry
    raise AssertionError(f"no step of role {role}")


def last(model: Scripted) -> str:
    return str(model.requests[-1]["messages"][-1]["content"])


def test_the_plan() -> None:
    run, model = begin("plan_and_execute", ["1. a\n2. b", "A", "B", "C", "done"])
    run.edit(until(run, "plan"), text="1. a\n2. other\n3. c")
    run.drive()
    assert "Step 2 (other): B\nStep 3 (c): C" in last(model)


def test_the_result_of_a_step() -> None:
    run, model = begin("plan_and_execute", ["1. a\n2. b", "A", "B", "done"])
    until(run, "plan")
    run.edit(until(run, "thought"), text="FAILED: by hand")
    run.drive()
    assert "Step 1 (a): FAILED: by hand" in last(model)
    assert run.entries[-2].step.tags["plan_states"] == {1: "failed"}


def test_the_verdict() -> None:
    run, _ = begin("reflexion", ["A", "UNSATISFACTORY", "never asked"])
    run.edit(until(run, "evaluate"), text="SATISFACTORY")
    assert run.drive().answer == "A"
    run, _ = begin("reflexion", ["A", "SATISFACTORY", "Reflection: look", "B", "SATISFACTORY"])
    run.edit(until(run, "evaluate"), text="UNSATISFACTORY, since I say so")
    assert run.drive().answer == "B"


def test_the_reflection() -> None:
    run, model = begin("reflexion", ["A", "UNSATISFACTORY", "Reflection: nothing", "B", "SATISFACTORY"])
    run.edit(until(run, "reflect"), text="Look it up first.")
    run.drive()
    assert "- Look it up first." in model.requests[3]["messages"][0]["content"]


def test_the_claims() -> None:
    critique = "CLAIM: a\nTOOL: look\nTOOL INPUT: a"
    run, model = begin("critic", ["draft", critique, "revised", "VERIFIED: all"], tools=[look])
    run.edit(until(run, "critique"), text="CLAIM: b\nTOOL: look\nTOOL INPUT: b")
    assert (
        run.drive().answer == "revised"
        and 'Claim: "b"\nTool result: found b' in model.requests[2]["messages"][-1]["content"]
    )
    run, _ = begin("critic", ["draft", critique], tools=[look])
    run.edit(until(run, "critique"), text="VERIFIED: I know it")
    assert run.drive().answer == "draft"


def test_the_score_of_a_branch() -> None:
    replies = ["a", "b", "8", "3", "ANSWER: done"]
    run, model = begin("tree_of_thoughts", replies, n_branches=2, beam_width=1, max_depth=1)
    for _ in range(4):
        scored = next(run)
    run.edit(scored, text="Score: 9")
    assert run.drive().answer == "done" and "1. b" in last(model)
    assert run.entries[-1].step.tags["chosen"] == ["2"]


def test_a_follow_up_question() -> None:
    run, model = begin("self_ask", ["Follow up: who?", "So the final answer is: x"], tools=[look])
    run.edit(next(run), text="Follow up: where?")
    run.drive()
    assert last(model) == "Intermediate answer: found where?"


def test_an_injected_message_is_answered_before_the_end() -> None:
    for engine, replies in {
        "chain_of_thought": ["a"],
        "plan_and_execute": ["1. a", "A", "sum"],
        "reflexion": ["A", "SATISFACTORY"],
        "self_ask": ["So the final answer is: a"],
        "critic": ["draft"],
        "self_refine": ["draft", "DONE: fine"],
        "tree_of_thoughts": ["ANSWER: 1", "x", "y"],
        "rewoo": ["#E1 = LLM[who]", "A", "sum"],
        "dag": ["1. a", "A", "ACHIEVED: yes\nANSWER: b"],
        "auto": ["CHOICE: STEPWISE", "a"],
    }.items():
        run, _ = begin(engine, [*replies, *["FINAL_ANSWER: So the final answer is: mind you"] * 20])
        while not (run.pending and run.pending[0].step.kind == "conclude"):
            next(run)
        receipt = run.inject("and now?")
        answer = run.drive().answer or ""
        assert "mind you" in answer and receipt.seen, engine
