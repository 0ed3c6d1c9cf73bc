"""`agentkit watch` in a process of its own, while another process drives the run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from elsewhere import driven_elsewhere
from hostile_text import raw_characters, texts
from talking import ESCAPES, Terminal

from agentkit import Agent, Loop, Run, tool
from agentkit.agent.agent import runs
from agentkit.models import Scripted
from agentkit.terminal.watch import EventsOfRun, follow

pytestmark = pytest.mark.slow

DRIVER = """
import sys
from agentkit import Agent
run = Agent("offline", ["math"], approve=True).start("What is 2 + 3 + 4?", paused=True)
print(run.id, flush=True)
for line in sys.stdin:
    getattr(run, line.strip())()
    print(run.status, flush=True)
"""


class Driver:
    """Another process that drives a run."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", DRIVER], stdin=-1, stdout=-1, text=True)
        assert self.process.stdin is not None and self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout
        self.id = self.output.readline().strip()

    def tell(self, verb: str) -> str:
        self.input.write(f"{verb}\n")
        self.input.flush()
        return self.output.readline().strip()


@pytest.fixture
def driver() -> Iterator[Driver]:
    driver = Driver()
    yield driver
    driver.process.kill()
    driver.process.communicate()


def watching(id: str, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "agentkit", "watch", id, *options]
    return subprocess.Popen(command, stdout=-1, stderr=-1, text=True)


