"""The profile of a run in a view: its figures and its flame are sent when they are asked for, and nothing before."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from view.conftest import Viewed

from agentkit import Agent, Call, Reply, Usage, tool
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

View = Callable[..., Viewed]
NAME = "<img src=x onerror=alert(1)>\u202e"


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    return "rain"


def viewed_run(view: View) -> Viewed:
    """Return a view of a run that calls a tool, and is about to ask its model again."""
    calls = Reply("", (Call("look", {"city": "Bern"}, "c"),), usage=Usage(100, 10, cost=0.5))
    model: Any = Scripted([calls, Reply("rain", usage=Usage(200, 20, cost=0.25))], abilities=Abilities(tools=True))
    model.name = NAME
    viewed = view(Agent(model, [look], journal="memory").start("Go.", paused=True))
    for _ in range(2):
        viewed.settle("step")
    return viewed


def test_the_profile_has_the_usage_of_the_run_and_its_bars_lead_to_entries(view: View) -> None:
    viewed = viewed_run(view)
    profile = viewed.execute("profile")
    assert (profile["usage"]["input"], profile["usage"]["cost"]) == (100, 0.5)
    assert {row["by"] for row in profile["rows"]} == {"phase", "model", "tool"}
    flame = profile["flame"]
    assert (flame["name"], flame["tokens"], flame["cost"], flame["calls"]) == ("run", 110, 0.5, 2)
    act = next(bar for bar in flame["bars"] if bar["name"] == "act")
    assert act["bars"][0]["entry"] == viewed.run.entries[2].id
    total = sum(seconds for part, seconds in profile["clock"].items() if part != "total")
    assert abs(profile["clock"]["total"] - total) < 1e-9


def test_a_profile_that_is_asked_for_later_has_more_in_it(view: View) -> None:
    viewed = viewed_run(view)
    before = viewed.execute("profile")["flame"]["calls"]
    viewed.settle("play")
    assert (before, viewed.execute("profile")["flame"]["calls"]) == (2, 3)


def test_bars_of_a_line_that_was_left_lead_nowhere(view: View) -> None:
    viewed = viewed_run(view)
    viewed.run.rewind(0)
    (left,) = [bar for bar in viewed.execute("profile")["flame"]["bars"] if bar["kind"] == "apart"]
    assert (left["name"], left["calls"], left["entry"]) == ("on lines that were left", 2, 0)


def test_a_name_that_a_model_has_chosen_is_inert(view: View) -> None:
    text = json.dumps(viewed_run(view).execute("profile"), ensure_ascii=False)
    assert "\u202e" not in text and "\\\\u202e" in text
