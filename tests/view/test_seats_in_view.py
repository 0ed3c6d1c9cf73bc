"""In the view, a person or the recording plays a step in the place of the model or the tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from view.conftest import Viewed, calling, paused

from agentkit import tool

View = Callable[..., Viewed]

NEXT = {"path": "", "index": 0}


@tool(effect="pure")
def price(item: str) -> str:
    """Look up the price of an item."""
    return f"price of {item}"


def read(viewed: Viewed, text: str) -> dict[str, Any]:
    answer: dict[str, Any] = viewed.execute("read", step=NEXT, text=text)
    return answer


def test_what_is_read_in_a_reply_is_checked_against_the_tools_and_their_schemas(view: View) -> None:
    viewed = view(paused("done", tools=[price], dialect="text"))
    good = read(viewed, 'Action: price\nAction Input: {"item": "tea"}')
    assert good == {
        "calls": [{"text": "price(item='tea')", "problem": ""}],
        "answer": None,
        "problems": [],
        "readable": True,
    }
    (wrong,) = read(viewed, 'Action: price\nAction Input: {"thing": "tea"}')["calls"]
    assert "item" in wrong["problem"]
    (unknown,) = read(viewed, 'Action: prize\nAction Input: {"item": "tea"}')["calls"]
    assert "not found" in unknown["problem"]
    (cut,) = read(viewed, 'Action: price\nAction Input: {"item": ')["calls"]
    assert "cut off" in cut["problem"]
    assert read(viewed, "FINAL_ANSWER: 4")["answer"] == "4"
    assert not read(viewed, "hm")["readable"]
    assert viewed.run.entries[-1].kind == "begin"


def test_a_reply_that_a_person_writes_is_the_result_of_the_thought(view: View) -> None:
    viewed = view(paused("done", tools=[price], dialect="text"))
    reply = 'Thought: x\nAction: price\nAction Input: {"item": "tea"}'
    viewed.execute("edit", entry=None, step=NEXT, base=0, change={"reply": reply})
    viewed.until(lambda: viewed.screen.cards[-1]["kind"] == "think")
    assert (viewed.screen.cards[-1]["author"], viewed.screen.cards[-1]["text"]) == ("human", "x")
    viewed.settle("step")
    assert viewed.screen.cards[-1]["text"] == "price of tea"


def test_recordings_of_a_pending_step_are_offered_and_used(view: View) -> None:
    viewed = view(paused(calling("price", item="tea"), "done", tools=[price]))
    viewed.settle("step", "step")
    assert all("recordings" not in step for step in viewed.screen.head["pending"])
    viewed.execute("rewind", entry=viewed.screen.cards[1]["id"])
    viewed.until(lambda: len(viewed.screen.cards) == 2)
    (step,) = viewed.screen.head["pending"]
    (recording,) = step["recordings"]
    assert "price of tea" in recording["text"]
    change = {"recording": recording["entry"]}
    viewed.execute("edit", entry=None, step={"path": step["path"], "index": step["index"]}, base=0, change=change)
    viewed.until(lambda: len(viewed.screen.cards) == 3)
    assert (viewed.screen.cards[2]["author"], viewed.screen.cards[2]["text"]) == ("recording", "price of tea")


@pytest.mark.parametrize(
    "change", [{"recording": 9_999}, {"recording": "x"}, {"reply": 7}, {"reply": "a", "text": "b"}]
)
def test_a_forged_choice_is_refused_and_changes_nothing(view: View, change: dict[str, Any]) -> None:
    viewed = view(paused("done", tools=[price]))
    with pytest.raises(LookupError):
        viewed.execute("edit", entry=None, step=NEXT, base=0, change=change)
    assert len(viewed.run) == 1
