"""Parallel calls, one of which is edited: the others were performed once, and stay as they were."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from splitting import split

from agentkit import Agent, Call, Reply, Run, load, tool
from agentkit.core.messages import Chat
from agentkit.core.steps import Act, All, Answer, Engine
from agentkit.engines.react import react
from agentkit.errors import JournalError, UsageError
from agentkit.journal.entries import Row
from agentkit.journal.memory import MemoryJournal
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

ORDERED: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ordered() -> None:
    ORDERED.clear()


@tool
def order(item: str) -> str:
    """Order something, which cannot be undone."""
    ORDERED.append(item)
    return f"ordered {item}"


def begin(*items: str, **options: Any) -> Run:
    """A run whose model asks for one order of each item at once, and then answers."""
    calls = Reply("All.", tuple(Call("order", {"item": item}, item) for item in items))
    model = Scripted([calls, "Yes."], abilities=Abilities(tools=True))
    return Agent(model, [order], **split(options)).start("Order.", paused=True)


def call_results(run: Run) -> list[str]:
    """Return the results of the calls as the model sees them, in order."""
    return [entry.result.text for entry in run.entries if entry.kind == "act"]


def test_a_call_that_was_approved_and_done_is_not_asked_about_when_another_is_approved_with_changes() -> None:
    run = begin("tea", "cake", approve=["order"])
    run.drive()
    run.approve(0)
    run.drive()
    assert ORDERED == ["tea"]
    run.approve(0, arguments={"item": "two cakes"})
    assert (
        run.drive().answer == "Yes."
        and ORDERED == ["tea", "two cakes"]
        and call_results(run) == ["ordered tea", "ordered two cakes"]
    )
    assert "2 tool calls" in str(run)


def test_the_approval_of_one_call_holds_when_another_is_changed() -> None:
    run = begin("tea", "cake", approve=["order"])
    run.drive()
    run.approve()
    assert run.status == "paused" and len(run.waiting) == 1
    run.approve(arguments={"item": "two cakes"})
    assert run.waiting == [] and run.drive().answer == "Yes." and sorted(ORDERED) == ["tea", "two cakes"]


def test_a_call_that_waits_keeps_waiting_when_another_is_changed() -> None:
    run = begin("tea", "cake", approve=["order"])
    run.drive()
    run.approve(1, arguments={"item": "two cakes"})
    assert [pending.step.call.arguments for pending, _ in run.waiting] == [{"item": "tea"}]  # type: ignore[union-attr]
    run.drive()
    assert ORDERED == ["two cakes"] and run.status == "waiting"
    run.reject("no tea today")
    assert run.drive().answer == "Yes." and ORDERED == ["two cakes"]


def test_no_approval_is_transferred_to_the_changed_call() -> None:
    run = begin("tea", "cake", approve=["order"])
    run.drive()
    run.approve()
    run.edit(run.pending[0], arguments={"item": "a thousand teas"})
    run.drive()
    assert ORDERED == [] and len(run.waiting) == 2


def test_of_several_performed_calls_only_the_changed_one_runs_again() -> None:
    run = begin("tea", "cake", "milk", repeat="allow")
    next(run)
    run.step_over()
    assert sorted(ORDERED) == ["cake", "milk", "tea"]
    run.edit(3, arguments={"item": "a pie"})
    assert [pending.step.call.id for pending in run.pending] == ["cake"]  # type: ignore[union-attr]
    assert run.drive().answer == "Yes." and sorted(ORDERED) == ["a pie", "cake", "milk", "tea"]
    assert call_results(run) == ["ordered tea", "ordered a pie", "ordered milk"]


def test_an_edited_observation_stays_edited() -> None:
    run = begin("tea", "cake")
    next(run)
    next(run)
    run.edit(2, text="no tea", reason="sold out")
    run.edit(run.pending[0], arguments={"item": "two cakes"})
    assert run.drive().answer == "Yes." and call_results(run) == ["no tea", "ordered two cakes"]
    assert "no tea  [edited by human: sold out]" in str(run)


def test_a_message_injected_while_calls_were_running_is_kept() -> None:
    run = begin("tea", "cake")
    next(run)
    next(run)
    run.inject("Hurry!")
    run.edit(run.pending[0], arguments={"item": "two cakes"})
    run.drive()
    assert "[USER INTERRUPT] Hurry!" in str(run.agent.model.requests[-1]["messages"])


def test_a_message_injected_after_all_calls_is_kept_when_one_of_them_is_edited() -> None:
    run = begin("tea", "cake")
    next(run)
    run.step_over()
    run.inject("Hurry!")
    run.edit(2, text="no tea")
    run.drive()
    assert "[USER INTERRUPT] Hurry!" in str(run.agent.model.requests[-1]["messages"])


def test_a_message_injected_on_another_branch_is_not_kept() -> None:
    calls = Reply("All.", (Call("order", {"item": "tea"}, "1"), Call("order", {"item": "cake"}, "2")))
    model = Scripted([calls, calls, "Yes."], abilities=Abilities(tools=True))
    run = Agent(model, [order], repeat="allow").start("Order.", paused=True)
    next(run)
    run.step_over()
    run.inject("Hurry!")
    run.rewind(0)
    assert run.drive().answer == "Yes." and "Hurry!" not in str(model.requests)


@pytest.mark.parametrize("again", [lambda run: run, lambda run: reopened(run)], ids=["the run", "resumed"])
def test_one_undo_reverts_the_edit_and_one_redo_restores_it(again: Callable[[Run], Run], tmp_path: Path) -> None:
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
def test_a_journal_that_refuses_a_row_of_the_edit_makes_no_call_run_twice(refused: int) -> None:
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
    assert run.drive().answer == "Yes." and ORDERED == ["tea", "two cakes"] and call_results(run)[0] == "ordered tea"


def test_the_kept_entries_are_exported_and_read_back() -> None:
    run = begin("tea", "cake")
    next(run)
    next(run)
    run.edit(run.pending[0], arguments={"item": "two cakes"})
    run.drive()
    read = load(run.to_json())
    assert [repr(entry) for entry in read.entries] == [repr(entry) for entry in run.entries]
    kinds = [event.kind for event in run.events()]
    assert kinds.count("edited") == 1


def test_kept_entries_can_be_edited_and_the_edit_can_be_undone_after_a_resume(tmp_path: Path) -> None:
    run = begin("tea", "cake", journal=tmp_path / "runs.db")
    next(run)
    next(run)
    run.edit(run.pending[0], arguments={"item": "two cakes"})
    kept = str(run)
    run.edit(2, text="no tea")
    assert [event.kind for event in run.events()].count("edited") == 2
    run = reopened(run)
    assert call_results(run) == ["no tea"]
    run.undo()
    assert str(run) == kept


# -- choosing the right call -------------------------------------------------------------------------------------------


def pair(task: Any, *, tools: tuple[Any, ...] = ()) -> Engine:
    """Run two loops in parallel."""
    chat = Chat.of(task)
    first, second = yield All((react(chat, tools=tools), react(chat, tools=tools)))
    return Answer(f"{first.text} {second.text}", chat)


def trio(task: Any, *, tools: tuple[Any, ...] = ()) -> Engine:
    """Run three loops in parallel."""
    chat = Chat.of(task)
    answers = yield All(tuple(react(chat, tools=tools) for _ in range(3)))
    return Answer(answers[0].text, chat)


def calls(*items: str, id: str = "") -> Reply:
    return Reply("All.", tuple(Call("order", {"item": item}, id or item) for item in items))


def started(*replies: Any, **options: Any) -> Run:
    return Agent(Scripted(replies, abilities=Abilities(tools=True)), [order], **split(options)).start(
        "Order.", paused=True
    )


def test_an_approval_with_changes_does_not_affect_the_same_call_in_another_lane() -> None:
    run = started(calls("90 teas"), calls("90 teas"), "Yes.", "Yes.", engine=pair, approve=["order"])
    run.drive()
    run.approve(0, arguments={"item": "9 teas"})
    run.drive()
    assert ORDERED == ["9 teas"] and [pending.step.call.arguments for pending, _ in run.waiting] == [
        {"item": "90 teas"}
    ]  # type: ignore[union-attr]


def test_an_edit_does_not_affect_the_same_call_of_a_later_turn() -> None:
    run = started(calls("tea"), calls("tea"), "Yes.", "Yes.")
    run.drive()
    run.edit(2, arguments={"item": "cake"})
    assert [str(entry.kind) for entry in run.entries] == ["begin", "think"] and run[1].result.calls[0].arguments == {
        "item": "cake"
    }


def test_of_two_equal_calls_only_one_is_changed() -> None:
    run = started(calls("tea", "tea", id="1"), "Yes.", approve=["order"])
    run.drive()
    run.approve()
    run.drive()
    run.approve(arguments={"item": "cake"})
    assert run.drive().answer == "Yes." and ORDERED == ["tea", "cake"]


def test_a_call_of_another_branch_is_edited_on_that_branch() -> None:
    run = started(calls("tea", "cake"), calls("tea", "cake"), "Yes.", repeat="allow")
    next(run)
    run.step_over()
    left = run[3]
    run.rewind(0)
    next(run)
    run.edit(left, arguments={"item": "a pie"})
    assert call_results(run) == ["ordered tea"]
    assert run.drive().answer == "Yes." and sorted(ORDERED) == ["a pie", "cake", "tea"]


def test_a_pending_call_that_has_changed_is_not_decided_about() -> None:
    run = begin("tea", approve=["order"])
    run.drive()
    before = run.pending[0]
    run.edit(before, arguments={"item": "a thousand teas"})
    with pytest.raises(UsageError, match="not pending any more"):
        run.edit(before, text="ordered tea")


def test_an_approval_that_comes_after_a_change_does_not_approve_the_changed_call() -> None:
    run = begin("tea", approve=["order"])
    run.drive()
    run.control._take()  # somebody is changing the run, so that commands wait
    with ThreadPoolExecutor() as pool:
        edited = pool.submit(run.edit, run.pending[0], arguments={"item": "a thousand teas"})
        while not run.control._inbox:
            time.sleep(0.01)
        approved = pool.submit(run.approve)
        while len(run.control._inbox) < 2:
            time.sleep(0.01)
        run.control._let_go()
        run.control.serve()
        assert edited.result() and isinstance(approved.exception(), UsageError)
    run.drive()
    assert run.status == "waiting" and ORDERED == []


# -- running calls -----------------------------------------------------------------------------------------------------


def test_a_running_call_is_not_repeated_when_another_is_approved_with_changes() -> None:
    out, back = threading.Event(), threading.Event()

    @tool
    def fetch(what: str) -> str:
        """Fetch something, which takes some time."""
        ORDERED.append(what)
        out.set()
        back.wait(10)
        return f"fetched {what}"

    asked = Reply("All.", (Call("fetch", {"what": "milk"}, "1"), Call("order", {"item": "cake"}, "2")))
    model = Scripted([asked, "Yes."], abilities=Abilities(tools=True))
    run = Agent(model, [fetch, order], approve=["order"]).start("Order.")
    assert out.wait(10)
    while not run.waiting:
        time.sleep(0.01)
    run.approve(arguments={"item": "two cakes"})
    back.set()
    assert run.wait().answer == "Yes." and sorted(ORDERED) == ["milk", "two cakes"]
    assert call_results(run) == ["fetched milk", "ordered two cakes"]
    assert [event.kind for event in run.events()].count("tool_call") == 2


@pytest.mark.parametrize("again", [lambda run: run, lambda run: reopened(run)], ids=["the run", "resumed"])
def test_a_call_that_may_have_run_is_asked_about_when_another_is_edited(
    again: Callable[[Run], Run], tmp_path: Path
) -> None:
    run = begin("tea", "cake", journal=tmp_path / "runs.db")
    next(run)
    run.trace.begin_call(run.pending[0], "irreversible", 1.0)  # the kernel died here
    run = again(run)
    run.edit(run.pending[1], arguments={"item": "two cakes"})
    run.edit(run.pending[1], arguments={"item": "three cakes"})
    run = again(run)
    run.drive()
    assert ORDERED == ["three cakes"] and "may have run" in run.waiting[0][1].why
    run.respond("it came")
    assert run.drive().answer == "Yes." and call_results(run) == ["it came", "ordered three cakes"]


def test_branches_show_each_lane_as_it_was_left() -> None:
    run = started(calls("tea", "cake"), calls("milk"), "Yes.", engine=pair)
    next(run)
    run.edit(1, text="All of them.")
    run.undo()
    next(run)  # the tea, on the first line
    left = [repr(entry) for entry in run.entries]
    run.rewind(0)
    assert left in [[repr(entry) for entry in line] for line in run.branches()]


def test_no_lane_of_a_finished_run_waits_for_a_person() -> None:
    agent = started(
        calls("tea"), "Hm.", "Yes.", engine=pair, approve=["order"], budget={"max_model_calls": 1, "ask": False}
    ).agent
    run = agent.start("Order.", paused=True)
    next(run)
    run.drive()
    assert run.status == "done" and run.waiting == [] and ORDERED == []


def test_an_approval_and_a_question_in_one_lane_hold_when_a_call_in_another_lane_is_changed() -> None:
    run = started(calls("tea"), calls("cake"), calls("milk"), *["Yes."] * 3, engine=trio, approve=["order"])
    for _ in range(3):  # one by one, so that each lane gets its own reply
        next(run)
    run.drive()
    run.approve(1)
    run.approve(0, arguments={"item": "two teas"})
    assert [pending.step.call.arguments for pending, _ in run.waiting] == [{"item": "milk"}]  # type: ignore[union-attr]
    run.drive()
    assert sorted(ORDERED) == ["cake", "two teas"] and run.status == "waiting"
    run.undo().redo()
    assert len(run.waiting) == 1


def test_a_budget_is_not_extended_if_the_arguments_cannot_be_changed() -> None:
    def direct(task: Any, *, tools: tuple[Any, ...] = ()) -> Engine:
        chat = Chat.of(task)
        yield Act(Call("order", {"item": "tea"}))
        yield Act(Call("order", {"item": "cake"}))
        return Answer("Yes.", chat)

    run = started(engine=direct, budget={"max_tool_calls": 1, "ask": True})
    run.drive()
    with pytest.raises(UsageError, match="the engine calls order by itself"):
        run.approve(arguments={"item": "two cakes"})
    run.drive()
    assert run.status == "waiting" and ORDERED == ["tea"]


def test_an_edit_in_a_lane_leaves_no_open_calls_of_inner_lanes_behind() -> None:
    def within(task: Any, tools: tuple[Any, ...]) -> Engine:
        return (yield from react(task, tools=tools))

    def outer(task: Any, *, tools: tuple[Any, ...] = ()) -> Engine:
        answers = yield All((within(task, tools), within(task, tools)))
        return Answer(answers[0].text, Chat.of(task))

    run = started(calls("tea", "cake", "milk"), "Yes.", "Yes.", engine=outer)
    next(run)
    run.edit(1, calls=list(calls("tea", "cake").calls))
    assert len(run.trace.pending) == 3
    assert run.drive().answer == "Yes." and sorted(call_results(run)) == ["ordered cake", "ordered tea"]


class Killed(BaseException):
    """The death of a kernel."""


@pytest.mark.parametrize("row", range(1, 8))
def test_a_kernel_that_dies_during_an_edit_has_made_all_of_it_or_none(row: int) -> None:
    class Dying(MemoryJournal):
        left = -1

        def append(self, row: Row, *, sync: bool = True) -> int:
            if self.left == 0:
                raise Killed
            self.left -= 1
            return super().append(row, sync=sync)

    journal = Dying()
    run = begin("tea", "cake", "milk", journal=journal)
    next(run)
    next(run)
    run.trace.begin_call(run.pending[0], "irreversible", 1.0)  # the cake may have been ordered
    journal.left = row
    with contextlib.suppress(Killed):
        run.edit(run.pending[1], arguments={"item": "two milks"})
    journal.left = -1
    journal.release(run.id)
    run = run.agent.resume(run.id)
    run.drive()
    assert call_results(run)[0] == "ordered tea" and ORDERED in (["tea", "milk"], ["tea", "two milks"])
    assert "may have run" in run.waiting[0][1].why
