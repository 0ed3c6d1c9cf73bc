"""What a person reads in the view: words instead of technical names, and what going back would do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from view.conftest import Viewed, calling, paused

from agentkit import Act, All, Answer, Call, Chat, Think, tool
from agentkit.engines.registry import ROLES
from agentkit.view.words import lane_text, role_title, tag_texts

View = Callable[..., Viewed]


@tool(effect="irreversible")
def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


@tool(effect="pure")
def price(item: str) -> int:
    """Look up the price of an item."""
    return len(item)


def spending() -> Any:
    """Return a run that pays, looks up a price and ends: task, thought, payment, thought, price, answer."""
    return paused(calling("pay", amount=50), calling("price", item="tea"), "done", tools=[pay, price])


def test_every_role_of_the_package_has_a_title() -> None:
    assert [role for role in ROLES if role != "steps" and role_title(role) == role] == []
    assert role_title("thought") == "" and role_title("my own") == "my own"


def test_a_lane_is_told_as_one_of_several() -> None:
    assert lane_text("", {}) == ""
    assert lane_text(".2[0.1]", {".2[0.": 3}) == "in parallel, 2 of 3"
    assert lane_text("[3.0][1.2]", {"[3.": 2, "[3.0][1.": 4}) == "in parallel, 1 of 2 › 3 of 4"
    assert lane_text("[3.1]", {}) == "in parallel, 2"


def test_tags_are_words_with_their_names_in_the_tooltip() -> None:
    assert tag_texts({"cost": 43, "mood": "good", "ok": False, "more": [1]}) == [
        {"text": "at most 43 model calls", "title": "cost: 43"},
        {"text": "mood good", "title": "mood: good"},
        {"text": "failed", "title": "ok: false"},
        {"text": "more", "title": "more: [1]"},
    ]


def test_a_tag_with_braces_is_shown_as_it_is() -> None:
    assert tag_texts({"{0.x}": "{1}"})[0]["text"] == "{0.x} {1}"


def splitting(task: Any) -> Any:
    """Look up two prices at the same time."""
    chat = Chat.of(task)
    yield All((Act(Call("price", {"item": "tea"}, "1")), Act(Call("price", {"item": "milk"}, "2"))))
    chat += yield Think(chat)
    return Answer("over", chat)


def test_parallel_steps_say_which_of_how_many_they_are(view: View) -> None:
    viewed = view(paused("done", engine=splitting, tools=[price]))
    assert [step["lane_text"] for step in viewed.screen.head["pending"]] == [
        "in parallel, 1 of 2",
        "in parallel, 2 of 2",
    ]
    viewed.settle("step", "step")
    assert [card["lane_text"] for card in viewed.screen.cards] == ["", "in parallel, 1 of 2", "in parallel, 2 of 2"]


def test_arounds_in_progress_say_what_they_do(view: View) -> None:
    viewed = view(paused("done"))
    does = [frame["does"] for frame in viewed.screen.head["where"] if frame["around"]]
    assert "asks again if the reply is empty" in does and all(does)
    assert [frame["does"] for frame in viewed.screen.head["where"] if not frame["around"]] == [""]


@pytest.mark.parametrize("verb", ["undo", "rewind"])
def test_a_forecast_is_what_is_told_after_the_verb(view: View, verb: str) -> None:
    viewed = view(spending())
    viewed.settle("play", "undo", "undo")
    viewed.until(lambda: viewed.screen.total == 5)
    entry = viewed.screen.cards[1]["id"]
    before = len(viewed.run.rows())
    forecast = viewed.execute("forecast", entry=entry)
    assert len(viewed.run.rows()) == before
    viewed.execute(verb, **({"entry": entry} if verb == "rewind" else {}))
    viewed.until(lambda: viewed.screen.total == {"undo": 4, "rewind": 2}[verb])
    assert forecast[verb].endswith(viewed.screen.head["forecast"])
    assert ("Not undone: pay(amount=50); the run asks before it calls pay again." in forecast[verb]) == (
        verb == "rewind"
    )


def test_a_forecast_names_what_is_kept_and_what_is_performed_again(view: View) -> None:
    viewed = view(spending())
    viewed.settle("play")
    thought, payment = (card["id"] for card in viewed.screen.cards[1:3])
    asked = "the run asks before it calls pay again."
    assert viewed.execute("forecast", entry=payment) == {
        "undo": "Takes back the last step, keeps 5 steps and performs nothing.",
        "rewind": "Keeps 2 steps and performs nothing. 4 steps stay as a branch.",
        "retry": "Keeps 1 step, then performs pay(amount=50) once more. 5 steps stay as a branch. "
        f"Not undone: pay(amount=50); {asked}",
        "fork": "Starts a second run that reuses 2 steps without a call.",
    }
    again = viewed.execute("forecast", entry=thought)["retry"]
    assert again.startswith("Keeps only the task, then asks the model again. 6 steps stay as a branch. Not undone: pay")


def test_a_forecast_of_what_cannot_be_done_is_empty(view: View) -> None:
    viewed = view(paused("done", engine=splitting, tools=[price]))
    assert viewed.execute("forecast", entry=0)["undo"] == "" == viewed.execute("forecast", entry=0)["retry"]
    viewed.settle("step")
    assert viewed.execute("forecast", entry=viewed.screen.cards[1]["id"])["retry"] == ""


def test_branches_are_named_by_what_differs_in_the_list_and_beside_the_entry(view: View) -> None:
    viewed = view(spending())
    viewed.settle("play")
    price_entry = viewed.screen.cards[4]["id"]
    viewed.execute("edit", entry=price_entry, change={"text": "9"}, base=0, reason="prices went up")
    viewed.settle("step")
    names = [branch["name"] for branch in viewed.execute("branches")]
    assert names == ["", "observation of step 4 before the edit"]
    assert viewed.screen.cards[4]["beside"] == [names[1], ""]
    viewed.execute("switch", entry=price_entry)
    viewed.until(lambda: viewed.screen.cards[4]["id"] == price_entry)
    names = [branch["name"] for branch in viewed.execute("branches")]
    assert names == ["", "observation of step 4 edited (prices went up)"]
    assert viewed.screen.cards[4]["beside"] == ["", names[1]]
    assert viewed.execute("compare", branch=1)["name"] == names[1]


def test_a_step_that_was_tried_again_and_one_that_goes_on_have_names_too(view: View) -> None:
    viewed = view(paused("one", "two", "three"))
    viewed.settle("step")
    viewed.execute("retry", entry=viewed.screen.cards[1]["id"])
    viewed.until(lambda: viewed.screen.cards[-1].get("siblings"))
    assert [branch["name"] for branch in viewed.execute("branches")] == ["", "attempt 1 at step 1"]
    viewed.execute("rewind", entry=viewed.screen.cards[0]["id"])
    viewed.until(lambda: viewed.screen.total == 1)
    assert {branch["name"] for branch in viewed.execute("branches")[1:]} == {"continues after the task"}


def test_the_counts_are_those_of_the_branch_and_the_budget_counts_all(view: View) -> None:
    viewed = view(spending())

    def shows(model_calls: int, tool_calls: int) -> bool:
        head = viewed.screen.head
        return (head["model_calls"], head["tool_calls"]) == (model_calls, tool_calls)

    viewed.settle("play", "undo", "undo", "undo", "undo")
    viewed.until(lambda: viewed.screen.total == 3 and shows(1, 1))
    assert viewed.screen.head["spent"] == {"model_calls": 3, "tool_calls": 2}
    viewed.settle("redo")
    viewed.until(lambda: shows(2, 1))


def test_a_fork_says_after_which_entry_it_begins(view: View) -> None:
    viewed = view(spending())
    assert viewed.screen.head["forked"] is None
    viewed.settle("step", "step")
    fork = view(viewed.run.fork(1))
    assert fork.screen.head["forked"] == {"run": viewed.run.id, "n": 1}


def asking() -> Any:
    return paused(calling("pay", amount=50), "done", tools=[pay], approve=["pay"])


@pytest.mark.parametrize(("commands", "was_playing"), [(["play"], True), (["step", "step"], False)])
def test_a_view_knows_whether_a_run_that_waits_was_playing(view: View, commands: list[str], was_playing: bool) -> None:
    viewed = view(asking())
    viewed.settle(*commands)
    assert viewed.screen.head["status"] == "waiting"
    assert viewed.screen.head["was_playing"] is was_playing


@pytest.mark.parametrize(("author", "reason"), [("human", "approved by a person"), ("Ada", "approved by Ada")])
def test_the_card_of_an_approved_call_says_who_approved_it(view: View, author: str, reason: str) -> None:
    viewed = view(asking())
    viewed.settle("play")
    viewed.run.approve(author=author)
    viewed.settle("play")
    assert [card["reason"] for card in viewed.screen.cards if card["kind"] == "act"] == [reason]
    assert {card["reason"] for card in viewed.screen.cards if card["kind"] != "act"} == {""}


@pytest.mark.parametrize("expression", ["mistyped", "result"])
def test_a_condition_is_tried_when_it_is_added(view: View, expression: str) -> None:
    conditions = {"mistyped": lambda entry: entri.kind, "result": lambda entry: not entry.result.ok}  # type: ignore[name-defined]  # noqa: F821
    viewed = view(spending())
    viewed.screen.predicate = conditions.__getitem__  # type: ignore[method-assign]
    if expression == "mistyped":
        with pytest.raises(LookupError, match="NameError"):
            viewed.execute("break", kind="when", value=expression)
    viewed.settle("step")
    with pytest.raises(LookupError, match=r"for step 1, the condition raises (NameError|AttributeError)"):
        viewed.execute("break", kind="when", value=expression)
    assert viewed.run.state.breakpoints == []


def test_a_condition_that_can_be_evaluated_is_accepted_before_the_first_step(view: View) -> None:
    viewed = view(spending())
    viewed.execute("break", kind="when", value="failed")
    assert len(viewed.run.state.breakpoints) == 1
