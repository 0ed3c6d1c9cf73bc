"""An edit in a view changes what the person changed, and nothing that the view could not show as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from view.conftest import Viewed, calling, paused

from agentkit import Call, Reply, tool
from agentkit.view import cards
from agentkit.view.numbers import MARK

View = Callable[..., Viewed]

BIG = 2**53 + 1
BOTH = Reply("Both.", (Call("price", {"item": "tea"}, "1"), Call("price", {"item": "cake"}, "2")))


@tool(effect="pure")
def price(item: str) -> str:
    """Look up the price of an item."""
    return f"price of {item}"


@tool
def enter(user: str, password: str, number: int) -> str:
    """Open a door."""
    return f"{user} is in, {len(password)} letters, number {number}"


def run_with_password(**options: Any) -> Any:
    return paused(
        calling("enter", user="ann", password="hunter2-and-more", number=BIG), "done", tools=[enter], **options
    )


def observations(viewed: Viewed) -> list[str]:
    return [card["text"] for card in viewed.screen.cards if card["kind"] == "act"]


def test_one_of_several_calls_of_a_thought_is_edited(view: View) -> None:
    viewed = view(paused(BOTH, "done", tools=[price]))
    viewed.settle("step")
    thought = viewed.screen.cards[-1]
    calls = [thought["calls"][0], {**thought["calls"][1], "arguments": {"item": "soup"}}]
    viewed.execute("edit", entry=thought["id"], base=thought["id"], change={"calls": calls})
    viewed.settle("step_over")
    assert observations(viewed) == ["price of tea", "price of soup"]


@pytest.mark.parametrize("which", [0, 1])
def test_any_of_several_pending_calls_is_edited_before_it_runs(view: View, which: int) -> None:
    viewed = view(paused(BOTH, "done", tools=[price]))
    viewed.settle("step")
    step = {name: viewed.screen.head["pending"][which][name] for name in ("path", "index")}
    viewed.execute(
        "edit", entry=None, step=step, base=viewed.screen.cards[-1]["id"], change={"arguments": {"item": "soup"}}
    )
    viewed.settle("step_over")
    expected = ["price of tea", "price of cake"]
    expected[which] = "price of soup"
    assert observations(viewed) == expected


def test_a_call_that_is_no_longer_pending_is_not_edited(view: View) -> None:
    viewed = view(paused(BOTH, "done", tools=[price]))
    viewed.settle("step")
    step = {name: viewed.screen.head["pending"][0][name] for name in ("path", "index")}
    viewed.settle("step")
    with pytest.raises(LookupError, match="no longer pending"):
        viewed.execute("edit", entry=None, step=step, change={"arguments": {"item": "soup"}})


def test_a_value_that_a_view_cannot_show_is_kept_when_another_one_is_edited(view: View) -> None:
    viewed = view(run_with_password())
    viewed.settle("step")
    shown = viewed.screen.head["pending"][0]["call"]["arguments"]
    assert "hunter2" not in str(shown) and shown["number"] == f"{MARK}{BIG}"
    viewed.execute("edit", entry=None, change={"arguments": {**shown, "user": "bob"}})
    viewed.settle("step")
    assert observations(viewed) == [f"bob is in, 16 letters, number {BIG}"]


def test_a_value_that_a_view_cannot_show_is_kept_when_the_call_is_approved(view: View) -> None:
    viewed = view(run_with_password(approve=True))
    viewed.settle("play")
    shown = viewed.screen.head["pending"][0]["call"]["arguments"]
    viewed.execute("approve", which=viewed.screen.head["pending"][0]["which"], arguments={**shown, "user": "bob"})
    viewed.settle("play")
    assert observations(viewed) == [f"bob is in, 16 letters, number {BIG}"]


@tool
def measure(data: dict[str, Any], ratio: float, note: str = "") -> str:
    """Measure something."""
    return repr([data, ratio, note])


DATA = {"sizes": [1.0, 2**60, 0.1], "user": {"name": "ann", "password": "hunter2-and-more"}, "mark": MARK}


def test_numbers_and_secrets_stay_exact_beside_an_edit(view: View) -> None:
    viewed = view(paused(calling("measure", data=DATA, ratio=1.0), "done", tools=[measure]))
    viewed.settle("step")
    shown = viewed.screen.head["pending"][0]["call"]["arguments"]
    assert shown["data"]["sizes"] == [f"{MARK}1.0", f"{MARK}{2**60}", 0.1]
    user = {**shown["data"]["user"], "name": "bob"}
    edited = {**shown["data"], "user": user, "sizes": [*shown["data"]["sizes"], f"{MARK}3.0", f"{MARK}{2**70}"]}
    viewed.execute("edit", entry=None, change={"arguments": {**shown, "data": edited, "note": "more"}})
    viewed.settle("step")
    data = {**DATA, "user": {**DATA["user"], "name": "bob"}, "sizes": [*DATA["sizes"], 3.0, 2**70]}
    (call,) = [entry.step.call for entry in viewed.run.entries if entry.kind == "act"]
    assert repr(call.arguments) == repr({"data": data, "ratio": 1.0, "note": "more"})


@pytest.mark.parametrize("number", ["1e400", "x", "", "01", "9" * 5_000])
def test_what_is_marked_as_a_number_and_is_none_is_refused(view: View, number: str) -> None:
    viewed = view(run_with_password())
    viewed.settle("step")
    with pytest.raises(LookupError, match="number"):
        viewed.execute("edit", entry=None, change={"arguments": {"number": f"{MARK}{number}"}})


def test_a_masked_argument_can_be_replaced(view: View) -> None:
    viewed = view(run_with_password())
    viewed.settle("step")
    viewed.execute("edit", entry=None, change={"arguments": {"user": "bob", "password": "new", "number": 1}})
    viewed.settle("step")
    assert observations(viewed) == ["bob is in, 3 letters, number 1"]


def test_a_long_task_is_truncated_and_loaded_in_full(view: View) -> None:
    run = paused("done")
    long = "x" * (cards.MAX_TEXT + 1)
    viewed = view(run.agent.start(long, paused=True))
    (task,) = viewed.screen.cards
    assert len(task["messages"][0]["text"]) == cards.MAX_TEXT and task["long"] == {"message0": len(long)}
    assert viewed.execute("text", entry=task["id"], field="message0") == {"text": long}


def test_the_forecast_of_a_fork_is_shown_until_it_continues(view: View) -> None:
    viewed = view(paused(calling("price", item="tea"), "done", "done", tools=[price]))
    viewed.settle("step", "step")
    fork = view(viewed.run.fork(1))
    assert "1 recorded step is reused" in fork.screen.head["forecast"]
    fork.settle("step")
    assert fork.screen.head["forecast"] == ""
    fork.settle("undo")
    assert "1 recorded step is reused" in fork.screen.head["forecast"]
