"""One call of a remote model: read its chunks by `for` or by `async for`; both loops do the same, side by side.

A chunk with `again` says that the call failed and is tried again: what came before it counts no more.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from agentkit.errors import ModelError
from agentkit.models.base import Chunk, Request
from agentkit.models.wire import clients, faults
from agentkit.models.wire.reader import Reader

if TYPE_CHECKING:
    from agentkit.models.remote import Remote

CONNECT = 10.0
"""Seconds to wait for a connection, at the most."""


class Stream:
    """The chunks of one call, to be read once. Nothing is sent before the first is asked for; leaving closes the connection."""

    def __init__(self, model: Remote, request: Request) -> None:
        self.model = model
        self.request = request
        self._timeout = model.timeout_of(request)
        self._silence = min(self._timeout, model.silence)
        self._end = 0.0
        self._tried = 0
        self._reader: Reader | None = None
        self._awaiting: Any = None

    # -- the two loops -----------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Chunk]:
        self._end = time.monotonic() + self._timeout
        while True:
            time.sleep(self.model.turns.take())
            try:
                with clients.blocking(self.model.here).stream("POST", **self._sent()) as response:
                    reader = self._open(response)
                    for data in response.iter_bytes():
                        yield from reader.feed(data)
                        if reader.done or self._is_over():
                            break
                    yield from reader.end()
                return
            except Exception as error:
                failed = self._failed(error)
            if failed is None:
                return
            pause = self._pause(failed)
            yield Chunk(again=str(failed))
            time.sleep(pause)

    async def _read(self) -> AsyncIterator[Chunk]:
        import asyncio

        self._end = time.monotonic() + self._timeout
        while True:
            await asyncio.sleep(self.model.turns.take())
            try:
                async with clients.awaiting(self.model.here).stream("POST", **self._sent()) as response:
                    reader = self._open(response)
                    async for data in response.aiter_bytes():
                        for chunk in reader.feed(data):
                            yield chunk
                        if reader.done or self._is_over():
                            break
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

    # -- what both do ------------------------------------------------------------------------------------------------

    def _sent(self) -> dict[str, Any]:
        """What goes to the socket in the next attempt."""
        import httpx2

        self._tried += 1
        self._reader = None
        left = self._end - time.monotonic()
        if left <= 0:
            raise faults.overdue(self.model.place, self._timeout)
        timeout = httpx2.Timeout(min(self._silence, left), connect=min(CONNECT, left))
        return {
            "url": self.model.url,
            "content": self.model.encode(self.request),
            "headers": self.model.headers(),
            "timeout": timeout,
        }

    def _open(self, response: Any) -> Reader:
        """Begin to read an answer; of one that is only an error, what it says is the whole reply."""
        refusal = None if response.is_success else response
        self._reader = Reader(self.model.wire.reading(self.model), self.model.place, refusal=refusal)
        return self._reader

    def _is_over(self) -> bool:
        if time.monotonic() > self._end:
            raise faults.overdue(self.model.place, self._timeout)
        return False

    def _failed(self, error: Exception) -> ModelError | None:
        """Say what an exception means: None where the reply was whole before it. Anything that is no failure is raised."""
        if isinstance(error, ModelError):
            return error
        if not clients.is_failure(error):
            raise error
        if self._reader is not None and self._reader.reading.finish:
            return None
        return faults.broken(error, self.model.place, self._silence)

    def _pause(self, failed: ModelError) -> float:
        """Give the seconds until the next attempt, or raise the failure."""
        if self.model.learn(failed):
            return 0.0
        acted = self._reader is not None and self._reader.reading.acted
        pause = None if acted else self.model.retries.pause(failed, self._tried)
        if pause is None or time.monotonic() + pause > self._end:
            if self._tried > 1:
                failed.args = (f"{failed} (It was tried {self._tried} times.)",)
            raise failed
        return pause
