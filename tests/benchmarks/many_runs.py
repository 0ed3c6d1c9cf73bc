"""How many runs a second an experiment makes on 50 threads, and how long a second call takes that finds all of them.

Each run asks a model four times, which takes 0.2 s, and calls a tool twice, so 50 threads can make at most 62 runs a
second.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import cloudpickle
from rich.console import Console
from rich.table import Table

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


def measured(journal: Any) -> tuple[float, float]:
    agent = Agent(thinker, [add], engine=engine_of_four, journal=journal)
    tasks, began, cpu = [f"Task {n}" for n in range(RUNS)], time.perf_counter(), time.process_time()
    found = experiment(tasks, agent, on=THREADS).wait()
    assert found.count("scored") == RUNS, found
    seconds = time.perf_counter() - began
    return RUNS / seconds, (time.process_time() - cpu) / RUNS * 1000


def second_call(folder: str) -> float:
    agents = {
        "one": Agent(Echo(), journal=Path(folder, "second.db")),
        "two": Agent("echo", journal=Path(folder, "second.db")),
    }
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
        console.print(f"A second call over 360 finished runs in SQLite: {second_call(folder):.3f} s")
        agent = Agent("openai:gpt-5-mini", ["math", add], journal=Path(folder, "runs.db"))
        console.print(f"An agent with two tools, pickled: {len(cloudpickle.dumps(agent)):,} bytes")


if __name__ == "__main__":
    main()
