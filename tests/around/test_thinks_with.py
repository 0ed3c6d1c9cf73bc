"""An engine instead of a model: its steps are steps of the same run, and its answer is the thought."""

from __future__ import annotations

from agentkit import Agent, tool
from agentkit.around.thinks_with import thinks_with
from agentkit.engines.chain_of_thought import chain_of_thought
from agentkit.engines.tree_of_thoughts import tree_of_thoughts
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def look(query: str) -> str:
    """Look something up."""
    return "found"


def test_the_inner_steps_are_visible_and_only_the_named_roles_are_replaced() -> None:
    model = Scripted(["Step 1: look\nFINAL ANSWER: 1. a", "A", "done"])
    agent = Agent(model, engine="plan_and_execute", arounds=[thinks_with(chain_of_thought, "plan")], journal="memory")
    run = agent.start("q", paused=True)
    where = [(place.function, place.around) for place in run.where()][:3]
    assert where == [("plan_and_execute", False), ("think", True), ("chain_of_thought", False)]
    assert run.drive().answer == "done" and model.calls == 3
    assert [entry.step.role for entry in run.entries[1:] if entry.step] == [
        "thought",
        "thought",
        "synthesize",
        "answer",
    ]
    assert run.entries[-2].step.tags["plan"] == ("a",)


def test_an_engine_with_lanes_can_think_and_does_not_think_with_itself() -> None:
    def loop(task: object, **options: object) -> object:
        return tree_of_thoughts(task, n_branches=2, max_depth=1)

    model = Scripted(["left", "right", "3", "8", "ANSWER: right it is"])
    run = Agent(model, arounds=[thinks_with(loop)], journal="memory").start("q", paused=True)
    assert run.drive().answer == "right it is" and model.calls == 5
    run.trace.rebuild(strict=True)
    assert run.answer == "right it is"
