"""After a kernel has died, another one continues its run where it left off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow

FirstCell = Callable[..., str]
Effects = Callable[[], list[str]]
Start = Callable[[], Any]

RESUMED = "import agentkit; run = agent.resume(agentkit.runs()[0].run)"


def test_a_killed_kernel_leaves_a_run_that_another_one_resumes(
    start: Start, first_cell: FirstCell, effects: Effects
) -> None:
    first = start()
    first.run(first_cell("booking('Bern')") + "bell.set()\n")
    first.run("run = agent.start('A room.', paused=True); next(run); next(run)")
    first.run("run.edit(2, text='no room', reason='I called them'); receipt = run.inject('Try Basel.')")
    before = first.run("print(run)")
    first.kill()

    second = start()
    second.run(first_cell("booking('Basel')", "'done'") + "bell.set()\n")
    second.run(RESUMED)
    assert second.run("print(run)") == before and "edited by human: I called them" in before
    assert second.run("print(run.status, model.calls)") == "paused 0" and effects() == ["Bern"]
    second.run("next(run)")
    assert second.run("print(last_messages()[-2:])") == "['no room', '[USER INTERRUPT] Try Basel.']"
    second.run("run.drive()")
    assert second.run("print(run.answer, model.calls)") == "done 2"
    assert effects() == ["Bern", "Basel"]


def test_a_run_whose_kernel_died_in_a_tool_asks_what_to_do(
    start: Start, first_cell: FirstCell, effects: Effects
) -> None:
    first = start()
    first.run(first_cell("booking('Bern')"))
    first.run("run = agent.start('A room.')")
    first.wait_until("began.is_set()")
    first.kill()

    second = start()
    second.run(first_cell("'done'") + "bell.set()\n" + RESUMED)
    second.run("run.drive()")
    assert second.run("print(run.status, run.waiting[0][1].why[:4])") == "waiting book"
    second.run("run.respond('a room in Bern'); run.drive()")
    assert second.run("print(run.answer)") == "done" and effects() == ["Bern"]


def test_a_second_kernel_is_told_which_process_has_the_run_open(start: Start, first_cell: FirstCell) -> None:
    first, second = start(), start()
    first.run(first_cell("booking('Bern')", "'done'") + "bell.set()\nimport os\n")
    first.run("run = agent.start('A room.', paused=True); next(run)")
    process = first.run("print(os.getpid())")

    second.run(first_cell("'done'") + "bell.set()\n")
    refused = second.finish(second.send(RESUMED))
    assert refused.error == "JournalInUse" and f"process {process}" in refused.error_text
    first.run("next(run)")  # the first kernel is not affected
    assert first.run("print(len(run))") == "3"

    first.kill()
    second.run(RESUMED)
    assert second.run("run.drive(); print(run.answer)") == "done"
