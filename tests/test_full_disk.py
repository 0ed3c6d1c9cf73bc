"""A journal that refuses rows: nothing is lost or run twice, and the run is held and says so until all is written."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from splitting import split

from agentkit import Agent, Call, Loop, Reply, Run, tool
from agentkit.errors import JournalError, UsageError
from agentkit.journal.entries import Row
from agentkit.journal.memory import MemoryJournal
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

RAN: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()


@tool(effect="irreversible")
def send(text: str) -> str:
    """Send a message to the world."""
    RAN.append(text)
    return f"sent {text}"


@tool(effect="irreversible", timeout=None)
def post(text: str) -> str:
    """Post a letter."""
    RAN.append(text)
    return f"posted {text}"


class Full(MemoryJournal):
    """A journal whose disk is full for some rows: `refuses(number)` is called for each row to append."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.refuses: Callable[[int, Row], bool] = lambda number, row: False
        self.error: Exception = JournalError("the disk is full")

    def append(self, row: Row, *, sync: bool = True) -> int:
        self.asked += 1
        if self.refuses(self.asked, row):
            raise self.error
        return super().append(row, sync=sync)


def once(at: int) -> Callable[[int, Row], bool]:
    return lambda number, row: number == at


def kind(name: str) -> Callable[[int, Row], bool]:
    """Refuse rows of a kind until this is switched off."""
    return lambda number, row: row.kind == name


def begin(*replies: Any, tools: Any = (send, post), **options: Any) -> tuple[Run, Full, Scripted]:
    journal = Full()
    model = Scripted([*replies], abilities=Abilities(tools=True))
    return Agent(model, tools, journal=journal, **split(options)).start("q", paused=True), journal, model


def call(*texts: str, name: str = "send") -> Reply:
    return Reply(f"I {name}", tuple(Call(name, {"text": text}, f"{name}{text}") for text in texts))


def kinds(run: Run) -> list[str]:
    return [entry.kind for entry in run.trace.line.entries]


def reloaded(run: Run) -> list[str]:
    """Return the line as another kernel would read it."""
    history = type(run.trace)(run.id, run.agent._maker(run.task), run.agent.arounds)
    history.load(run.agent.journal.rows(run.id))  # type: ignore[union-attr]
    history.rebuild()
    return [entry.kind for entry in history.line]


WHOLE = ["begin", "think", "act", "act", "think", "act", "think", "conclude"]
ROWS = len(WHOLE) + 4  # plus one at the start of each of the three calls, and one at the end
DRIVES: dict[str, Callable[[Run], Any]] = {
    "drive": Run.drive,
    "play": lambda run: run.play().wait(),
    "step_over": Run.step_over,
    "next": lambda run: next(run, None),
    "for": lambda run: [entry.id for entry in run],
}


@pytest.mark.parametrize("name", DRIVES)
@pytest.mark.parametrize("at", range(2, ROWS + 1))
def test_whichever_row_is_refused_once_the_run_continues_and_every_call_ran_once(name: str, at: int) -> None:
    run, journal, model = begin(call("a", "b"), call("c", name="post"), "done")
    journal.refuses = once(at)
    refused = []
    for _ in range(20):
        try:
            DRIVES[name](run)
        except JournalError as error:
            refused.append(error)
        if run.status == "done":
            break
        assert run.status in ("paused", "failed") and not run.waiting, repr(run)
    assert run.answer == "done" and kinds(run) == WHOLE == reloaded(run)
    assert sorted(RAN) == ["a", "b", "c"] and len(model.requests) == 3
    assert (run.usage.calls, run.result.tool_calls_count) == (3, 3)
    assert [event.kind for event in run.events()].count("completed") == 1


@pytest.mark.parametrize("refused", ["think", "act", "call", "completed"])
@pytest.mark.parametrize("drive", [Run.drive, lambda run: run.play().wait()])
def test_while_the_disk_is_full_the_run_is_held_and_says_so(refused: str, drive: Any) -> None:
    run, journal, _ = begin(call("a", "b"), "done")
    journal.refuses = kind(refused)
    for _ in range(3):
        result = drive(run)
        assert isinstance(result.error, JournalError) and run.status == "failed"
        assert "not saved yet: the disk is full" in run.hold and "not saved yet" in repr(run)
    journal.refuses = once(0)
    assert drive(run).answer == "done" and run.hold == "" and run.status == "done"
    assert sorted(RAN) == ["a", "b"] and kinds(run) == reloaded(run)


def test_a_call_whose_start_cannot_be_recorded_does_not_run_and_its_sibling_is_kept() -> None:
    run, journal, _ = begin(call("a", "b"), "done")
    next(run)
    second = [False, True]
    journal.refuses = lambda number, row: row.kind == "call" and second.pop(0)
    run.drive()
    assert RAN == ["a"] and "not saved yet" in run.hold
    assert kinds(run) == ["begin", "think", "act"]
    journal.refuses = once(0)
    assert run.drive().answer == "done" and RAN == ["a", "b"]


