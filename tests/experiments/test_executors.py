"""Experiments in other processes: a spawned pool, loky and Dask; workers that are killed; rate limits that are shared."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, answer, completion

from agentkit import Agent, experiment
from agentkit.errors import UsageError
from agentkit.journal import open_journal, verify
from agentkit.models.openai import OpenAI
from agentkit.models.transport.rate_limit import RateLimit

pytest.importorskip("cloudpickle")
pytestmark = pytest.mark.slow

SIZE = int(os.environ.get("AGENTKIT_SIZE", "12"))
"""How many runs the tests with killed workers make; the large matrix is made by hand."""


@contextmanager
def spawned() -> Iterator[Any]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        yield executor


@contextmanager
def loky() -> Iterator[Any]:
    executor = pytest.importorskip("loky").ProcessPoolExecutor(2)
    try:
        yield executor
    finally:
        executor.shutdown(kill_workers=True)


@contextmanager
def dask() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=4, processes=True, dashboard_address=None, protocol="tcp://"
    )
    try:
        with distributed.Client(cluster) as client:
            yield client.get_executor(pure=False, retries=3)
    finally:
        with suppress(TimeoutError):
            cluster.close()  # kills a worker that was just started again and does not end within 4 seconds, and raises


ignored = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::UserWarning")
everywhere = pytest.mark.parametrize("opened", [spawned, loky, dask])


@pytest.fixture
def path(tmp_path):
    yield tmp_path / "runs.db"
    open_journal(tmp_path / "runs.db").close()


@ignored
@everywhere
def test_an_experiment_runs_in_other_processes_and_a_second_call_runs_nothing(path, make, opened):
    agents = {"right": make.multiplier(path), "wrong": make.multiplier(path, wrong=("What is 2 * 3?",))}
    with opened() as executor:
        found = experiment(make.products(6), agents, score=make.right, repeats=2, on=executor).wait(200)
    assert found.count("scored") == 24, repr(found)
    assert found.scores("wrong")["0"] == [0.0, 0.0]
    assert found["wrong", 0, 1].run.answer == "7"
    again = experiment(make.products(6), agents, score=make.right, repeats=2)  # on threads: the journal is the same
    assert (again.status, again.cached) == ("done", 24)
    assert again.scores("right") == found.scores("right")


def killer(pids, file: Path, stop: threading.Event, kills: list[int]) -> None:
    """Kill a worker whenever eight more payments have been made."""
    due = len(payments(file)) + 8
    while not stop.wait(0.01):
        if len(payments(file)) >= due and (alive := pids()):
            with suppress(ProcessLookupError):
                os.kill(alive[len(kills) % len(alive)], signal.SIGKILL)
                kills.append(due)
            due = len(payments(file)) + 8


def payments(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []


@ignored
@everywhere
def test_no_irreversible_call_is_doubled_by_workers_that_are_killed(path, tmp_path, make, opened):
    file = tmp_path / "paid"
    agent = make.payer(path, str(file), times=4, delay=0.05)
    tasks = [f"Pay {n}." for n in range(SIZE)]
    kills: list[int] = []
    for _ in range(40 + SIZE):  # an executor that broke is replaced, as a person would
        with opened() as executor:
            stop = threading.Event()
            thread = threading.Thread(target=killer, args=(lambda e=executor: workers(e), file, stop, kills))
            found = experiment(tasks, agent, score=lambda r, c: 1, on=executor, approved=True)
            thread.start()
            try:
                found.wait(200)
            except UsageError as error:
                assert "only what is missing is run" in str(error)
            finally:
                stop.set()
                thread.join()
        if found.count("scored") + found.count("waiting") == len(tasks):
            break
    done = payments(file)
    assert kills, "no worker was killed"
    assert len(done) == len(set(done)), "a payment was made twice"
    for cell in found.cells:
        own = [each for each in done if each.split(".")[0] == cell.case.task.split()[1].rstrip(".")]
        if cell.state == "scored":
            assert len(own) == 4
        else:  # it was killed while it paid, and nobody knows whether it did
            assert (cell.state, "may have run" in cell.outcome.problem) == ("waiting", True), repr(cell)
    assert {verdict.state for verdict in verify(journal=path)} == {"intact"}
    print(f"{opened.__name__}: {len(kills)} kills, {len(done)} payments, {found.count('waiting')} wait")


def workers(executor: Any) -> list[int]:
    """Return the process ids of the workers of an executor."""
    if hasattr(executor, "_client"):
        try:
            return list(executor._client.run(os.getpid, wait=True).values())
        except Exception:  # one of them has just been killed
            return []
    return [process.pid for process in list((getattr(executor, "_processes", None) or {}).values())]


def test_a_stop_reaches_other_processes_between_two_steps(path, tmp_path, make):
    file = tmp_path / "paid"
    agent = make.payer(path, str(file), times=200, delay=0.05, effect="pure")
    with spawned() as executor:
        found = experiment(["Pay 1.", "Pay 2."], agent, on=executor)
        while len(payments(file)) < 4:
            time.sleep(0.05)
        found.stop().wait(30)
    assert (found.status, len(found.missing)) == ("stopped", 2)
    assert len(payments(file)) < 300


def test_a_worker_without_the_package_of_a_tool_says_so(path, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text(
        'from agentkit import tool\n@tool(effect="pure")\ndef look(n: int) -> int:\n    """Look."""\n    return n\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    import only_here  # type: ignore[import-not-found]

    monkeypatch.undo()  # the workers do not find it any more
    with spawned() as executor:
        found = experiment(["What is 2 * 3?"], Agent("offline", [only_here.look], journal=path), on=executor).wait(100)
    assert found.count("failed") == 1
    assert "no tool 'look' of the module 'only_here'" in found.cells[0].outcome.problem
    assert "install the package" in found.cells[0].outcome.problem


WATCH = """
CREATE TABLE turns (id, next);
CREATE TRIGGER first AFTER INSERT ON rate_limits BEGIN INSERT INTO turns VALUES (new.id, new.next); END;
CREATE TRIGGER later AFTER UPDATE ON rate_limits BEGIN INSERT INTO turns VALUES (new.id, new.next); END;
"""


def test_processes_share_a_rate_limit(path):
    limit = RateLimit(600)
    open_journal(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.executescript(WATCH)
    with Loopback([answer(completion("FINAL_ANSWER: yes"))]) as host, spawned() as executor:
        agent = Agent(OpenAI("m", base_url=host.url, per_minute=limit), engine="chain_of_thought", journal=path)
        found = experiment([f"Question {n}?" for n in range(12)], agent, on=executor).wait(200)
    with closing(sqlite3.connect(path)) as db:
        turns = db.execute("SELECT id, next FROM turns ORDER BY next").fetchall()
    assert (found.count("scored"), len(host.got)) == (12, 12), repr(found)
    assert [id for id, _ in turns] == [limit.id] * 12
    assert all(later - one > 0.0999 for (_, one), (_, later) in itertools.pairwise(turns))
