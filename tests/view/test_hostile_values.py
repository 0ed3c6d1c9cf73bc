"""Values that attack a view: too deep, too large, cyclic, or no JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from view.conftest import Viewed, calling, paused

from agentkit import tool

View = Callable[..., Viewed]


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


def cyclic() -> Any:
    value: list[Any] = [1]
    value.append({"again": value})
    return value


VALUES: dict[str, Any] = {
    "deep": nested(10_000),
    "cyclic": cyclic(),
    "a large integer": 10**5_000,
    "no number": [float("nan"), float("inf")],
    "the names of JavaScript": {"__proto__": {"x": 1}, "constructor": 2, "toString": "3"},
    "a long text": "y" * 1_000_000,
    "a text that is not Unicode": "\ud800",
    "records": [{"a": 10**5_000}, {"a": float("nan")}],
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_hostile_value_of_a_tool_or_a_model_is_shown(view: View, value: Any) -> None:
    @tool(effect="pure")
    def fetch(given: Any = None) -> Any:
        """Fetch a value."""
        return {"value": value}

    viewed = view(paused(calling("fetch"), calling("fetch", given=value), "done", tools=[fetch]))
    viewed.settle("play")
    assert viewed.screen.head["status"] == "done" and viewed.screen.total == 7
    json.dumps(viewed.screen.messages, allow_nan=False)  # what a browser reads