def files(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def test_a_run_of_another_process_is_followed_to_its_end(driver: Driver) -> None:
    with watching(driver.id[:6]) as watcher:
        assert driver.tell("drive") == "waiting"
        assert watcher.stdout is not None
        seen = ""
        while "calculate(expression" not in seen.partition("waits for a person")[2]:
            line = watcher.stdout.readline()
            assert line, seen
            seen += line
        assert "calculate needs your approval" in seen
        driver.tell("approve")
        assert driver.tell("drive") == "done"
        rest, error = watcher.communicate(timeout=30)
    assert (watcher.returncode, error) == (0, "") and "→ 9" in rest
    assert rest.count("2 + 3 + 4 is 9.") == 1  # the thought that was the answer


def test_as_json_it_gives_the_events_of_the_run(driver: Driver) -> None:
    with watching(driver.id, "--json") as watcher:
        driver.tell("drive")
        driver.tell("approve")
        driver.tell("drive")
        shown, error = watcher.communicate(timeout=30)
    events = [json.loads(line) for line in shown.splitlines()]
    recorded = [event.to_dict() for event in Agent().look(driver.id).events() if event.kind != "resume_done"]
    told = [event for event in events if event["kind"] not in ("waiting", "paused")]
    assert (watcher.returncode, error) == (0, "") and told == recorded


def test_looking_writes_nothing_and_takes_no_lock(home: Path) -> None:
    run = Agent("offline", ["math"], approve=True).start("What is 2 + 3?", paused=True)
    run.drive()
    run.close()
    before = files(home)
    events = follow(run.id, pause=_stop)
    with pytest.raises(KeyboardInterrupt):
        list(events)
    assert files(home) == before
    assert Agent("offline", ["math"]).resume(run.id).status == "paused"


def _stop(seconds: float) -> None:
    raise KeyboardInterrupt


def test_ctrl_c_ends_a_watch_without_a_traceback(driver: Driver) -> None:
    with watching(driver.id) as watcher:
        assert watcher.stdout is not None and watcher.stdout.readline()
        watcher.send_signal(signal.SIGINT)
        _, error = watcher.communicate(timeout=30)
    assert (watcher.returncode, error) == (130, "")


def test_a_process_that_is_killed_is_told_and_the_watch_goes_on(driver: Driver) -> None:
    driver.tell("drive")
    driver.tell("approve")
    with watching(driver.id) as watcher:
        driver.process.kill()
        run = _resumed(driver.id)
        run.drive()
        while run.waiting:
            run.approve()
            run.drive()
        shown, _ = watcher.communicate(timeout=30)
    assert watcher.returncode == 0 and "2 + 3 + 4 is 9." in shown


def _resumed(id: str) -> Run:
    end = time.monotonic() + 60
    while True:
        try:
            return Agent("offline", ["math"], approve=False).resume(id)
        except Exception:
            assert time.monotonic() < end
            time.sleep(0.05)


def test_a_run_that_does_not_exist_or_is_deleted_ends_a_watch_with_an_error(driver: Driver) -> None:
    with watching("nonsense") as watcher:
        _, error = watcher.communicate(timeout=30)
    assert watcher.returncode == 1 and "there is no run" in error
    run = Agent("echo").start("hello", paused=True)
    run.close()
    with watching(run.id) as watcher:
        assert watcher.stdout is not None and watcher.stdout.readline()
        from agentkit.journal import open_journal

        journal: Any = open_journal("sqlite")
        journal.delete(run.id)
        _, error = watcher.communicate(timeout=30)
    assert watcher.returncode == 1 and error.count("\n") == 1


@tool(effect="pure")
def look(city: str) -> str:
    """Look."""
    return "rain"


def test_rows_in_pieces_give_the_events_of_the_whole_also_of_a_fork() -> None:
    run = Agent("offline", ["math"]).start("What is 2 + 3?", paused=True)
    run.step(), run.step()
    fork = run.fork(1)
    fork.drive(), run.edit(2, text="7"), run.drive(), run.undo(), run.drive()
    for each in (run, fork):
        expected = [event.to_dict() for event in each.events() if event.kind != "resume_done"]
        rows = each.rows()
        for size in (1, 2, 5, len(rows)):
            reader = EventsOfRun(each.id)
            start = len(rows) if each is fork and size < len(rows) else size  # a fork is there with its past
            pieces = [rows[:start], *(rows[at : at + size] for at in range(start, len(rows), size))]
            assert [event.to_dict() for piece in pieces for event in reader.take(piece)] == expected


def test_hostile_text_is_inert(tmp_path: Path) -> None:
    for text in texts():
        run = Agent(Scripted([text], name=text), engine=Loop("react")).run(text).run
        terminal = Terminal("watch", run.id)
        assert terminal.end() == 0
        shown = ESCAPES.sub("", terminal.raw).replace("\r\n", "\n")
        assert not raw_characters(shown) and not [line for line in shown.splitlines() if line.startswith("FORGED")]
        with watching(run.id, "--json") as watcher:
            shown, _ = watcher.communicate(timeout=30)
        assert shown.isascii() and [json.loads(line) for line in shown.splitlines()]


def test_a_disk_that_cannot_be_written_is_enough(home: Path) -> None:
    run = Agent("offline", ["math"]).run("What is 2 + 3?").run
    assert runs()[0].run == run.id
    for path in (home, *home.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        with watching(run.id) as watcher:
            shown, error = watcher.communicate(timeout=30)
        assert (watcher.returncode, error) == (0, "") and "2 + 3 is 5." in shown
    finally:
        for path in (home, *home.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert os.access(home, os.W_OK)


# -- what is asked of another process, and the list of runs ------------------------------------------------------------


def test_lines_that_are_typed_while_a_run_is_watched_ask_the_process_that_holds_it() -> None:
    with driven_elsewhere("sqlite", pace=0.1) as other:
        terminal = Terminal("watch", other.id)
        terminal.until("look()")
        terminal.type("dance \x1b[31m")
        terminal.until("unknown wish")
        terminal.type("")
        terminal.type("inject Look in the attic.")
        terminal.until("asked to send a message to the model")
        terminal.until("+ injected: Look in the attic.")
        terminal.type("pause")
        terminal.until("asked to pause")
        terminal.until("! the run is paused")
        terminal.ctrl("d")  # no line comes any more, and the watch goes on
        assert other.tell("run.play()") == "running"
        terminal.until("look()")
        terminal.ctrl("c")
        assert terminal.end() == 130


def test_a_command_asks_the_process_that_holds_a_run_in_a_file() -> None:
    def ask(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "agentkit", "wish", *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    with driven_elsewhere("sqlite") as other:
        done = ask(other.id[:6], "pause", "lunch", "--author", "Ada")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"asked process {other.pid} on ") and done.stdout.endswith(" to pause\n")
        with watching(other.id) as watcher:
            assert watcher.stdout is not None
            while "Ada asked this run to pause: lunch" not in watcher.stdout.readline():
                pass
            watcher.kill()
    done = ask(other.id, "pause")
    assert done.returncode == 1 and "no process holds run" in done.stderr and done.stderr.count("\n") == 1


def listing(*options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "agentkit", "runs", "--follow", *options]
    return subprocess.Popen(command, stdout=-1, stderr=-1, text=True)


@pytest.mark.parametrize("as_json", [False, True])
def test_the_list_of_runs_is_followed_in_a_pipe_with_a_line_for_each_change(as_json: bool) -> None:
    from agentkit.journal import open_journal

    texts_of_task = " ".join(texts())
    Agent("echo").start(texts_of_task, paused=True, tags={"who\x1b[31m": "Ada\nForged"}, name="hostile").close()
    with driven_elsewhere("sqlite") as other, listing(*(["--json"] if as_json else [])) as list_of_runs:
        assert list_of_runs.stdout is not None
        lines = [list_of_runs.stdout.readline() for _ in range(2)]
        assert not raw_characters("".join(lines).replace("\n", ""))
        assert other.id in lines[1] and "running" in lines[1] and f"process {other.pid} on " in lines[1]
        assert "who" in lines[1] and "Ada" in lines[1]
        other.tell("run.pause().wait()")
        line = list_of_runs.stdout.readline()
        assert other.id in line and "paused" in line
        journal: Any = open_journal("sqlite")
        journal.delete("hostile")
        line = list_of_runs.stdout.readline()
        assert "hostile" in line and "deleted" in line
        assert not as_json or json.loads(line) == {"run": "hostile", "status": "deleted"}
        list_of_runs.send_signal(signal.SIGINT)
        rest, error = list_of_runs.communicate(timeout=30)
    assert (list_of_runs.returncode, error, rest) == (130, "", "")


def test_the_list_of_runs_is_drawn_again_in_a_terminal_and_fits() -> None:
    for number in range(60):
        Agent("echo").start(f"{number} {' '.join(texts())[:2000]}", paused=True, name=f"run-{number}").close()
    terminal = Terminal("runs", "--follow", columns=80)
    terminal.until("60 runs, 24 of them not shown; Ctrl-C ends this")
    run = Agent("echo").start("one more", paused=True, name="one-more")
    terminal.until("61 runs, 25 of them not shown")
    terminal.ctrl("c")
    assert terminal.end() == 130
    run.close()
    pictures = terminal.raw.split("\x1b[H")[1:]
    assert len(pictures) >= 2 and "one-more" in pictures[-1] and "one-more" not in pictures[0]
    for picture in pictures:
        lines = ESCAPES.sub("", picture).replace("\r", "").split("\n")
        assert len(lines) <= 40 and all(len(line) <= 80 for line in lines)
        assert not raw_characters("".join(lines).replace("^C", ""))
