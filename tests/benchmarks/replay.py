"""How long it takes to bring an engine to where its run stands, without calling anything: from memory, and from disk."""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

from loop_overhead import add, agent
from rich.console import Console
from rich.table import Table

from agentkit import Agent
from agentkit.config import home
from agentkit.journal.memory import MemoryJournal
from agentkit.journal.sqlite import SqliteJournal

TURNS = (100, 1_000, 10_000)
ROUNDS = 7


def fastest(action: Callable[[], Any]) -> float:
    """Milliseconds of wall time: the best of several rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        gc.collect()
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def from_memory(turns: int) -> float:
    """`rebuild`: what an edit, an undo and a fork do; all entries are objects already."""
    run = agent(turns, MemoryJournal()).start("1 + 2?", paused=True)
    run.drive()
    history = run.trace

    def rebuild() -> None:
        history.rebuild()
        assert history.stepper.answer and history.stepper.answer.text == "3"
        assert len(history.proposed) == 2 * turns + 2

    return fastest(rebuild)


def from_disk(turns: int) -> tuple[float, float]:
    """`agent.resume`: open the file, check and read all its rows, replay. Also gives the part that only reads."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["AGENTKIT_HOME"] = folder
        journal = SqliteJournal(home() / "runs.db", synchronous="NORMAL")
        name = agent(turns, journal).run("1 + 2?").run.id
        journal.close()

        def resume() -> None:
            opened = SqliteJournal(home() / "runs.db")
            run = Agent(lambda request: "", [add], journal=opened).resume(name)
            assert run.answer == "3" and len(run) == 2 * turns + 3
            opened.close()

        def read() -> None:
            opened = SqliteJournal(home() / "runs.db")
            assert len(opened.rows(name)) > 3 * turns
            opened.close()

        return fastest(resume), fastest(read)


def main() -> None:
    columns = ("turns", "replay from memory", "resume from SQLite", "of that, read and check")
    table = Table(*columns, title="replay, milliseconds")
    for turns in TURNS:
        figures = (from_memory(turns), *from_disk(turns))
        table.add_row(f"{turns:,}", *(f"{figure:,.1f}" for figure in figures))
    Console().print(table)
    print(f"the best of {ROUNDS} rounds, wall time; the goal is about 10 ms for 1,000 turns from memory")


if __name__ == "__main__":
    main()
