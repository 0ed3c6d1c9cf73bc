"""Letting a model talk on from its card in the view."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from view.conftest import Viewed

from agentkit import Agent, tool
from agentkit.models.base import Request
from agentkit.models.scripted import Scripted

ACTION = 'Thought: I look.\nAction: price\nAction Input: {"item": "tea"}'


@tool(effect="pure")
def price(item: str) -> int:
    """Look up the price of an item."""
    return len(item)


def first(request: Request) -> str:
    return ACTION if request.stop else f"{ACTION}\nObservation: 99\nFINAL_ANSWER: 99"


def shop(view: Callable[..., Viewed]) -> tuple[Viewed, Scripted]:
    model = Scripted([first, "FINAL_ANSWER: 3", first])
    return view(Agent(model, [price], journal="memory").run("Shop.").run), model


def test_the_invented_observation_is_sent_beside_the_real_one(view: Callable[..., Viewed]) -> None:
    viewed, model = shop(view)
    entries = [entry.id for entry in viewed.run.entries]
    shown = viewed.execute("talk_on", entry=entries[1])
    assert shown == {
        "written": ACTION,
        "invented": "Observation: 99\nFINAL_ANSWER: 99",
        "really_written": ACTION,
        "observations": ["3"],
        "sentence": "Nothing called the tool on the left: the model invented what it would return.",
    }
    assert viewed.execute("talk_on", entry=entries[1]) == shown and model.calls == 3
    assert [entry.id for entry in viewed.run.entries] == entries


def test_what_cannot_be_asked_is_refused_with_a_sentence(view: Callable[..., Viewed]) -> None:
    viewed, model = shop(view)
    with pytest.raises(LookupError, match="only a thought"):
        viewed.execute("talk_on", entry=viewed.run.entries[2].id)
    assert model.calls == 2
