"""A tool of a run waits for a signal from outside, in whatever way the run is driven."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import Any

import pytest
from typer.testing import CliRunner

import agentkit
from agentkit import Agent, Call, Reply, Run, wait_for_signal
from agentkit.cli import app
from agentkit.errors import Ended, UsageError
from agentkit.journal.check import Checker
from agentkit.journal.entries import Note
from agentkit.models import Scripted
from agentkit.models.base import Abilities
from agentkit.run.signals import mailbox

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


SENT_FROM_ANOTHER_PROCESS = """
import json
from test_signals import waiting
run = waiting("go", journal="sqlite")
run.on_event(lambda event: print(run.id, flush=True) if event.kind == "tool_call" else None)
run.drive()
print(json.dumps([json.loads(entry.result.text) for entry in run.entries if entry.kind == "act"]), flush=True)
"""


def command(*line: str) -> str:
    """Return what a command of agentkit prints. Raises `AssertionError` with its error."""
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_command_signals_a_run_that_another_process_drives() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    program = [sys.executable, "-c", SENT_FROM_ANOTHER_PROCESS]
    with subprocess.Popen(program, stdout=-1, text=True, env=environment) as process:
        assert process.stdout is not None
        run = process.stdout.readline().strip()
        command("signal", run, "other")
        command("signal", run, "go", '{"n": 1}', "--json")
        assert json.loads(process.stdout.readline()) == [{"n": 1}]
    sent = [event.data for event in agentkit.look(run).events() if event.kind == "signalled"]
    assert sent == [{"name": "other", "value": None}, {"name": "go", "value": {"n": 1}}]
    assert list(mailbox(run).iterdir()) == []


def test_a_signal_that_is_sent_while_no_process_holds_the_run_is_there_when_it_goes_on() -> None:
    run = waiting("go", journal="sqlite")
    run.close()
    command("signal", run.id[:8], "go", "while you were away")
    model = Scripted([Reply("", (Call("wait_for_signal", {"name": "go"}, "c"),)), "done"], abilities=NATIVE)
    resumed = Agent(model, [wait_for_signal]).resume(run.id)
    resumed.drive()
    assert results(resumed) == ["while you were away"]


def test_a_signal_from_outside_masks_secrets_and_is_private() -> None:
    run = waiting("go", journal="sqlite")
    run.close()
    command("signal", run.id, "go", "sk-proj-" + "a1B2" * 12)
    (file,) = mailbox(run.id).iterdir()
    assert "a1B2" not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0 and file.parent.stat().st_mode & 0o077 == 0
    command("delete", run.id)
    assert not mailbox(run.id).exists()


def test_a_file_in_the_mailbox_that_is_no_signal_is_left_alone() -> None:
    run = waiting("go", timeout=1, journal="sqlite")
    box = mailbox(run.id)
    box.mkdir(parents=True)
    (box / "1.json").write_text("[" * 100_000)
    (box / "2.json").write_text('{"name": 3, "value": 1}')
    os.mkfifo(box / "3.json")
    (box / "4.json").mkdir()
    (box / "5.json").write_text('{"name": "go", "value": "here"}')
    run.drive()
    assert results(run) == ["here"]


@pytest.mark.parametrize(
    ("line", "message"),
    [(("go",), "is over"), (("",), "needs a name"), (("go", "{", "--json"), "not JSON"), (("go", "x", "y"), "")],
)
def test_a_signal_of_the_command_line_that_nobody_can_get_is_refused(line: tuple[str, ...], message: str) -> None:
    run = waiting("go", timeout=0.01, journal="sqlite")
    if message == "is over":
        run.drive()
    run.close()
    done = CliRunner().invoke(app, ["signal", run.id, *line])
    assert done.exit_code != 0 and message in done.output + done.stderr


def test_a_recording_with_a_damaged_signal_is_refused() -> None:
    run = waiting("go").signal("go", 1)
    run.drive()
    data = run.to_json()
    assert [event.kind for event in agentkit.load(data).events()].count("signalled") == 1
    assert "name" in Checker().problem(Note("signal", {"value": 1}))
