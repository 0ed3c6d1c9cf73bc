"""A tool of a run waits for a signal from outside, in whatever way the run is driven."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import pytest

import agentkit
from agentkit import Agent, Call, Reply, Run, wait_for_signal
from agentkit.errors import Ended, UsageError
from agentkit.journal.check import Checker
from agentkit.journal.entries import Note
from agentkit.models import Scripted
from agentkit.models.base import Abilities

NATIVE = Abilities(tools=True)


def waiting(*names: str, timeout: float = 60, journal: Any = "memory") -> Run:
    """Return a run that will wait for each of these signals, all at the same time."""
    calls = tuple(Call("wait_for_signal", {"name": name, "timeout": timeout}, name) for name in names)
    model = Scripted([Reply("", calls), "done"], abilities=NATIVE)
    return Agent(model, [wait_for_signal], journal=journal).start("q", paused=True)


def when_called(run: Run, number: int = 1) -> threading.Event:
    """Return an event that is set when that many calls have begun."""
    begun, seen = threading.Event(), list[Any]()

    def listen(event: Any) -> None:
        if event.kind == "tool_call":
            seen.append(event)
            if len(seen) == number:
                begun.set()

    run.on_event(listen)
    return begun


def results(run: Run) -> list[str]:
    return [entry.result.text for entry in run.entries if entry.kind == "act"]


def test_a_tool_waits_until_the_signal_comes_and_the_model_reads_its_value() -> None:
    run = waiting("shipped")
    begun = when_called(run)
    run.play()
    assert begun.wait(60)
    run.signal("other", 1).signal("shipped", {"tracking": "X1"})
    run.wait()
    assert run.answer == "done" and results(run) == ['{"tracking": "X1"}']
    told = [event.data for event in run.events() if event.kind == "signalled"]
    assert told == [{"name": "other", "value": 1}, {"name": "shipped", "value": {"tracking": "X1"}}]


def test_tools_that_wait_at_the_same_time_are_released_one_by_one() -> None:
    run = waiting("a", "b")
    begun = when_called(run, 2)
    run.play()
    assert begun.wait(60)
    run.signal("b", "second").signal("a", "first")
    run.wait()
    assert results(run) == ["first", "second"]


def test_a_run_that_a_cell_drives_is_released_from_another_thread() -> None:
    run = waiting("go")
    begun = when_called(run)
    sender = threading.Thread(target=lambda: begun.wait(60) and run.signal("go", "now"))
    sender.start()
    assert run.drive().answer == "done" and results(run) == ["now"]
    sender.join()


def test_a_signal_may_come_before_anybody_waits_and_the_last_value_counts() -> None:
    run = waiting("go").signal("go", "early").signal("go", "later")
    run.drive()
    assert results(run) == ["later"]


def test_without_a_signal_the_model_is_told_after_the_timeout() -> None:
    run = waiting("go", timeout=0.01)
    assert run.drive().answer == "done" and "no signal 'go' came within 0.01 s" in results(run)[0]


def test_a_run_that_waits_can_be_stopped() -> None:
    run = waiting("go")
    begun = when_called(run)
    run.play()
    assert begun.wait(60)
    run.stop()
    run.wait()
    assert run.status == "stopped" and not results(run)


def test_a_signal_is_refused_that_nobody_can_get_or_that_is_not_data() -> None:
    run = waiting("go", timeout=0.01)
    for name, value in (("", 1), (3, 1), ("go", object()), ("go", float("nan"))):
        with pytest.raises(UsageError, match="signal"):
            run.signal(name, value)  # type: ignore[arg-type]
    run.drive()
    with pytest.raises(Ended, match="signal"):
        run.signal("go")


def test_outside_a_run_there_are_no_signals() -> None:
    with pytest.raises(Exception, match="offer this tool to an agent"):
        wait_for_signal(name="go")


KILLED = """
import os
from test_signals import waiting, when_called
run = waiting("go", journal="sqlite").signal("go", "before the kill")
run.on_event(lambda event: os._exit(9) if event.kind == "tool_call" else None)
print(run.id, flush=True)
run.drive()
"""


def test_a_signal_survives_a_kill() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run([sys.executable, "-c", KILLED], stdout=-1, text=True, env=environment)
    assert killed.returncode == 9
    agent = Agent(Scripted(["done"], abilities=NATIVE), [wait_for_signal])
    run = agent.resume(killed.stdout.strip())
    run.drive()
    assert run.answer == "done" and results(run) == ["before the kill"]


def test_a_recording_with_a_damaged_signal_is_refused() -> None:
    run = waiting("go").signal("go", 1)
    run.drive()
    data = run.to_json()
    assert [event.kind for event in agentkit.load(data).events()].count("signalled") == 1
    assert "name" in Checker().problem(Note("signal", {"value": 1}))
