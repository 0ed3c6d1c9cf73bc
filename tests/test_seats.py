"""Who plays the next step: the model or the tool, a person in its place, or the recording."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit import Agent, Run, tool
from agentkit.errors import UsageError
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

ASK_TEA = 'Thought: look it up\nAction: price\nAction Input: {"item": "tea"}'
ASK_MILK = 'Thought: rather milk\nAction: price\nAction Input: {"item": "milk"}'


@tool(effect="pure")
def price(item: str) -> str:
    """Look up the price of an item."""
    return f"{len(item)} euros"


def shopping(*replies: Any, tools: Any = (price,), **options: Any) -> Run:
    model = Scripted([*replies], **options)
    return Agent(model, tools=list(tools), journal="memory").start("What does tea cost?", paused=True)


def test_a_person_in_the_place_of_the_model_writes_a_call_that_the_tool_then_performs() -> None:
    run = shopping("FINAL_ANSWER: 4 euros")
    thought = run.edit(reply=ASK_MILK)
    assert (thought.author, thought.result.text, thought.usage) == ("human", "rather milk", None)
    assert next(run).result.text == "4 euros"
    run.drive()
    assert run.answer == "4 euros" and len(run) == 5


def test_the_model_reads_what_a_person_wrote_in_its_place_as_its_own_turn() -> None:
    model = Scripted(["FINAL_ANSWER: 4 euros"])
    run = Agent(model, tools=[price], journal="memory").start("What does tea cost?", paused=True)
    run.edit(reply=ASK_MILK)
    run.drive()
    assert {"role": "assistant", "content": ASK_MILK} in model.requests[0]["messages"]


def test_an_invented_observation_is_cut_off_for_a_person_too() -> None:
    thought = shopping().edit(reply=f"{ASK_TEA}\nObservation: 1 euro\nFINAL_ANSWER: 1 euro")
    assert thought.result.cut.startswith("Observation: 1 euro") and thought.result.answer is None


def test_reading_a_reply_says_what_it_asks_for_and_records_nothing() -> None:
    run = shopping()
    before = len(run.rows())
    assert [(c.name, c.arguments) for c in run.read_reply(ASK_TEA).calls] == [("price", {"item": "tea"})]
    assert run.read_reply("FINAL_ANSWER: 4").answer == "4"
    assert not run.read_reply("perhaps 4?").readable
    assert len(run.rows()) == before and len(run) == 1


def test_the_dialect_of_the_run_reads_the_reply() -> None:
    reply = '{"type": "tool_call", "reasoning": "x", "tool_name": "price", "tool_args": {"item": "tea"}}'
    run = shopping(abilities=Abilities(json=True))
    assert run.dialect == "json" and run.edit(reply=reply).result.calls[0].arguments == {"item": "tea"}


def test_only_a_pending_thought_has_a_reply() -> None:
    run = shopping(ASK_TEA, "FINAL_ANSWER: 4")
    next(run)
    with pytest.raises(UsageError, match="pending step is not a thought"):
        run.read_reply(ASK_TEA)
    with pytest.raises(UsageError, match="reply"):
        run.edit(reply=ASK_TEA)
    with pytest.raises(UsageError, match="has been performed; rewind"):
        run.edit(1, reply=ASK_TEA)
    run.undo()
    with pytest.raises(UsageError, match="reply= is the whole result; leave out text="):
        run.edit(reply=ASK_TEA, text="x")


def test_a_secret_in_a_reply_is_not_recorded() -> None:
    key = "sk-" + "Ab3dEf6hIj9kLm2nOp5q" * 2
    thought = shopping().edit(reply=f"FINAL_ANSWER: the key is {key}")
    assert key not in f"{thought.result!r}"


def test_after_an_edit_the_recording_plays_the_thought_that_it_had_before() -> None:
    model = Scripted([ASK_TEA, "FINAL_ANSWER: 3 euros"])
    run = Agent(model, tools=[price], journal="memory").start("What does tea cost?", paused=True)
    assert run.recordings() == []
    run.drive()
    before = list(run.entries)
    run.edit(2, text="99 euros")
    (recorded,) = run.recordings()
    assert recorded is before[3]
    played = run.edit(recording=recorded)
    assert (played.author, played.result.answer, played.usage) == ("recording", "3 euros", None)
    assert len(model.requests) == 2 and run.drive().answer == "3 euros"
    assert [entry.result.text for entry in run.entries[2:4]] == ["99 euros", "3 euros"]


def test_different_results_of_a_step_are_offered_once_each_and_the_newest_first() -> None:
    run = shopping(ASK_TEA, ASK_MILK, ASK_TEA)
    for _ in range(3):
        next(run)
        run.undo()
    assert [entry.result.calls[0].arguments["item"] for entry in run.recordings()] == ["tea", "milk"]


def test_a_recorded_observation_is_offered_only_for_the_same_call() -> None:
    run = shopping(ASK_TEA, ASK_MILK, ASK_TEA)
    next(run), next(run)
    run.rewind(0)
    next(run)
    assert run.recordings() == []
    run.rewind(0)
    next(run)
    (recorded,) = run.recordings()
    observation = run.edit(recording=recorded)
    assert observation.result.text == "3 euros" and observation.result.call_id == observation.step.call.id


def test_a_recorded_payment_is_used_without_paying_again() -> None:
    paid: list[int] = []

    @tool(effect="irreversible")
    def pay(euros: int) -> str:
        """Pay."""
        paid.append(euros)
        return f"paid {euros}"

    call = 'Thought: x\nAction: pay\nAction Input: {"euros": 5}'
    run = shopping(call, call, "FINAL_ANSWER: done", tools=[pay])
    next(run), next(run)
    run.rewind(0)
    next(run)
    used = run.edit(recording=run.recordings()[0])
    assert used.repeats and used.result.text == "paid 5" and paid == [5]
    assert run.drive().answer == "done" and paid == [5]


def test_an_entry_from_another_place_is_not_a_recording_of_the_step() -> None:
    run = shopping(ASK_TEA, "FINAL_ANSWER: 4")
    next(run)
    with pytest.raises(UsageError, match=r"run\.recordings"):
        run.edit(recording=run[1])
    with pytest.raises(UsageError, match="must be one of"):
        run.edit(recording=1)


def test_what_the_recording_played_says_so_and_survives_a_new_start() -> None:
    run = shopping(ASK_TEA, "FINAL_ANSWER: 4")
    next(run), next(run)
    run.rewind(1)
    run.edit(recording=run.recordings()[0])
    assert "taken from the recording" in run.to_markdown()
    run.undo()
    assert len(run.recordings()) == 1
