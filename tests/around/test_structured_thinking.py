"""A thought is data first: it follows a schema, is visible in the trace, and is read by the next thought."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel
from splitting import split

from agentkit import Agent, Call, Reply, Run, tool
from agentkit.errors import UsageError
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

DATA = {"known": ["tea is sold"], "missing": ["its price"], "next": "look the price up", "confidence": 0.8}


@tool(effect="pure")
def price(item: str) -> int:
    """Return the price of an item."""
    return len(item)


def run_of(*replies: Any, **options: Any) -> tuple[Run, Scripted]:
    model = Scripted(list(replies), abilities=Abilities(tools=True, json=True))
    return Agent(model, [price], journal="memory", **split({"structured_thinking": True, **options})).start(
        "The tea?", paused=True
    ), model


def last_words(model: Scripted, request: int) -> str:
    return str(model.requests[request]["messages"][-1]["content"])


def as_call(data: Any) -> Reply:
    return Reply("", (Call("Thought", data, "t"),))


def test_each_thought_is_first_requested_as_data() -> None:
    asks = Reply("I look it up.", (Call("price", {"item": "tea"}, "p"),))
    run, model = run_of(as_call(DATA), asks, as_call({**DATA, "missing": []}), "Tea is 3.")
    assert run.drive().answer == "Tea is 3."
    assert [entry.step.role for entry in run.entries[1:]] == [
        "structured_thought", "thought", "action", "structured_thought", "thought", "answer",
    ]  # fmt: skip
    assert json.dumps(DATA) in last_words(model, 1)
    assert json.dumps({**DATA, "missing": []}) in last_words(model, 3)
    assert json.dumps(DATA) in str(model.requests[3]["messages"]), "earlier thoughts stay in the chat"


def test_the_data_can_be_edited_and_the_thought_sees_the_edit() -> None:
    run, model = run_of(as_call(DATA), "Tea is 3.")
    next(run)
    run.edit(1, text=json.dumps({**DATA, "next": "guess"}))
    run.drive()
    assert '"next": "guess"' in last_words(model, 1)


def test_a_model_that_returns_no_data_thinks_as_usual() -> None:
    run, model = run_of(*["no data"] * 5, "Tea is 3.")
    assert run.drive().answer == "Tea is 3."
    assert [entry.step.role for entry in run.entries[1:]].count("structured_thought") == 5
    assert last_words(model, 5) == "The tea?"


class Plan(BaseModel):
    """A user's own schema."""

    steps: list[str]


def test_the_schema_can_be_a_pydantic_model() -> None:
    run, model = run_of(
        Reply("", (Call("Plan", {"steps": ["look", "say"]}, "t"),)), "Tea is 3.", structured_thinking={"schema": Plan}
    )
    run.drive()
    assert '{"steps": ["look", "say"]}' in last_words(model, 1)


def test_it_is_off_by_default_and_a_number_is_refused() -> None:
    run, _ = run_of("Tea is 3.", structured_thinking=False)
    run.drive()
    assert len(run) == 3
    with pytest.raises(UsageError, match="structured_thinking"):
        run_of("x", structured_thinking=3)


def test_it_is_replayed_after_an_undo() -> None:
    run, model = run_of(as_call(DATA), "Tea is 3.", "Tea is 4.")
    run.drive()
    run.undo()
    run.undo()
    assert run.drive().answer == "Tea is 4." and len(model.requests) == 3
