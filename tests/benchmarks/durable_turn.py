"""What a turn costs that survives the process, and with synchronous=FULL the machine: CPU and wall time, bytes on disk.

A turn is one model call and one tool call, both free. A run of no turns (the file itself, opening it, one answer) is
subtracted, so that a figure that grows with the number of turns is growth indeed. Bytes are those of the folder after
the journal was closed; "written" is what the process handed to the file system meanwhile, where the system counts it.
"""

from __future__ import annotations

import gc
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from loop_overhead import Free, plus
from rich.console import Console
from rich.table import Table

from agentkit import Agent, Loop, tool
from agentkit.config import home
from agentkit.journal.sqlite import SqliteJournal

TURNS = (10, 100, 1_000, 5_000)
SETTINGS = (("FULL", "irreversible"), ("FULL", "pure"), ("NORMAL", "pure"))
ROUNDS = 5
SECONDS = 20.0
"""After these no further round of one figure begins."""


class Cost(NamedTuple):
    """What a whole run took: seconds, seconds, bytes, bytes."""

    cpu: float
    wall: float
    stored: float
    written: float


def run(turns: int, synchronous: str, effect: str) -> Cost:
    """Run once, in a home of its own."""
    add = tool(name="add", effect=effect, timeout=None)(plus)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["AGENTKIT_HOME"] = folder
        gc.collect()
        written, cpu, wall = bytes_written(), time.process_time(), time.perf_counter()
        journal = SqliteJournal(home() / "runs.db", synchronous=synchronous)
        answer = (
            Agent(Free(turns), [add], journal=journal, engine=Loop("react", max_iterations=turns + 1))
            .run("1 + 2?")
            .answer
        )
        cpu, wall, written = time.process_time() - cpu, time.perf_counter() - wall, bytes_written() - written
        journal.close()
        assert answer == "3", answer
        return Cost(cpu, wall, sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()), written)


def bytes_written() -> int:
    """The bytes that this process has given to write calls so far; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/io").read_text().split("wchar:")[1].split()[0])
    except (OSError, IndexError):
        return 0


def median(turns: int, synchronous: str, effect: str) -> Cost:
    """The median of several runs, each figure for itself."""
    costs, begun = [], time.monotonic()
    while len(costs) < ROUNDS and (not costs or time.monotonic() - begun < SECONDS):
        costs.append(run(turns, synchronous, effect))
    return Cost(*map(statistics.median, zip(*costs, strict=True)))


def main() -> None:
    run(10, "FULL", "pure")  # what is made on first use is not a turn's
    columns = ("sync", "tool", "turns", "CPU, ms", "wall, ms", "stored, B", "written, B")
    table = Table(*columns, title="a durable turn (SQLite)")
    for synchronous, effect in SETTINGS:
        nothing = median(0, synchronous, effect)
        for turns in TURNS:
            spent = median(turns, synchronous, effect)
            cpu, wall, stored, written = ((all_ - none) / turns for all_, none in zip(spent, nothing, strict=True))
            figures = (f"{cpu * 1e3:.2f}", f"{wall * 1e3:.2f}", f"{stored:,.0f}", f"{written:,.0f}")
            table.add_row(synchronous, effect, f"{turns:,}", *figures, end_section=turns == TURNS[-1])
    Console().print(table)
    print(f"the median of {ROUNDS} runs, or of those begun within {SECONDS:g} s")
    print("an irreversible tool is announced on the disk before it starts, a pure one is announced, but not waited for")
    print("known: loomflow 12 to 24 kB and 1.0 to 1.2 ms CPU, burr 0.9 to 1.0 ms and growing,")
    print("langgraph 3.2 to 3.8 ms and growing to 104 kB")


if __name__ == "__main__":
    main()
