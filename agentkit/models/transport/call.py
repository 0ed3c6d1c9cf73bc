"""One call of a remote model: its chunks, by `async for`, or by `for`, which reads on the private loop.

A chunk with `again` says that the call failed and is tried again: what came before it counts no more.
"""

from __future__ import annotations

import queue
import time
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from agentkit.core import background
from agentkit.errors import ModelError, UsageError
from agentkit.models.base import Chunk, Request
from agentkit.models.transport import clients, errors
from agentkit.models.transport.stream_reader import Reader

if TYPE_CHECKING:
    from agentkit.models.remote import Remote

CONNECT = 10.0
"""Seconds to wait for a connection, at the most."""

AFTER = 2.0
"""Seconds that a host has, once its reply is whole, for what goes with it: the usage, and the end of the answer."""


class Stream:
    """The chunks of one call, to be read once. Nothing is sent before the first is asked for; leaving closes the connection."""

    def __init__(self, model: Remote, request: Request) -> None:
        self.model = model
        self.request = request
        self._timeout = model.timeout_of(request)
        self._silence = min(self._timeout, model.silence)
        self._end = 0.0
        self._tried = 0
        self._resting = False
        self._reader: Reader | None = None
        self._awaiting: Any = None

    # -- the loop ----------------------------------------------------------------------------------------------------

    async def _read(self) -> AsyncIterator[Chunk]:
        import asyncio
        import contextlib

        self._end = time.monotonic() + self._timeout
        while True:
            if not clients.is_played():
                self._end += await self.model.turns.wait()  # the host is not to blame for our own patience
            try:
                async with contextlib.aclosing(await self._answer()) as response:
                    reader = self._open(response)
                    pieces = response.aiter_bytes()
                    while not reader.done and (data := await self._next(pieces)):
                        for chunk in reader.feed(data):
                            yield chunk
                    for chunk in reader.end():
                        yield chunk
                return
            except Exception as error:
                failed = self._failed(error)
            if failed is None:
                return
            pause = self._pause(failed)
            yield Chunk(again=str(failed))
            await asyncio.sleep(pause)

    def __aiter__(self) -> AsyncIterator[Chunk]:
        self._awaiting = self._read()
        return self._awaiting

    async def aclose(self) -> None:
        """Close the connection, if one is open."""
        if self._awaiting is not None:
            await self._awaiting.aclose()

    def __iter__(self) -> Iterator[Chunk]:
        if background.on_loop():
            raise UsageError("an event loop runs here, and would wait for itself: read the chunks with `async for`")
        arrived: queue.SimpleQueue[Chunk | None] = queue.SimpleQueue()

        async def read() -> None:
            try:
                async for chunk in self._read():
                    arrived.put(chunk)
            finally:
                arrived.put(None)

        reading = background.submit(read())
        try:
            while chunk := arrived.get():
                yield chunk
            reading.result()
        finally:
            reading.cancel()

    # -- its parts ---------------------------------------------------------------------------------------------------

    async def _answer(self) -> Any:
        """Ask the host, and give its answer as soon as that begins."""
        import asyncio

        self._tried += 1
        self._reader = None
        async with asyncio.timeout(self._left()):
            asked = background.in_thread(self.model.headers)  # a keyring may ask a person first
            client = clients.client(self.model.here)
            request = client.build_request("POST", **self._sent(await asyncio.wrap_future(asked)))
            return await client.send(request, stream=True)

    async def _next(self, pieces: AsyncIterator[bytes]) -> bytes:
        """Wait for the next piece of the answer, empty at its end; not for long where nothing more has to come."""
        import asyncio

        if self._is_whole() and not self._resting:
            self._resting, self._end = True, min(self._end, time.monotonic() + AFTER)
        async with asyncio.timeout(self._left()):
            return await anext(pieces, b"")

    def _is_whole(self) -> bool:
        return self._reader is not None and bool(self._reader.reading.finish)

    def _is_over(self) -> bool:
        return self._is_whole() or time.monotonic() >= self._end

    def _left(self) -> float:
        """Give the seconds that are left of the call. Raises `TimeoutError` where none are."""
        if (left := self._end - time.monotonic()) <= 0:
            raise TimeoutError
        return left

    def _sent(self, headers: dict[str, str]) -> dict[str, Any]:
        """What goes to the socket in the next attempt."""
        import httpx2

        left = self._left()
        timeout = httpx2.Timeout(min(self._silence, left), connect=min(CONNECT, left))
        return {
            "url": self.model.url,
            "content": self.model.encode(self.request),
            "headers": headers,
            "timeout": timeout,
            "extensions": {"is_over": self._is_over},  # for a tape: whether the host was left, and not stopped
        }

    def _open(self, response: Any) -> Reader:
        """Begin to read an answer; of one that is only an error, what it says is the whole reply."""
        refusal = None if response.is_success else response
        self._reader = Reader(self.model.wire.reading(self.model), self.model.place, refusal=refusal)
        return self._reader

    def _failed(self, error: Exception) -> ModelError | None:
        """Say what an exception means: None where the reply was whole before it. Anything that is no failure is raised."""
        if isinstance(error, ModelError):
            return error
        if not clients.is_failure(error):
            raise error
        if self._is_whole():
            return None
        if isinstance(error, TimeoutError):
            return errors.overdue(self.model.place, self._timeout)
        return errors.broken(error, self.model.place, self._silence)

    def _pause(self, failed: ModelError) -> float:
        """Give the seconds until the next attempt, or raise the failure."""
        if self.model.learn(failed):
            self._tried = 0  # it is another request from now on
            return 0.0
        acted = self._reader is not None and self._reader.reading.acted
        pause = None if acted else self.model.retries.pause(failed, self._tried)
        if pause is None or time.monotonic() + pause > self._end:
            if self._tried > 1:
                failed.args = (f"{failed} (It was tried {self._tried} times.)",)
            raise failed
        return 0.0 if clients.is_played() else pause  # nobody is there to be spared
