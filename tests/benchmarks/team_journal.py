"""What a journal on PostgreSQL costs beside SQLite and none: rows per second, whole runs, and how soon a reader knows.

Rows are those of turns of ReAct. Each writer is a thread with a run of its own; one of three rows is synced, as in a run.
The server has fsync on. A run has four model calls, of 0.2 seconds each in the second column, and three tool calls: 50
threads could at best complete 62 such runs a second.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))
from postgres_server import Bouncer, Server

from agentkit import Agent, Call, Loop, Reply, tool
from agentkit.core.messages import Chat
from agentkit.journal import MemoryJournal
from agentkit.journal.conformance import info, turn
from agentkit.journal.postgres.journal import PostgresJournal
from agentkit.journal.sqlite import SqliteJournal
from agentkit.models.base import Abilities, Request

SECONDS = 4.0
Open = Callable[[], Any]


def rows_per_second(open_journal: Open, writers: int) -> tuple[float, float, float]:
    """Return the rows per second of all writers, and the median and 99th percentile of one append in milliseconds."""
    with closing(open_journal()) as journal:
        times: list[float] = []
        start, end = threading.Barrier(writers + 1), threading.Event()
        for n in range(writers):
            journal.create(info(f"r{n}", f"t{n}"))

        def write(run: str) -> None:
            chat, number, own = Chat.of("the task"), 0, []
            start.wait()
            while not end.is_set():
                rows, chat = turn(chat, number, run)
                for place, row in enumerate(rows):
                    begun = time.perf_counter()
                    journal.append(row, sync=place == 1)
                    own.append(time.perf_counter() - begun)
                number += 1
            times.extend(own)

        threads = [threading.Thread(target=write, args=(f"r{n}",)) for n in range(writers)]
        for thread in threads:
            thread.start()
        start.wait()
        begun = time.perf_counter()
        time.sleep(SECONDS)
        end.set()
        for thread in threads:
            thread.join()
        took = time.perf_counter() - begun
        cuts = statistics.quantiles(times, n=100)
        return len(times) / took, 1e3 * cuts[49], 1e3 * cuts[98]


class Slow:
    """A model that thinks for a while, calls a tool three times, and answers."""

    name = "slow"
    abilities = Abilities(tools=True)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, request: Request) -> Reply:
        time.sleep(self.seconds)
        asked = sum(message["role"] == "assistant" for message in request.messages)
        if asked < 3:
            return Reply("I look.", (Call("look", {"n": asked}),))
        return Reply("Done.")


@tool(effect="pure", timeout=None)
def look(n: int) -> str:
    """Look."""
    return str(n)


def runs_per_second(open_journal: Open, threads: int, seconds: float) -> float:
    """Return how many whole runs are completed in a second."""
    journal = open_journal()
    agent, done, end = (
        Agent(Slow(seconds), [look], journal=journal, engine=Loop("react", max_iterations=5)),
        [0] * threads,
        [0.0],
    )

    def work(place: int) -> None:
        while time.perf_counter() < end[0]:
            agent.run("Look.")
            done[place] += 1

    agent.run("Look.")
    begun = time.perf_counter()
    end[0] = begun + 2 * SECONDS
    workers = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    took = time.perf_counter() - begun
    if journal is not None:
        journal.close()
    return sum(done) / took


def tail_latency(url: str) -> tuple[float, float]:
    """Return after how many milliseconds another process's reader has a row: median and worst."""
    with closing(PostgresJournal(url)) as journal, closing(PostgresJournal(url, read_only=True)) as reader:
        run = f"tail-{time.monotonic_ns()}"
        journal.create(info(run, run))
        tail, times = reader.tail(run), []
        tail.read(timeout=0.5)
        rows, chat = turn(Chat.of("the task"), 0, run)
        for number in range(40):
            rows, chat = turn(chat, number, run)
            time.sleep(0.13)
            written: list[float] = []
            later = threading.Timer(
                0.05, lambda rows=rows, written=written: (journal.append(rows[0]), written.append(time.perf_counter()))
            )
            later.start()
            tail.read(timeout=10)
            seen = time.perf_counter()
            later.join()
            times.append(1e3 * max(0.0, seen - written[0]))
        return statistics.median(times), max(times)


@contextmanager
def places() -> Iterator[tuple[dict[str, Open], Server, str]]:
    server = Server()
    bouncer = Bouncer(server, size=20)
    numbers = itertools.count()
    try:
        with tempfile.TemporaryDirectory() as folder:
            journals: dict[str, Open] = {
                "memory": MemoryJournal,
                "SQLite": lambda: SqliteJournal(Path(folder, f"{next(numbers)}.db")),
                "PostgreSQL": lambda: PostgresJournal(server.url(server.emptied())),
                "PostgreSQL behind PgBouncer": lambda: PostgresJournal(bouncer.url(server.emptied())),
            }
            yield journals, server, bouncer.url(server.emptied())
    finally:
        bouncer.remove()
        server.remove()


def main() -> None:
    console = Console(width=120)
    with places() as (journals, server, pooled):
        table = Table("journal", "writers", "rows/s", "median, ms", "99 %, ms", title="rows")
        for name, open_journal in journals.items():
            for writers in (1, 20, 50):
                rate, median, worst = rows_per_second(open_journal, writers)
                table.add_row(name, str(writers), f"{rate:,.0f}", f"{median:.2f}", f"{worst:.1f}")
        console.print(table)
        table = Table("journal", "1 thread, free calls", "50 threads, calls of 0.2 s", title="whole runs per second")
        for name, open_run in {"none": lambda: None, **journals}.items():
            table.add_row(name, f"{runs_per_second(open_run, 1, 0.0):.0f}", f"{runs_per_second(open_run, 50, 0.2):.1f}")
        console.print(table)
        for name, url in (("directly", server.url(server.emptied())), ("behind PgBouncer", pooled)):
            median, worst = tail_latency(url)
            console.print(
                f"a reader of PostgreSQL {name} has a new row after {median:.0f} ms (median), {worst:.0f} ms (worst)"
            )


if __name__ == "__main__":
    main()
