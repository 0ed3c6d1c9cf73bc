"""Two processes look at everything while a third drives: what the third records is the same, row for row.

`AGENTKIT_SIZE` is the number of runs that are driven: 4 by default, 100 by hand.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

SIZE = int(os.environ.get("AGENTKIT_SIZE", "4"))

DRIVE = """
import sys, time
from agentkit import Agent, Loop, tool

@tool(effect="irreversible")
def send(text: str) -> str:
    '''Send a message.'''
    time.sleep(0.01)
    return f"sent {text}"

for number in range(int(sys.argv[1])):
    engine = ["react", "plan_and_execute", Loop("dag", max_parallel=2), "reflexion"][number % 4]
    agent = Agent("offline", ["math"], engine=engine, self_check=2, budget={"max_model_calls": 90})
    run = agent.start(f"What is {number} * 12?", paused=True)
    run.drive()
    run.undo()
    run.dialect = "text"
    run.drive()
    fork = run.fork(1)
    fork.drive()
    run.close()
    fork.close()
"""

LOOK = """
import sys
from pathlib import Path
from typer.testing import CliRunner
import agentkit
from agentkit.cli import app

looks, stop = 0, Path(sys.argv[1])
while not stop.exists():
    for info in [info for info in agentkit.runs() if info.status != "not begun"][:3]:
        run = agentkit.look(info.run)
        assert repr(run) and run.to_html() and run.to_markdown() and run.to_json()["rows"] and run.to_notebook()
        assert len(run.to_frame()) and run._repr_html_() and run.widget() is not None and run.branches()
        for command in (["replay", info.run], ["export", info.run], ["runs"]):
            done = CliRunner().invoke(app, command)
            assert done.exit_code == 0, done.output
        looks += 1
print(looks)
"""


WITHOUT_PRIVILEGES = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
"""The superuser writes even where the permissions do not allow it."""


def start(script: str, home: Path, *arguments: str, before: Sequence[str] = ()) -> subprocess.Popen[str]:
    environment = {**os.environ, "AGENTKIT_HOME": str(home)}
    command = [*before, sys.executable, "-c", script, *arguments]
    return subprocess.Popen(command, stdout=-1, stderr=-1, text=True, env=environment)


def rows(home: Path) -> list[Any]:
    """Return the rows of a journal without times, and with numbers in place of the ids of runs."""
    with sqlite3.connect(f"file:{home / 'runs.db'}?mode=ro", uri=True) as db:
        stored = db.execute("SELECT id, run, body FROM rows ORDER BY id").fetchall()
    ids = list(dict.fromkeys(run for _, run, _ in stored))
    return [(number, ids.index(run), *map(without_times, body.split("\n"))) for number, run, body in stored]


def claims(home: Path) -> tuple[list[int], list[str]]:
    """Return how often each run was claimed, and by whom last."""
    with sqlite3.connect(f"file:{home / 'runs.db'}?mode=ro", uri=True) as db:
        times, holders = zip(*db.execute("SELECT epoch, holder FROM runs ORDER BY rowid").fetchall(), strict=True)
    return list(times), list(holders)


def without_times(line: str) -> Any:
    data = json.loads(line)
    times = ("started", "ended", "at", "rested", "streamed")
    return {name: value for name, value in data.items() if name not in times} if isinstance(data, dict) else data


def finish(process: subprocess.Popen[str]) -> str:
    """Wait for a process, and return what it printed."""
    output, error = process.communicate()
    assert process.returncode == 0, error
    return output


@pytest.mark.slow
def test_the_rows_of_a_process_are_the_same_whether_or_not_two_others_look(tmp_path: Path) -> None:
    watched, alone, stop = tmp_path / "watched", tmp_path / "alone", tmp_path / "stop"
    lookers = [start(LOOK, watched, str(stop)) for _ in range(2)]
    driver = start(DRIVE, watched, str(SIZE))
    finish(driver)
    stop.touch()
    looks = [int(finish(looker)) for looker in lookers]
    assert min(looks) > 0
    finish(start(DRIVE, alone, str(SIZE)))
    assert rows(watched) == rows(alone)
    assert claims(watched)[0] == claims(alone)[0]  # nobody else has held a run
    assert all(not holder or f"process {driver.pid} " in holder for holder in claims(watched)[1])
    print(f"{sum(looks)} looks at {SIZE} runs and their forks, rows written by those who looked: 0")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the folder is made read-only with the permissions of POSIX")
def test_runs_on_a_read_only_disk_can_be_looked_at(tmp_path: Path) -> None:
    home = tmp_path / "home"
    finish(start(DRIVE, home, "2"))
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in home.rglob("*") if path.is_file()}
    folders = [path for path in (home, *home.rglob("*")) if path.is_dir()]
    for path in (*before, *folders):
        path.chmod(0o555 if path.is_dir() else 0o444)
    once = LOOK.replace("while not stop.exists():", "for _ in range(2):")
    try:
        assert int(finish(start(once, home, "unused", before=WITHOUT_PRIVILEGES))) == 2 * 3
    finally:
        for path in folders:
            path.chmod(0o755)
    after = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in home.rglob("*") if path.is_file()}
    assert after == before
