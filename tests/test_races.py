"""Several threads use one run: the second one waits or gets an error, and the rows are always complete."""

from __future__ import annotations

import gc
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentkit import Agent, Call, Reply, Run, tool
from agentkit.core.usage import Lost
from agentkit.errors import Busy, UsageError
from agentkit.journal.memory import MemoryJournal
from agentkit.models.base import Request
from agentkit.tools.builtin.math import calculate
from agentkit.trace.trace import Trace


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    return f"rain in {city}"


def model(request: Request) -> Reply:
    """Reply with one call, then with two at once, and so on; the reply depends only on the chat."""
    turn = sum(message.role == "assistant" for message in request.chat)
    if turn >= 6:
        return Reply(f"done after {len(request.chat)}")
    return Reply(
        f"turn {turn}", tuple(Call("look", {"city": f"{turn}{n}"}, f"c{turn}{n}") for n in range(1 + turn % 2))
    )


VERBS: dict[str, Callable[[Run], Any]] = {
    "next": next,
    "over": Run.step_over,
    "drive": Run.drive,
    "play": Run.play,
    "pause": Run.pause,
    "stop": Run.stop,
    "edit": lambda run: run.edit(max(len(run) - 1, 1), text="edited"),
    "undo": Run.undo,
    "redo": Run.redo,
    "rewind": lambda run: run.rewind(len(run) // 2),
    "inject": lambda run: run.inject("psst"),
    "read": lambda run: (repr(run), list(run.events()), run.result, run.branches(), run.where()),
}


def reloaded(run: Run) -> Trace:
    trace = Trace(run.id, run.agent._maker(run.task), run.agent.arounds)
    trace.load(run.agent.journal.rows(run.id))  # type: ignore[union-attr]
    trace.rebuild()
    return trace


def crowd(run: Run, seed: int, wrong: list[BaseException]) -> list[threading.Thread]:
    def one(choices: list[str]) -> None:
        for verb in choices:
            try:
                VERBS[verb](run)
            except (Busy, UsageError, StopIteration):
                pass
            except BaseException as error:
                wrong.append(error)

    dice = random.Random(seed)
    return [threading.Thread(target=one, args=(dice.choices(list(VERBS), k=6),), daemon=True) for _ in range(4)]


@pytest.mark.parametrize("seed", range(60))
def test_threads_that_do_everything_at_once_leave_a_run_that_matches_its_rows(seed: int) -> None:
    wrong: list[BaseException] = []
    run = Agent(model, [look], journal=MemoryJournal(), dialect="native").start("q", paused=True)
    threads = crowd(run, seed, wrong)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive(), "a thread hangs"
    run.pause().wait(20)
    assert not wrong, repr(wrong[0])
    again, trace = reloaded(run), run.trace
    assert [entry.id for entry in again.line] == [entry.id for entry in trace.line]
    assert [len(again.done), len(again.undone)] == [len(trace.done), len(trace.undone)]
    assert (again.stepper.answer and again.stepper.answer.text) == run.answer
    assert run.drive().answer or run.drive().answer


@pytest.mark.parametrize("journal", [None, "run.db"])
def test_a_reader_of_a_paused_run_sees_it_before_a_change_or_after_it(journal: str | None, tmp_path: Path) -> None:
    """An edit replays the engine, and opens the lanes of its two calls one by one: no reader sees only one of them."""
    where = {"journal": tmp_path / journal} if journal else {}
    run = Agent(
        lambda request: Reply("", tuple(Call("look", {"city": c}, c) for c in "ab")), [look], dialect="native", **where
    )
    run = run.start("q", paused=True)
    next(run)
    edits = threading.Thread(target=lambda: [run.edit(run.pending[1], arguments={"city": str(n)}) for n in range(100)])
    edits.start()
    seen = set()
    while edits.is_alive():
        seen.add((len(run.pending), len(run), run.status, run.answer))
    assert seen == {(2, 2, "paused", None)} and run.pending[1].step.call.arguments == {"city": "99"}  # type: ignore[union-attr]


def test_usage_is_counted_correctly_while_a_parallel_call_fails() -> None:
    run = Agent(model, [look], journal="memory").start("q", paused=True)
    lost = run.state.spent.lost

    class Failing(Lost):
        def __getattribute__(self, name: str) -> Any:
            lost[f"[0.{len(lost)}]"] = Lost(1)  # as the thread of another lane would
            return super().__getattribute__(name)

    lost["[0.0]"] = Failing(2, 1)
    assert run.usage.total >= 3


def click(run: Run) -> None:
    line = run.where()[0].line
    assert run.break_at(line=line).line == line


def reckon(run: Run) -> None:
    assert calculate.function(expression="1 + 2 * (3 + 4) - (9 + 10) * 11 / (5 - 4) + sqrt(49)") == -187


@pytest.mark.parametrize(("work", "times"), [(click, 20), (reckon, 1_000)])
def test_several_threads_can_read_source_at_once(work: Callable[[Run], None], times: int) -> None:
    run = Agent(model, [look], journal="memory").start("q", paused=True)
    wrong, usual = list[BaseException](), gc.get_threshold()

    def again_and_again() -> None:
        try:
            for _ in range(times):
                work(run)
        except BaseException as error:
            wrong.append(error)

    def let_others(*_: Any) -> None:
        time.sleep(0)

    threads = [threading.Thread(target=again_and_again, daemon=True) for _ in range(3)]
    gc.callbacks.append(let_others)  # runs in the middle of code that makes many objects
    gc.set_threshold(50)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        gc.set_threshold(*usual)
        gc.callbacks.remove(let_others)
    assert not wrong, repr(wrong[0])
