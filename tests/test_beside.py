"""Calls side by side, one of which is edited: the others were performed once, and stay as they were."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentkit import Agent, Call, Reply, Run, tool
from agentkit.errors import JournalError
from agentkit.journal.base import Row
from agentkit.journal.memory import MemoryJournal
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

ORDERED: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ordered() -> None:
    ORDERED.clear()


@tool
def order(item: str) -> str:
    """Order something, which cannot be taken back."""
    ORDERED.append(item)
    return f"ordered {item}"


def begin(*items: str, **options: Any) -> Run:
    """A run whose model asks for one order of each item at once, and then answers."""
    calls = Reply("All.", tuple(Call("order", {"item": item}, item) for item in items))
    model = Scripted([calls, "Yes."], abilities=Abilities(tools=True))
    return Agent(model, [order], **options).start("Order.", paused=True)


def told(run: Run) -> list[str]:
    """What the model is told of its calls, in their order."""
    return [entry.result[0].text for entry in run.entries if entry.kind == "act"]


def test_what_was_approved_and_done_is_not_asked_for_again_when_the_next_one_is_approved_with_a_change() -> None:
    run = begin("tea", "cake", approve=["order"])
    run.drive()
    run.approve(0)
    run.drive()
    assert ORDERED == ["tea"]
    run.approve(0, arguments={"item": "two cakes"})
    assert run.drive().answer == "Yes." and ORDERED == ["tea", "two cakes"] and told(run) == ["ordered tea", "ordered two cakes"]
    assert "2 tool calls" in str(run)


def test_a_yes_to_one_call_holds_when_another_is_changed() -> None:
    run = begin("tea", "cake", approve=["order"])
    run.drive()
    run.approve()
    assert run.status == "paused" and len(run.waiting) == 1
    run.approve(arguments={"item": "two cakes"})
    assert run.waiting == [] and run.drive().answer == "Yes." and sorted(ORDERED) == ["tea", "two cakes"]


def test_who_waits_goes_on_waiting_when_another_call_is_changed() -> None:
    run = begin("tea", "cake", approve=["order"])
    run.drive()
    run.approve(1, arguments={"item": "two cakes"})
    assert [pending.step.calls[0].arguments for pending, _ in run.waiting] == [{"item": "tea"}]  # type: ignore[union-attr]
    run.drive()
    assert ORDERED == ["two cakes"] and run.status == "waiting"
    run.reject("no tea today")
    assert run.drive().answer == "Yes." and ORDERED == ["two cakes"]


def test_no_yes_is_carried_over_to_the_call_that_is_changed() -> None:
    run = begin("tea", "cake", approve=["order"])
    run.drive()
    run.approve()
    run.edit(run.pending[0], arguments={"item": "a thousand teas"})
    run.drive()
    assert ORDERED == [] and len(run.waiting) == 2


def test_of_calls_that_all_were_performed_only_the_changed_one_runs_again() -> None:
    run = begin("tea", "cake", "milk")
    next(run)
    run.step_over()
    assert sorted(ORDERED) == ["cake", "milk", "tea"]
    run.edit(3, arguments={"item": "a pie"})
    assert [pending.step.calls[0].id for pending in run.pending] == ["cake"]  # type: ignore[union-attr]
    assert run.drive().answer == "Yes." and sorted(ORDERED) == ["a pie", "cake", "milk", "tea"]
    assert told(run) == ["ordered tea", "ordered a pie", "ordered milk"]


def test_an_edited_observation_stays_edited() -> None:
    run = begin("tea", "cake")
    next(run)
    next(run)
    run.edit(2, text="no tea", reason="sold out")
    run.edit(run.pending[0], arguments={"item": "two cakes"})
    assert run.drive().answer == "Yes." and told(run) == ["no tea", "ordered two cakes"]
    assert "no tea  [edited by human: sold out]" in str(run)


def test_what_was_said_while_calls_were_out_is_still_said() -> None:
    run = begin("tea", "cake")
    next(run)
    next(run)
    run.inject("Hurry!")
    run.edit(run.pending[0], arguments={"item": "two cakes"})
    run.drive()
    assert "[USER INTERRUPT] Hurry!" in str(run.agent.model.requests[-1]["messages"])


def test_what_was_said_after_all_calls_is_still_said_when_one_of_them_is_edited() -> None:
    run = begin("tea", "cake")
    next(run)
    run.step_over()
    run.inject("Hurry!")
    run.edit(2, text="no tea")
    run.drive()
    assert "[USER INTERRUPT] Hurry!" in str(run.agent.model.requests[-1]["messages"])


def test_what_was_said_on_another_branch_is_not() -> None:
    calls = Reply("All.", (Call("order", {"item": "tea"}, "1"), Call("order", {"item": "cake"}, "2")))
    model = Scripted([calls, calls, "Yes."], abilities=Abilities(tools=True))
    run = Agent(model, [order]).start("Order.", paused=True)
    next(run)
    run.step_over()
    run.inject("Hurry!")
    run.rewind(0)
    assert run.drive().answer == "Yes." and "Hurry!" not in str(model.requests)


@pytest.mark.parametrize("again", [lambda run: run, lambda run: reopened(run)], ids=["the run", "resumed"])
def test_one_undo_takes_the_edit_back_and_one_redo_brings_it_again(again: Callable[[Run], Run], tmp_path: Path) -> None:
    run = begin("tea", "cake", journal=tmp_path / "runs.db")
    next(run)
    next(run)
    before = str(run)
    run.edit(run.pending[0], arguments={"item": "two cakes"})
    edited = str(run)
    assert "ordered tea" in edited and "two cakes" in edited
    run = again(run)
    assert str(run) == edited and "1 tool call" in edited
    run.undo()
    assert str(run) == before
    run = again(run)
    run.redo()
    assert str(run) == edited
    run = again(run)
    assert run.drive().answer == "Yes." and ORDERED == ["tea", "two cakes"]


def reopened(run: Run) -> Run:
    run.close()
    return run.agent.resume(run.id)


@pytest.mark.parametrize("refused", range(1, 7))
def test_a_journal_that_refuses_a_row_of_the_edit_makes_nothing_run_twice(refused: int) -> None:
    class Full(MemoryJournal):
        left = -1

        def append(self, row: Row, *, sync: bool = True) -> int:
            self.left -= 1
            if self.left == 0:
                raise JournalError("the disk is full")
            return super().append(row, sync=sync)

    journal = Full()
    run = begin("tea", "cake", journal=journal)
    next(run)
    next(run)
    journal.left = refused
    try:
        run.edit(run.pending[0], arguments={"item": "two cakes"})
    except JournalError:
        run.edit(run.pending[0], arguments={"item": "two cakes"})
    run.drive()
    assert run.drive().answer == "Yes." and ORDERED == ["tea", "two cakes"] and told(run)[0] == "ordered tea"


def test_what_was_kept_is_exported_and_read_back() -> None:
    run = begin("tea", "cake")
    next(run)
    next(run)
    run.edit(run.pending[0], arguments={"item": "two cakes"})
    run.drive()
    read = Run.from_json(run.to_json())
    assert [repr(entry) for entry in read.entries] == [repr(entry) for entry in run.entries]
    kinds = [event.kind for event in run.events()]
    assert kinds.count("edited") == 1
