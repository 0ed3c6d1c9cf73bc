"""The request that a view shows is the one that was sent, with each provider's API."""

from __future__ import annotations

from collections.abc import Callable

from loopback import Loopback
from models.test_remote import SCRIPTS, WIRES, add, model
from view.conftest import Viewed, calling, paused

from agentkit import Agent

View = Callable[..., Viewed]


@WIRES
def test_the_request_that_is_shown_is_the_one_that_was_sent(view: View, wire: str) -> None:
    with Loopback(list(SCRIPTS[wire])) as host:
        viewed = view(
            Agent(model(host, wire), [add], instructions="Be brief.", journal="memory").start("1+2?", paused=True)
        )
        viewed.settle("play")
        thoughts = [card["id"] for card in viewed.screen.cards if card["kind"] == "think"]
        shown = [viewed.execute("request", entry=entry) for entry in thoughts]
        assert [request["body"] for request in shown] == [request.json for request in host.got]
        assert shown[1]["previous_body"] == host.got[0].json and 0 < shown[1]["same"] <= len(
            host.got[0].json["messages"]
        )
        kinds = [segment["kind"] for segment in shown[1]["segments"]]
        assert {"system", "tools", "task", "step"} == set(kinds)


def test_a_run_waits_for_approval_when_its_budget_is_used_up(view: View) -> None:
    viewed = view(paused(calling("add", a=1, b=2), "three", tools=[add], budget={"max_model_calls": 1, "ask": True}))
    viewed.settle("play")
    (waiting,) = viewed.screen.head["pending"]
    assert waiting["kind"] == "think" and waiting["why"]
    viewed.execute("approve", which=waiting["which"])
    viewed.settle("play")
    assert viewed.screen.head["status"] == "done"
