"""How many runs a second an experiment makes on 50 threads and on other processes, and how long a second call takes.

Each run asks a model four times, which takes 0.2 s, and calls a tool twice, so 50 threads can make at most 62 runs a
second.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import cloudpickle
from distributed import Client, LocalCluster
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))
from postgres_server import Server

from agentkit import Act, Agent, Answer, Call, Chat, Reply, Think, experiment, tool
from agentkit.models.base import Abilities
from agentkit.models.scripted import Echo

THREADS, RUNS, DELAY = 50, 300, 0.2


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def engine_of_four(task: Any, tools: Any = ()) -> Any:
    """Ask four times, and call a tool after the first two."""
    chat = Chat.of(task)
    for turn in range(4):
        reply = yield Think(chat)
        chat = chat + reply
        if turn < 2:
            chat = chat + (yield Act(Call("add", {"a": turn, "b": 1}, id=f"c{turn}")))
    return Answer("done", chat)


def thinker(request: Any) -> Any:
    time.sleep(DELAY)
    return Reply("I think.")


thinker.abilities = Abilities()  # type: ignore[attr-defined]


def measured(journal: Any, on: Any = THREADS, runs: int = RUNS) -> tuple[float, float]:
    agent = Agent(thinker, [add], engine=engine_of_four, journal=journal)
    tasks, began, cpu = [f"Task {n}" for n in range(runs)], time.perf_counter(), time.process_time()
    found = experiment(tasks, agent, on=on).wait()
    assert found.count("scored") == runs, found
    seconds = time.perf_counter() - began
    return runs / seconds, (time.process_time() - cpu) / runs * 1000


def on_processes(folder: str) -> Iterator[tuple[str, float]]:
    """Yield how many runs a second two other processes make: one run each at a time, and 25."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        measured(Path(folder, "warm.db"), pool, 4)
        yield "ProcessPoolExecutor(2)", measured(Path(folder, "pool.db"), pool, 24)[0]
    with (
        LocalCluster(n_workers=2, threads_per_worker=THREADS // 2, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        executor = client.get_executor(pure=False)
        measured(Path(folder, "warm-dask.db"), executor, 100)
        yield "Dask, 2 workers with 25 threads each", measured(Path(folder, "dask.db"), executor)[0]


def second_call(journal: Any) -> float:
    agents = {"one": Agent(Echo(), journal=journal), "two": Agent("echo", journal=journal)}
    how: dict[str, Any] = {"score": lambda result, case: len(result.answer), "repeats": 3, "on": 8}
    tasks = [f"Task {n}" for n in range(60)]
    experiment(tasks, agents, **how).wait()
    began = time.perf_counter()
    found = experiment(tasks, agents, **how)
    text = repr(found)
    seconds = time.perf_counter() - began
    assert (found.status, found.cached) == ("done", 360), text
    return seconds


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = Table(title=f"{RUNS} runs of four calls of {DELAY} s on {THREADS} threads")
        for column in ("journal", "runs per second", "ms of CPU per run"):
            table.add_column(column, justify="right")
        for name, journal in (("none", None), ("memory", "memory"), ("SQLite", Path(folder, "runs.db"))):
            rate, cpu = measured(journal)
            table.add_row(name, f"{rate:.1f}", f"{cpu:.1f}")
        console = Console()
        console.print(table)
        for name, rate in on_processes(folder):
            console.print(f"{name}, SQLite: {rate:.1f} runs per second")
        console.print(f"A second call over 360 finished runs in SQLite: {second_call(Path(folder, 'second.db')):.3f} s")
        server = Server()
        try:
            console.print(
                f"A second call over 360 finished runs in PostgreSQL: {second_call(server.url(server.create())):.3f} s"
            )
        finally:
            server.remove()
        agent = Agent("openai:gpt-5-mini", ["math", add], journal=Path(folder, "runs.db"))
        console.print(f"An agent with two tools, pickled: {len(cloudpickle.dumps(agent)):,} bytes")


if __name__ == "__main__":
    main()
