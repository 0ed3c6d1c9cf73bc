"""Rows as a run would write them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest
from postgres_server import Bouncer, Server

from agentkit.journal.conformance import info, turn, write_turns
from agentkit.journal.sqlite import SqliteJournal


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

    def start(code: str, path: Path | str, **more) -> subprocess.Popen:
        lines = _PRELUDE.format(path=str(path)) + textwrap.dedent(code)
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
def start_forking(start_python):
    """Start a process that forks while it holds a run; parent and child print what each of them may write."""
    return lambda path: start_python(_FORKING, path, start_new_session=True)


@pytest.fixture
def run_python(start_python):
    """Run code in another process to its end, and return what it printed."""

    def run(code: str, path: Path | str) -> str:
        process = start_python(code, path)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0, out
        return out

    return run


@pytest.fixture(scope="session")
def postgres():
    """Return a PostgreSQL server for tests that leave it as it is."""
    server = Server()
    yield server
    server.remove()


@pytest.fixture
def database(postgres):
    """Return the URL of an empty database."""
    return postgres.url(postgres.emptied())


@pytest.fixture(scope="session")
def bouncer(postgres):
    """Return a PgBouncer before that server, in transaction mode."""
    bouncer = Bouncer(postgres)
    yield bouncer
    bouncer.remove()


@pytest.fixture
def pooled(postgres, bouncer):
    """Return the URL of an empty database behind PgBouncer."""
    return bouncer.url(postgres.emptied())


@pytest.fixture(scope="session")
def left_by(tmp_path_factory):
    """Return the folder of a journal as a process left it that was killed after it had run some code."""
    made = {}

    def folder(code: str) -> Path:
        if code not in made:
            made[code] = tmp_path_factory.mktemp("left")
            lines = _PRELUDE.format(path=str(made[code] / "runs.db")) + textwrap.dedent(code)
            lines += "\nimport signal; os.kill(os.getpid(), signal.SIGKILL)"
            assert subprocess.run([sys.executable, "-c", lines], cwd=_ROOT).returncode != 0
        return made[code]

    return folder


_ROOT = Path(__file__).parents[2]
_PRELUDE = """
import os, sys
from types import SimpleNamespace
from agentkit.journal.conformance import info, turn, write_turns
make = SimpleNamespace(info=info, turn=turn, write=write_turns)
from agentkit.errors import *
from agentkit.journal import *
from agentkit.journal.sqlite import SqliteJournal
from agentkit.core.messages import *
path = {path!r}
journal = open_journal(path) if "://" in path else SqliteJournal(path)
"""
_FORKING = """
import time
journal.create(make.info())
make.write(journal, 1)
read, write = os.pipe()
if os.fork() == 0:
    report = []
    try:
        journal.append(Note("status", run="r1"))
    except Fenced as error:
        report.append(f"fenced, parent {os.getppid()} named {str(os.getppid()) in str(error)}")
    journal.create(make.info("mine", "t2"))
    report.append(str(journal.append(Note("status", run="mine"))))
    report.append(str(len(journal.rows("r1"))))
    os.write(write, "; ".join(report).encode())
    time.sleep(60)
    os._exit(0)
print(os.getpid(), os.read(read, 1000).decode(), journal.append(Note("status", run="r1")), flush=True)
sys.stdin.readline()
"""
