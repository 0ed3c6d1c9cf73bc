"""What the log of a run costs: frames, resumed streams, and many watchers of one run.

The sizes follow `AGENTKIT_SIZE`, the number of rows (10,000).
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from agentkit import Agent, Call, Loop, Reply, tool
from agentkit.models.base import Abilities, Chunk, Request
from agentkit.run.run import Run
from agentkit.serve.frames import Frames
from agentkit.serve.log import Log

ROWS = int(os.environ.get("AGENTKIT_SIZE", "10000"))
WATCHERS = 1_000


@tool(effect="pure")
def look(what: str) -> str:
    """Look something up."""
    return f"{what} is blue, as far as anybody can tell. " * 4


class Looks:
    """A model that looks something up as often as it is told to."""

    name = "looks"
    abilities = Abilities(tools=True)

    def __init__(self, times: int) -> None:
        self.times = times

    def __call__(self, request: Request) -> Reply:
        self.times -= 1
        if self.times < 0:
            return Reply("It is blue.")
        return Reply("I look it up", (Call("look", {"what": f"thing {self.times}"}, f"c{self.times}"),))


class Paced:
    """A model that looks something up, and then writes 100 pieces a second for two seconds."""

    name = "paced"
    abilities = Abilities(tools=True, stream=True)

    def __init__(self) -> None:
        self.replies = iter([Reply("I look", (Call("look", {"what": "sky"}, "c1"),)), Reply("blue")])

    def __call__(self, request: Request) -> Any:
        return self._write() if request.role == "synthesize" else next(self.replies)

    def _write(self) -> Iterator[Chunk]:
        for n in range(200):
            time.sleep(0.01)
            yield Chunk(f"word {n} ")
        yield Chunk(finish="stop")


def cpu(work: Callable[[], Any], times: int = 1) -> float:
    """Return the CPU time of a call in seconds, the least of some."""
    least = float("inf")
    for _ in range(times):
        began = time.process_time()
        work()
        least = min(least, time.process_time() - began)
    return least


def recorded(file: Path) -> Run:
    """Return a finished run of about `ROWS` rows: a thought, the beginning of a call, and its result, again and again."""
    turns = max(1, (ROWS - 4) // 3)
    engine = Loop("react", max_iterations=turns + 2)
    run = Agent(Looks(turns), [look], journal=str(file), engine=engine).start("q", paused=True)
    run.drive()
    return run


async def read(log: Log, after: str = "") -> int:
    size = 0
    async for text in log.stream(after):
        size += len(text)
    return size


async def watched(run: Run) -> tuple[int, float, float]:
    """Return how many streams of a run that plays get everything, and the time and CPU time that it takes."""
    log = Log.of(run)
    readers = [asyncio.create_task(read(log)) for _ in range(WATCHERS)]
    await asyncio.sleep(1)
    began, used = time.monotonic(), time.process_time()
    run.play()
    sizes = await asyncio.gather(*readers)
    took, used = time.monotonic() - began, time.process_time() - used
    return sizes.count(max(sizes)), took, used


def main() -> None:
    table = Table("what", "figure")
    with tempfile.TemporaryDirectory() as folder:
        run = recorded(Path(folder) / "runs.db")
        events = list(run.events())
        encoder = Frames(run.id)
        frames = [frame for event in events for frame in encoder.take(event)]
        rows = len(run.rows())

        def encode() -> None:
            again = Frames(run.id)
            for event in events:
                for frame in again.take(event):
                    frame.text  # noqa: B018

        table.add_row("rows, frames of the run", f"{rows:,}, {len(frames):,}")
        table.add_row("CPU per 1,000 frames: encoding", f"{cpu(encode, 3) / len(frames) * 1e6:.1f} ms")
        log = Log.of(run)
        table.add_row(
            "CPU of the first stream: reading the journal, and the last five", f"{cpu(log.load) * 1e3:.0f} ms"
        )
        last = [frame.id for frame in frames if frame.id][-6]
        five = cpu(lambda: asyncio.run(read(log, last)), 5)
        table.add_row("CPU of each later stream: the last five", f"{five * 1e3:.1f} ms")
        table.add_row("CPU of each later stream: all of it", f"{cpu(lambda: asyncio.run(read(log)), 3) * 1e3:.0f} ms")
        after = int(last.partition(".")[0])
        without = cpu(lambda: list(run.events(after)))
        table.add_row("the last five by run.events, without a log", f"{without * 1e3:.0f} ms")
        log.forget()
        tracemalloc.start()
        log.load()
        table.add_row("memory of the log", f"{tracemalloc.get_traced_memory()[0] / 1e6:.1f} MB")
        log.forget()
        table.add_row("memory when it is forgotten", f"{tracemalloc.get_traced_memory()[0] / 1e6:.1f} MB")
        tracemalloc.stop()
    run = Agent(Paced(), [look], journal="memory", synthesize=True).start("q", paused=True)
    whole, took, used = asyncio.run(watched(run))
    table.add_row(f"{WATCHERS:,} watchers of one run: complete", f"{whole:,}")
    table.add_row(f"{WATCHERS:,} watchers of one run: time, CPU", f"{took:.2f} s, {used:.2f} s")
    Console().print(table)


if __name__ == "__main__":
    main()
