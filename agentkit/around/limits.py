"""End a run whose budget is used up, with what was reached so far as its answer."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentkit.around.base import around
from agentkit.core.messages import Reply
from agentkit.core.steps import Act, Engine, Step, Think
from agentkit.errors import Finish

BUDGET = "budget:"
"""How the `finish` of a reply, and the `name` of a refusal's value, begin where a gate put them in the place of a step."""


@around(Think, Act)
def over_budget(step: Step, memory: dict[str, Any]) -> Generator[Step, Any, Any]:
    """End the run where the gate of the budget has answered in the place of a model or a tool."""
    result = yield step
    if isinstance(result, Reply):
        if result.finish.startswith(BUDGET):
            raise Finish(result.text, result.finish)
        return result
    for message in result:
        if isinstance(message.value, dict) and str(message.value.get("ends", "")).startswith(BUDGET):
            raise Finish(message.value["answer"], message.value["ends"])
    return result


def capped(engine: Engine, **limits: float) -> Engine:
    """Give a nested engine a budget of its own: `yield from capped(react(...), max_model_calls=5)`.

    The names are those of `Budget`. What it has used up is its own affair: it gets what it has reached as a last reply
    and ends, and the engine around it goes on.
    """
    return (yield from engine)
