"""An interrupt of the kernel pauses the run, and nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow

FirstCell = Callable[..., str]
Effects = Callable[[], list[str]]


@pytest.mark.parametrize("cell", ["next(run)", "run.step_over()", "run.drive()", "for entry in run: pass"])
def test_an_interrupted_step_stays_pending_and_needs_a_decision(
    shared: Any, first_cell: FirstCell, effects: Effects, cell: str
) -> None:
    shared.run(first_cell("booking('Bern')", "'done'"))
    shared.run("run = agent.start('A room.', paused=True); next(run)")
    stopped = shared.send(cell)
    _wait_for(effects, 1)
    assert shared.interrupt(stopped).error == "KeyboardInterrupt"
    assert shared.run("print(len(run), run.answer, len(run.pending))") == "2 None 1"
    shared.run("bell.set(); run.drive()")
    assert shared.run("print(run.status)") == "waiting"  # nobody knows whether the room is booked
    assert "may have run" in shared.run("print(run.waiting[0][1].why)")
    shared.run("run.respond('a room in Bern'); run.drive()")
    assert shared.run("print(run.answer, model.calls)") == "done 2"
    assert effects() == ["Bern"]


def test_an_interrupt_while_a_cell_waits_pauses_the_run(shared: Any, first_cell: FirstCell, effects: Effects) -> None:
    shared.run(first_cell("booking('Bern')", "'done'"))
    shared.run("run = agent.start('A room.')")
    shared.wait_until("began.is_set()")
    waiting = shared.send("print_when_inside('/agentkit/core/background.py'); run.wait()")
    shared.wait_for_output(waiting, "inside")
    assert shared.interrupt(waiting).error == "KeyboardInterrupt"
    shared.run("time.sleep(1.2); bell.set(); run.wait()")  # the run waits for the slow tool
    assert shared.run("print(run.status, len(run), run[2].result.text)") == "paused 3 a room in Bern"
    shared.run("run.play().wait()")
    assert shared.run("print(run.answer, model.calls)") == "done 2"
    assert effects() == ["Bern"]


@pytest.mark.parametrize("cell", ["await run", "async for entry in run: pass"])
def test_an_interrupt_of_an_awaiting_cell_loses_and_repeats_nothing(
    shared: Any, first_cell: FirstCell, effects: Effects, cell: str
) -> None:
    shared.run(first_cell("booking('Bern')", "'done'"))
    shared.run("run = agent.start('A room.', paused=True)")
    waiting = shared.send(f"print_when_inside('/selectors.py')\n{cell}")
    _wait_for(effects, 1)
    shared.wait_for_output(waiting, "inside")
    assert shared.interrupt(waiting).error in ("KeyboardInterrupt", "CancelledError")
    shared.run("bell.set(); run.wait()")
    assert shared.run("print(run.status in ('paused', 'stopped'), len(run), model.calls)") == "True 3 1"
    shared.run("run.play().wait()")
    assert shared.run("print(run.answer, model.calls)") == "done 2"
    assert effects() == ["Bern"]


def test_an_interrupt_of_another_cell_does_not_affect_the_run(shared: Any, first_cell: FirstCell) -> None:
    shared.run(first_cell("booking('Bern')", "'done'"))
    shared.run("run = agent.start('A room.')")
    shared.wait_until("began.is_set()")
    other = shared.send("print('here', flush=True); time.sleep(20)")
    shared.wait_for_output(other, "here")
    assert shared.interrupt(other).error == "KeyboardInterrupt"
    assert shared.run("print(run.status)") == "running"
    shared.run("bell.set(); run.wait()")
    assert shared.run("print(run.status, run.answer)") == "done done"


def _wait_for(effects: Effects, count: int) -> None:
    end = time.monotonic() + 20
    while len(effects()) < count:
        assert time.monotonic() < end, "the tool was never called"
        time.sleep(0.01)