def test_a_journal_that_raises_another_error_counts_as_refusing() -> None:
    run, journal, _ = begin(call("a"), "done")
    journal.error, journal.refuses = OSError("unplugged"), kind("act")
    assert isinstance(run.drive().error, JournalError) and "unplugged" in run.hold
    journal.refuses = once(0)
    assert run.drive().answer == "done" and RAN == ["a"]


@pytest.mark.parametrize(
    "command",
    [
        Run.undo,
        lambda run: run.edit(1, text="x"),
        lambda run: run.rewind(0),
        lambda run: run.respond("y"),
        lambda run: run.fork(0),
    ],
)
def test_a_refused_command_changes_nothing_and_can_be_repeated(command: Any) -> None:
    run, journal, _ = begin(call("a"), "done")
    next(run)
    before = (kinds(run), [pending.step.kind for pending in run.pending])
    journal.refuses = lambda number, row: True
    with pytest.raises(JournalError, match="full"):
        command(run)
    assert (kinds(run), [pending.step.kind for pending in run.pending]) == before and run.hold == ""
    assert len(journal.runs()) == 1
    journal.refuses = once(0)
    command(run)
    assert reloaded(run) == kinds(run)


def test_commands_wait_until_earlier_rows_are_written() -> None:
    run, journal, _ = begin(call("a"), "done")
    next(run)
    journal.refuses = kind("act")
    run.drive()
    with pytest.raises(JournalError, match="full"):
        run.edit(1, text="something else")
    assert run[1].result.text == "I send"
    journal.refuses = once(0)
    run.undo()
    assert kinds(run) == ["begin", "think"] == reloaded(run) and RAN == ["a"]


def test_a_message_injected_on_a_full_disk_is_kept_and_delivered() -> None:
    run, journal, model = begin(call("a"), "done")
    journal.refuses = kind("inject")
    run.inject("be quick")
    assert "not saved yet" in run.hold
    run.drive()
    assert model.requests == []
    journal.refuses = once(0)
    assert run.drive().answer == "done" and "be quick" in str(model.requests[0])


def test_if_a_recall_is_refused_the_message_keeps_waiting() -> None:
    run, journal, model = begin("done")
    receipt = run.inject("be quick")
    journal.refuses = kind("recall")
    with pytest.raises(JournalError):
        receipt.recall()
    assert run.drive().answer == "done" and "be quick" in str(model.requests)


def test_a_run_whose_start_is_refused_leaves_nothing_behind() -> None:
    journal = Full()
    journal.refuses = lambda number, row: True
    with pytest.raises(JournalError, match="full"):
        Agent(Scripted(["done"]), journal=journal).start("q", paused=True)
    assert journal.runs() == []


def test_a_run_with_unsaved_rows_is_not_released() -> None:
    run, journal, _ = begin("done")
    journal.refuses = kind("completed")
    run.drive()
    with pytest.raises(JournalError, match="full"):
        run.close()
    journal.refuses = once(0)
    run.close()
    assert [event.kind for event in run.events()][-2:] == ["completed", "resume_done"]


def test_a_listener_that_raises_on_a_full_disk_affects_nothing_else() -> None:
    run, journal, _ = begin(call("a"), "done")
    journal.refuses = kind("warning")
    run.on_event(lambda event: 1 / 0)
    run.drive()
    journal.refuses = once(0)
    assert run.drive().answer == "done" and RAN == ["a"] and "warning" in [event.kind for event in run.events()]


def test_an_answer_to_a_step_that_is_no_longer_pending_is_refused() -> None:
    run, _, _ = begin(call("a"), "done")
    next(run)
    left = run.pending[0]
    run.undo()
    with pytest.raises(UsageError, match="not pending any more"):
        run.control.do(lambda: run.control.scheduler.answer(left, "x", author="human"))
    assert kinds(run) == ["begin"]


def test_forks_without_a_journal_never_use_a_number_twice() -> None:
    def talk(request: Any) -> Reply:
        return call(str(len(request.chat)), name="quiet") if len(request.chat) < 60 else Reply("done")

    @tool(effect="pure")
    def quiet(text: str) -> str:
        """Do nothing."""
        return text

    run = Agent(talk, [quiet], journal=None, dialect="native", engine=Loop("react", max_iterations=100)).start(
        "q", paused=True
    )
    next(run)
    runs = [run, *(run.fork(0) for _ in range(3))]
    threads = [threading.Thread(target=one.drive) for one in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [one.answer for one in runs] == ["done"] * 4
    for one in runs:
        assert all(entry.run in (one.id, run.id) for entry in one.entries)
    ids = [entry.id for one in runs for entry in one.entries if entry.run == one.id]
    assert len(ids) == len(set(ids)) == len(run.trace.tree.entries)
