"""A budget holds in every engine: whatever is due next, a plan, a branch or a judgement, it is asked for within the budget only."""

from __future__ import annotations

import pytest
from engines.actors import Actor, look
from splitting import split

from agentkit import Agent
from agentkit.engines.registry import ENGINES


@pytest.mark.parametrize("engine", ENGINES)
def test_no_engine_asks_more_often_than_its_budget_allows_wherever_it_ends(engine: str) -> None:
    options = {"max_depth": 2} if engine == "tree_of_thoughts" else {}
    whole = Actor()
    assert Agent(whole, [look], journal="memory", **split(options, engine)).run("q").reason == ""
    for most in range(1, len(whole.requests)):
        model = Actor()
        budget = {"max_model_calls": most}
        result = Agent(model, [look], journal="memory", budget=budget, **split(options, engine)).run("q")
        assert (len(model.requests), result.reason) == (most, "budget:max_model_calls")
        assert result.answer.startswith(f"I reached the model call budget ({most} of {most})")
