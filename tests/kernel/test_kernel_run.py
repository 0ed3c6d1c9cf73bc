"""A run continues after its cell has ended, and later cells can change it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow

FirstCell = Callable[..., str]
Effects = Callable[[], list[str]]


def test_the_cell_that_starts_a_run_ends_at_once_and_later_cells_change_the_run(
    shared: Any, first_cell: FirstCell, effects: Effects
) -> None:
    shared.run(first_cell("booking('Bern')", "'done'"))
    shared.run("run = agent.start('Find me a room.')")
    shared.wait_until("began.is_set()")  # the tool waits for the bell, which only a later cell can ring
    assert shared.run("print(run.status, 6 * 7)") == "running 42"
    shared.run("run.pause(); bell.set(); run.wait()")
    assert shared.run("print(run.status, len(run), model.calls)") == "paused 3 1"
    shared.run("edited = run.edit(2, text='no room', reason='I called them'); receipt = run.inject('Try Basel.')")
    shared.run("run.play(); run.wait()")
    assert shared.run("print(run.status, receipt.seen)") == "done True"
    assert shared.run("print(last_messages()[-2:])") == "['no room', '[USER INTERRUPT] Try Basel.']"
    assert effects() == ["Bern"]


def test_the_output_of_a_tool_in_the_background_appears_in_the_cell_that_started_the_run(
    shared: Any, first_cell: FirstCell
) -> None:
    shared.run(first_cell("booking('Bern')", "'done'"))
    first = shared.send("run = agent.start('Find me a room.')")
    shared.finish(first)
    shared.run("bell.set(); run.wait()")
    assert shared.run("print(run.status, run[2].result.ok, run[2].result.text)") == "done True a room in Bern"
    shared.wait_for_output(first, "booked Bern")


def test_a_step_in_a_cell_runs_its_tool_in_the_main_thread_where_a_debugger_works(
    shared: Any, first_cell: FirstCell
) -> None:
    shared.run(first_cell("booking('Bern')", "booking('Basel')", "'done'") + "bell.set()\n")
    shared.run("run = agent.start('Two rooms.', paused=True); next(run); next(run)")
    shared.run("for entry in run: pass")
    assert shared.run("print([thread is threading.main_thread() for thread in threads])") == "[True, True]"
    assert shared.run("print(run.status)") == "done"


def test_a_background_run_does_not_run_its_tools_in_the_main_thread(shared: Any, first_cell: FirstCell) -> None:
    shared.run(first_cell("booking('Bern')", "'done'") + "bell.set()\n")
    shared.run("run = agent.start('A room.'); run.wait()")
    assert shared.run("print(run.status, [thread is threading.main_thread() for thread in threads])") == "done [False]"


def test_a_cell_can_await_a_run_and_iterate_over_its_entries(shared: Any, first_cell: FirstCell) -> None:
    shared.run(first_cell("booking('Bern')", "'done'", "booking('Basel')", "'done too'") + "bell.set()\n")
    shared.run("result = await agent.start('A room.', paused=True)")
    assert shared.run("print(result.answer)") == "done"
    shared.run("run = agent.start('Another.', paused=True); kinds = []")
    shared.run("async for entry in run:\n    kinds.append(entry.kind)")
    assert shared.run("print(kinds)") == "['think', 'act', 'think', 'conclude']"


def test_the_last_expression_of_a_cell_shows_the_trace_as_text(shared: Any, first_cell: FirstCell) -> None:
    shared.run(first_cell("booking('Bern')", "'done'") + "bell.set()\n")
    shared.run("run = agent.start('A room.', paused=True); run.drive()")
    shown = shared.run("run")
    assert shown.startswith("Run done: 4 steps") and "book(city='Bern')" in shown and "a room in Bern" in shown
