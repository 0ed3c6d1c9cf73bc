"""The server: how soon the first event comes, and what streams cost.

The server is a process of its own, and the clients are bare sockets. With the journal in memory, the figures are those
of the server; with the journal on disk, each start also waits for the disk, one after the other. Each run has 6 turns, in each
of which the model streams 40 chunks at 100 chunks a second, and a tool takes 50 ms. The first event is that of
`POST /runs` with `Accept: text/event-stream`: the run is created, recorded and started in that time. The frames are
those that the clients read; the CPU is that of the server's process, which also performs the runs.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TOKEN = "t0ken-of-the-benchmark"
TURNS, CHUNKS, CHUNK_INTERVAL, TOOL_TIME = 6, 40, 0.01, 0.05
STREAMS = (1, 10, 100)
IDLE, WATCHERS = 500, 1_000


def server(journal: str) -> None:
    """Serve, and print the CPU seconds and the megabytes of this process for each line that is read."""
    from agentkit import Agent, tool
    from agentkit.models.base import Abilities, CallDelta, Chunk
    from agentkit.serve import serve

    @tool(effect="pure")
    async def lookup(key: str) -> str:
        """Look something up."""
        await asyncio.sleep(TOOL_TIME)
        return key

    class Model:
        name, abilities = "streaming", Abilities(tools=True)

        async def __call__(self, request: Any) -> Any:
            turn = sum(message["role"] == "tool" for message in request.messages)
            for n in range(CHUNKS):
                await asyncio.sleep(CHUNK_INTERVAL)
                yield Chunk(text=f"word{n} ")
            if turn < TURNS - 1:
                yield Chunk(call=CallDelta(0, f"c{turn}", "lookup", json.dumps({"key": str(turn)})))
            yield Chunk(finish="tool_calls" if turn < TURNS - 1 else "stop")

    with tempfile.TemporaryDirectory() as folder:
        os.environ["AGENTKIT_HOME"] = folder
        with serve(Agent(Model(), [lookup], journal=journal), token=TOKEN, rate=1e9, burst=1e9):
            for _ in sys.stdin:
                print(time.process_time(), _megabytes(), flush=True)


def _megabytes() -> float:
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


class Served:
    """The server's process."""

    def __init__(self, journal: str) -> None:
        command = [sys.executable, __file__, "server", journal]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.writers: list[asyncio.StreamWriter] = []  # one that is forgotten closes its connection
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().partition("/?")[0].rpartition(":")[2])

    def used(self) -> tuple[float, float]:
        """Return the CPU seconds and the megabytes that the server has used."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("\n")
        cpu, megabytes = self.process.stdout.readline().split()
        return float(cpu), float(megabytes)

    async def ask(self, method: str, path: str, accept: str = "*/*", data: Any = None) -> asyncio.StreamReader:
        """Send a request, and return what is read from its connection."""
        body = json.dumps(data).encode() if data is not None else b""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20)
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept: {accept}\r\n"
        head += f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        self.writers.append(writer)
        return reader

    async def start(self, **body: Any) -> str:
        """Start a run, and return its id."""
        return str((await _json(await self.ask("POST", "/runs", data={"task": "go", **body})))["id"])

    async def get(self, path: str) -> Any:
        """Return the JSON data that is found at a path."""
        return await _json(await self.ask("GET", path))


async def _json(reader: asyncio.StreamReader) -> Any:
    return json.loads((await reader.read()).partition(b"\r\n\r\n")[2])


async def read(reader: asyncio.StreamReader, begun: float) -> tuple[float, int, bool]:
    """Return the milliseconds until the first event, the number of frames, and whether the last one was "done"."""
    first, frames, last = 0.0, 0, b""
    async for line in reader:
        if line.startswith(b"event: "):
            first = first or (time.perf_counter() - begun) * 1_000
            frames += 1
            last = line
    return first, frames, last.strip() == b"event: done"


async def started(served: Served, count: int) -> None:
    """Start runs at once with a stream each, and print what that took."""
    before = served.used()[0]
    begun = time.perf_counter()

    async def one() -> tuple[float, int, bool]:
        at = time.perf_counter()
        return await read(await served.ask("POST", "/runs", "text/event-stream", {"task": "go"}), at)

    found = await asyncio.gather(*(one() for _ in range(count)))
    took, cpu = time.perf_counter() - begun, served.used()[0] - before
    firsts, frames = sorted(first for first, _, _ in found), sum(frames for _, frames, _ in found)
    p95 = firsts[min(len(firsts) - 1, int(0.95 * len(firsts)))]
    print(
        f"{count:>5} runs at once   first event p50 {statistics.median(firsts):6.0f} ms, p95 {p95:6.0f} ms   "
        f"{sum(done for *_, done in found)} done in {took:5.1f} s   {frames} frames, "
        f"{cpu * 1e6 / frames:5.0f} ms CPU per 1,000 with the runs themselves"
    )


async def unwatched(served: Served, count: int) -> None:
    """Start runs at once without a stream, and print what that took."""
    before = served.used()[0]
    ids = await asyncio.gather(*(served.start() for _ in range(count)))
    await asyncio.sleep(TURNS * (CHUNKS * CHUNK_INTERVAL + TOOL_TIME))
    for id in ids:
        while (await served.get(f"/runs/{id}"))["status"] != "done":
            await asyncio.sleep(0.2)
    print(f"{count:>5} runs without a stream   {served.used()[0] - before:5.1f} s CPU")


async def idle(served: Served, count: int) -> None:
    """Open streams of one run that does nothing, and print their memory."""
    id = await served.start(paused=True)
    before = served.used()[1]
    readers = [await served.ask("GET", f"/runs/{id}/events", "text/event-stream") for _ in range(count)]
    for reader in readers:
        await reader.readuntil(b"event: ")
    after, (cpu, _) = served.used()[1], served.used()
    await asyncio.sleep(5)
    busy = (served.used()[0] - cpu) / 5
    print(f"{count:>5} idle streams   {(after - before) * 1_000 / count:5.0f} kB each, {busy:.1%} of a core")


async def watched(served: Served, count: int) -> None:
    """Open streams of one run that plays, and print how many saw all of it."""
    id = await served.start(paused=True)
    readers = [await served.ask("GET", f"/runs/{id}/events", "text/event-stream") for _ in range(count)]
    for reader in readers:
        await reader.readuntil(b"event: ")
    before, begun = served.used()[0], time.perf_counter()
    await (await served.ask("POST", f"/runs/{id}/resume", data={})).read()
    found = await asyncio.gather(*(read(reader, begun) for reader in readers))
    took, cpu, frames = time.perf_counter() - begun, served.used()[0] - before, sum(n for _, n, _ in found)
    same = len({n for _, n, _ in found}) == 1
    print(
        f"{count:>5} watchers of one run   {sum(done for *_, done in found)} saw the end in {took:.1f} s, "
        f"{'all' if same else 'not all'} as many frames: {found[0][1]}; {cpu * 1e6 / frames:.0f} ms CPU per 1,000 frames"
    )


async def measure(journal: str) -> None:
    """Measure with a journal, and print the table."""
    served = Served(journal)
    try:
        print(f"journal: {journal}")
        await started(served, 1)  # the first request imports what later ones use
        for count in STREAMS:
            await started(served, count)
        await unwatched(served, max(STREAMS))
        await idle(served, IDLE)
        await watched(served, WATCHERS)
    finally:
        assert served.process.stdin is not None
        served.process.stdin.close()
        served.process.wait(30)


if __name__ == "__main__":
    if sys.argv[1:2] == ["server"]:
        server(sys.argv[2])
    else:
        for name in sys.argv[1:] or ("memory", "sqlite"):
            asyncio.run(measure(name))
