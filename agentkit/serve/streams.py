"""The streams of events that are open: as many clients as like, each at its own pace, of runs here and elsewhere.

A client that leaves does not stop a run, and one that reads slowly loses nothing: the log of the run keeps each event
once, encoded, and a stream is a position in it. A stream of a run that another process holds, or nobody, follows what
is recorded, and goes on with the events of this process as soon as the run is here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from agentkit.errors import AgentkitError
from agentkit.run.run import Run
from agentkit.serve.hub import Hub
from agentkit.serve.log import Log

MAX_STREAMS = 2_000
"""The most streams that are open at once."""

PING = 15.0
"""After how many seconds of silence a comment is sent, so that a line that is dead is noticed."""

SLOW = 60.0
"""How many seconds a client may take to read what was sent to it, until its stream is closed."""

LOOK = 1.0
"""How often, in seconds, a recorded run is looked at again."""

Encode = Callable[[Log, str], AsyncIterator[str]]
"""Yields the texts of a log after the frame with an id."""


class Full(Exception):
    """There are as many streams as there may be."""


def frames(log: Log, after: str) -> AsyncIterator[str]:
    """Return the frames of a log in the form of document 004."""
    return log.stream(after)


class Streams:
    """The open streams of a server. All methods are called on its loop."""

    def __init__(self, hub: Hub, most: int = MAX_STREAMS) -> None:
        self.hub = hub
        self.most = most
        self.open: set[Stream] = set()
        self.is_closing = False
        self._keeping: asyncio.Task[None] | None = None

    def check(self) -> None:
        """Raise `Full` if no other stream may be opened."""
        if len(self.open) >= self.most or self.is_closing:
            raise Full(f"{len(self.open)} streams are open; try again later")

    def stream(self, id: str, after: str = "", encode: Encode = frames) -> Stream:
        """Return the answer that streams the events of a run after the frame with an id."""
        return Stream(self, id, after, encode)

    def add(self, stream: Stream) -> None:
        """Note a stream as open."""
        self.open.add(stream)
        if self._keeping is None or self._keeping.done():
            self._keeping = asyncio.create_task(self._keep())

    async def close(self) -> None:
        """End all streams, as if their runs were silent from now on: clients connect again elsewhere."""
        self.is_closing = True
        if self._keeping is not None:
            self._keeping.cancel()
        for stream in list(self.open):
            stream.end()
        while self.open:
            await asyncio.sleep(0.01)

    async def _keep(self) -> None:
        """Send comments to silent clients, leave those that do not read, and look at recorded runs again."""
        while self.open:
            await asyncio.sleep(LOOK)
            now = time.monotonic()
            for stream in list(self.open):
                stream.keep(now)
            stale = await asyncio.to_thread(self._changed, {s.id: s.run for s in self.open if s.run is not None})
            for stream in list(self.open):
                if stream.id in stale and stream.run is stale[stream.id]:
                    stream.read_again()

    def _changed(self, runs: dict[str, Run]) -> dict[str, Run]:
        """Return those of the runs that another object stands for now."""
        changed = {}
        for id, run in runs.items():
            try:
                if run.control.sealed and self.hub.get(id) is not run:
                    changed[id] = run
            except (AgentkitError, OSError):  # it was deleted, or its journal cannot be read at the moment
                continue
        return changed


class Stream:
    """An ASGI answer: server-sent events, until the run's stream ends, the client leaves, or the server closes."""

    def __init__(self, streams: Streams, id: str, after: str, encode: Encode) -> None:
        self.id = id
        self.run: Run | None = None
        self._streams = streams
        self._last = after
        self._encode = encode
        self._send: Any = None
        self._reading: asyncio.Task[None] | None = None
        self._pinging: asyncio.Task[None] | None = None
        self._is_over = False
        self._heard = time.monotonic()
        self._waits = 0.0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the events."""
        self._send = send
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store"),
            (b"x-accel-buffering", b"no"),
            (b"x-run-id", self.id.encode("latin-1", "replace")),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        self._streams.add(self)
        leaving = asyncio.create_task(_left(receive))
        leaving.add_done_callback(lambda task: self.end())
        try:
            while not self._is_over:
                self._reading = asyncio.create_task(self._read())
                await asyncio.wait([self._reading])
                if not self._reading.cancelled():
                    self._reading.result()
                    break
            if not leaving.done():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._streams.open.discard(self)
            for task in (leaving, self._reading, self._pinging):
                if task is not None:
                    task.cancel()

    async def _read(self) -> None:
        """Send the frames after the last one that was sent."""
        hub = self._streams.hub
        run = self.run = await asyncio.to_thread(hub.get, self.id)
        log = await asyncio.to_thread(Log.of, run)
        async for text in self._encode(log, self._last):
            await self._write(text)
            self._last = last_id(text) or self._last

    async def _write(self, text: str) -> None:
        self._waits = time.monotonic()
        await self._send({"type": "http.response.body", "body": text.encode(), "more_body": True})
        self._heard, self._waits = time.monotonic(), 0.0

    def end(self) -> None:
        """End the stream."""
        self._is_over = True
        if self._reading is not None:
            self._reading.cancel()

    def read_again(self) -> None:
        """Go on with another object of the run."""
        if self._reading is not None:
            self._reading.cancel()

    def keep(self, now: float) -> None:
        """Send a comment if there was nothing else for some time; end the stream if the client does not read."""
        if self._waits and now - self._waits > SLOW:
            self.end()
        elif not self._waits and now - self._heard > PING:
            self._pinging = asyncio.create_task(self._write(": ping\n\n"))


async def _left(receive: Any) -> None:
    """Wait until the client leaves."""
    while (await receive())["type"] != "http.disconnect":
        pass


def last_id(text: str) -> str:
    """Return the id of the last frame in a text that has one, or ""."""
    _, found, rest = f"\n{text}".rpartition("\nid: ")
    return rest.partition("\n")[0] if found else ""
