"""Every engine respects a budget, whatever comes next: a plan, a branch or a judgement."""

from __future__ import annotations

import pytest
from engines.actors import Actor, look
from splitting import split

from agentkit import Agent
from agentkit.engines.registry import ENGINES


@pytest.mark.parametrize("engine", ENGINES)
def test_no_engine_makes_more_model_calls_than_its_budget_allows(engine: str) -> None:
    options = {"max_depth": 2} if engine == "tree_of_thoughts" else {}
    unlimited = Actor()
    assert Agent(unlimited, [look], journal="memory", **split(options, engine)).run("q").reason == ""
    for most in range(1, len(unlimited.requests)):
        model = Actor()
        budget = {"max_model_calls": most}
        result = Agent(model, [look], journal="memory", budget=budget, **split(options, engine)).run("q")
        assert (len(model.requests), result.reason) == (most, "budget:max_model_calls")
        assert result.answer.startswith(f"I reached the model call budget ({most} of {most})")
