"""An agent can be the model of another agent, as engines of other systems can."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit import Agent, Loop, Reply, Usage, tool
from agentkit.engines.registry import ENGINES
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def look(query: str) -> str:
    """Look something up."""
    return f"found {query}"


def test_an_agent_answers_as_the_model_of_another_one() -> None:
    inner = Agent(
        Scripted(["Action: look\nAction Input: x", "FINAL_ANSWER: 42"], usage=Usage(10, 1)), [look], journal="memory"
    )
    result = Agent(inner, engine="chain_of_thought", journal="memory").run("q")
    assert (result.answer, result.error, result.usage.input) == ("42", None, 20)
    assert result.run.entries[1].model == "react (scripted)"


def test_the_tools_of_the_outer_agent_are_called_by_the_inner_one() -> None:
    replies = ["Thought: t\nAction: look\nAction Input: x", "FINAL_ANSWER: FINAL_ANSWER: 42"]
    outer = Agent(Agent(Scripted(replies), journal="memory"), [look], journal="memory")
    run = outer.start("q", paused=True)
    assert run.drive().answer.endswith("42") and [e.result.text for e in run.entries if e.kind == "act"] == ["found x"]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_can_be_the_model_of_another(engine: str) -> None:
    inner = Agent(Scripted(["FINAL_ANSWER: 42"] * 99), engine=engine, journal="memory")
    assert "42" in Agent(inner, engine=Loop("reflexion", max_reflections=1), journal="memory").run("q").answer


def test_the_error_of_the_inner_model_is_that_of_the_outer_run() -> None:
    inner: Any = Agent(Scripted([ValueError("no luck")]), journal="memory")
    result = Agent(inner, journal="memory").run("q")
    assert "no luck" in str(result.error)


def test_a_session_of_agents_keeps_its_history() -> None:
    heard = []

    def model(request: Any) -> Reply:
        heard.append([message.text for message in request.chat])
        return Reply("hello")

    outer = Agent(Agent(model, journal="memory", instructions="be kind"), journal="memory")
    outer.run(
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    )
    assert heard == [["be kind", "a", "b", "c"]]
