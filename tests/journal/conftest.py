"""Rows as a run would write them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from agentkit.core.messages import Call, Chat, Message, Reply, system, user
from agentkit.core.steps import Act, Think
from agentkit.core.usage import Usage
from agentkit.journal import Entry, Note, RunInfo
from agentkit.journal.sqlite import SqliteJournal


def info(run: str = "r1", tree: str = "t1", **more) -> RunInfo:
    settled = {"task": "a task", "engine": "react", "model": "m", "status": "running", "rows": 0, "created": 1.0}
    return RunInfo(run=run, tree=tree, **(settled | {"updated": time.time()} | more))


def turn(chat: Chat, number: int, run: str = "r1", tools: tuple = (), parent: int = 0) -> tuple[list, Chat]:
    """Return the three rows of a turn of ReAct, and the chat after it."""
    call = Call("search", {"query": f"q{number}"}, id=f"c{number}")
    reply = Reply(
        f"thought {number}",
        (call,),
        raw=f"Thought: thought {number}",
        dialect="text",
        usage=Usage(10, 2, calls=1),
        finish="stop",
    )
    observed = Message("tool", f"result {number}", (), f"c{number}", "search", value={"n": number})
    rows = [
        Entry(
            parent,
            "think",
            "",
            2 * number,
            Think(chat, tools),
            None,
            reply,
            "model",
            started=1.5,
            ended=2.5,
            usage=reply.usage,
            run=run,
        ),
        Note("call", {"parent": parent, "path": "", "index": 2 * number + 1, "name": "search"}, 2.5, run),
        Entry(parent, "act", "", 2 * number + 1, Act(call), None, observed, "tool", run=run),
    ]
    return rows, chat + reply + observed


def write_turns(journal, count: int, run: str = "r1", chat: Chat | None = None) -> Chat:
    chat = chat or Chat.of([system("be brief"), user("the task")])
    for number in range(count):
        rows, chat = turn(chat, number, run)
        for row in rows:
            journal.append(row, sync=False)
    return chat


@pytest.fixture
def make():
    """Functions that make the contents of a journal: `info`, `turn`, `write`."""
    return SimpleNamespace(info=info, turn=turn, write=write_turns)


@pytest.fixture
def journal(tmp_path):
    journal = SqliteJournal(tmp_path / "runs.db")
    yield journal
    journal.close()


@pytest.fixture
def start_python():
    """Start another Python process that has a `journal` and `make` and runs some code; return the Popen."""
    started = []

    def start(code: str, path: Path, **more) -> subprocess.Popen:
        lines = _PRELUDE.format(here=str(Path(__file__)), path=str(path)) + textwrap.dedent(code)
        command = [sys.executable, "-c", lines]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT, **more)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@pytest.fixture
def run_python(start_python):
    """Run code in another process to its end, and return what it printed."""

    def run(code: str, path: Path) -> str:
        process = start_python(code, path)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0, out
        return out

    return run


@pytest.fixture(scope="session")
def left_by(tmp_path_factory):
    """Return the folder of a journal as a process left it that was killed after it had run some code."""
    made = {}

    def folder(code: str) -> Path:
        if code not in made:
            made[code] = tmp_path_factory.mktemp("left")
            lines = _PRELUDE.format(here=str(Path(__file__)), path=str(made[code] / "runs.db")) + textwrap.dedent(code)
            lines += "\nimport signal; os.kill(os.getpid(), signal.SIGKILL)"
            assert subprocess.run([sys.executable, "-c", lines], cwd=_ROOT).returncode != 0
        return made[code]

    return folder


_ROOT = Path(__file__).parents[2]
_PRELUDE = """
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("helpers", {here!r})
helpers = importlib.util.module_from_spec(spec); spec.loader.exec_module(helpers)
from types import SimpleNamespace
make = SimpleNamespace(info=helpers.info, turn=helpers.turn, write=helpers.write_turns)
from agentkit.errors import *
from agentkit.journal import *
from agentkit.journal.sqlite import SqliteJournal
from agentkit.core.messages import *
journal = SqliteJournal({path!r})
"""
