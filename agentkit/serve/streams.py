"""The streams of events that are open: as many clients as there are, each at its own pace.

A client that leaves does not stop a run, and one that reads slowly loses nothing: the log of a run has each frame once,
and a stream is a position in it. A stream of a run that another process holds, or nobody, follows what is recorded, and
goes on with the events of this process as soon as the run is here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any

from agentkit.errors import AgentkitError
from agentkit.run.run import Run
from agentkit.serve.hub import Hub
from agentkit.serve.log import PING_INTERVAL, Log

MAX_STREAMS = 2_000
"""The most streams that are open at once."""

SLOW = 60.0
"""The seconds after which a client that does not read is given up."""

LOOK = 1.0
"""After how many seconds a recorded run is looked at again."""


Texts = Callable[[Run, str], AsyncGenerator[str, None]]
"""Returns what is sent of a run after the frame with an id; each text is whole server-sent events."""


def frames(run: Run, after: str) -> AsyncGenerator[str, None]:
    """Return the frames of a run after the one with an id, as document 004 has them."""
    return Log.of(run).stream(after)


class Full(Exception):
    """There are as many streams as there may be."""


class Streams:
    """The open streams of a server. All methods are called on its loop.

    `slow` is how many seconds a client may take to read what was sent to it, until its stream is given up.
    """

    def __init__(self, hub: Hub, most: int = MAX_STREAMS, slow: float = SLOW) -> None:
        self.hub = hub
        self.open: set[Stream] = set()
        self.slow = slow
        self._most = most
        self._is_closing = False
        self._keeping: asyncio.Task[None] | None = None

    def check(self) -> None:
        """Raise `Full` if no other stream may be opened."""
        if len(self.open) >= self._most or self._is_closing:
            raise Full(f"{len(self.open)} streams are open; try again later")

    def add(self, stream: Stream) -> None:
        """Note a stream as open."""
        self.open.add(stream)
        if self._keeping is None or self._keeping.done():
            self._keeping = asyncio.create_task(self._keep())

    async def close(self) -> None:
        """End all streams."""
        self._is_closing = True
        if self._keeping is not None:
            self._keeping.cancel()
        for stream in list(self.open):
            stream.end()
        while self.open:
            await asyncio.sleep(0.01)

    async def _keep(self) -> None:
        """Give up clients that do not read, and look at recorded runs again."""
        while self.open:
            await asyncio.sleep(LOOK)
            now = time.monotonic()
            for stream in list(self.open):
                if stream.waits_since and now - stream.waits_since > self.slow:
                    stream.end()
            changed = await asyncio.to_thread(self._changed, {stream.run.id: stream.run for stream in self.open})
            for stream in list(self.open):
                if stream.run is changed.get(stream.run.id):
                    stream.read_again()

    def _changed(self, runs: dict[str, Run]) -> dict[str, Run]:
        """Return those of the runs that are read-only and have changed, or that another object stands for now."""
        changed = {}
        for id, run in runs.items():
            with suppress(AgentkitError, OSError):  # it was deleted, or its journal cannot be read at the moment
                if run.control.sealed and self.hub.get(id) is not run:
                    changed[id] = run
        return changed


class Stream:
    """An ASGI answer: what happens in a run, as server-sent events.

    It ends where the run's stream ends, when the client leaves, or when the server closes. `waits_since` is the time
    since which the client has not read, by the monotonic clock; 0 if it reads.
    """

    def __init__(self, streams: Streams, run: Run, after: str = "", texts: Texts = frames) -> None:
        self.run = run
        self.waits_since = 0.0
        self._streams = streams
        self._last = after
        self._texts = texts
        self._send: Any = None
        self._reading: asyncio.Task[None] | None = None
        self._is_over = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the frames."""
        self._send = send
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store"),
            (b"x-accel-buffering", b"no"),
            *run_header(self.run.id),
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
                self.run = await asyncio.to_thread(self._streams.hub.get, self.run.id)
            if not leaving.done():
                with suppress(TimeoutError):
                    async with asyncio.timeout(1):
                        await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._streams.open.discard(self)
            leaving.cancel()
            self.end()

    async def _read(self) -> None:
        """Send the frames after the last one that was sent, until the run's stream ends."""
        run, is_done = self.run, False
        async with aclosing(self._texts(run, self._last)) as texts:
            async for text in texts:
                await self._write(text)
                is_done = _last_of(text, "event: ") == "done"
        while run.control.sealed and run.answer is None and not is_done:  # until it is read again
            await asyncio.sleep(PING_INTERVAL)
            await self._write(": ping\n\n")

    async def _write(self, text: str) -> None:
        self.waits_since = time.monotonic()
        await self._send({"type": "http.response.body", "body": text.encode(), "more_body": True})
        self.waits_since = 0.0
        self._last = _last_of(text, "id: ") or self._last

    def end(self) -> None:
        """End the stream."""
        self._is_over = True
        self.read_again()

    def read_again(self) -> None:
        """Go on with the object that stands for the run now."""
        if self._reading is not None:
            self._reading.cancel()


def run_header(id: str) -> list[tuple[bytes, bytes]]:
    """Return the header with the id of a run; none if the id, which may be one of a file, has more than letters."""
    return [(b"x-run-id", id.encode())] if id.isascii() and id.isalnum() else []


async def _left(receive: Any) -> None:
    """Wait until the client leaves."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _last_of(text: str, name: str) -> str:
    """Return what follows the last line of some frames that begins with a name, or ""."""
    _, found, rest = f"\n{text}".rpartition(f"\n{name}")
    return rest.partition("\n")[0] if found else ""
