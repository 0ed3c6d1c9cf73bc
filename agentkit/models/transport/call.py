"""One call of a remote model: its chunks, for `async for`, or for `for`, which reads on the private loop.

A chunk with `again` means that the call failed and is tried again: the chunks before it no longer count.
"""

from __future__ import annotations

import queue
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, Protocol

from agentkit.core import background
from agentkit.errors import ModelError, UsageError
from agentkit.models.base import Chunk, Request
from agentkit.models.transport import clients, errors
from agentkit.models.transport.rate_limit import RateLimit
from agentkit.models.transport.retries import Retries
from agentkit.models.transport.stream_reader import StreamReader
from agentkit.models.wire import Endpoint, ReplyParser

CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a connection."""

TIME_FOR_REST = 2.0
"""Seconds that a host has, once its reply is whole, for what comes after it: the usage, and the end of the response."""


TIME_FOR_END = 0.05
"""Seconds in which the response must end after the reply, so that its connection can be kept for the next call."""


class Callee(Protocol):
    """What a call needs to know of its model (`Remote`)."""

    url: str
    is_local: bool
    endpoint: Endpoint
    silence: float
    retries: Retries
    rate_limit: RateLimit

    def headers(self) -> dict[str, str]:
        """Return the headers of a request."""

    def encode(self, request: Request) -> bytes:
        """Return the bytes of a request."""

    def timeout_of(self, request: Request) -> float:
        """Return the seconds that this call may take."""

    def parser(self) -> ReplyParser:
        """Return a parser for one reply."""

    def learn(self, failure: ModelError) -> bool:
        """Leave out from now on what this host does not know; return whether another attempt may help."""


class RemoteCall:
    """The chunks of one call, to be read once.

    Nothing is sent before the first is asked for; leaving before the end closes the connection.
    """

    def __init__(self, model: Callee, request: Request) -> None:
        self.model = model
        self.request = request
        self._timeout = model.timeout_of(request)
        self._silence = min(self._timeout, model.silence)
        self._deadline = 0.0
        self._attempt = 0
        self._is_near_end = False
        self._has_new_connection = False
        self._reader: StreamReader | None = None
        self._chunks: Any = None

    # -- the loop ------------------------------------------------------------------------------------------------------

    async def _read(self) -> AsyncIterator[Chunk]:
        import asyncio
        import contextlib

        self._deadline = time.monotonic() + self._timeout
        while True:
            if not clients.is_replaying():
                self._deadline += await self.model.rate_limit.wait()  # the host is not to blame for our own patience
            try:
                async with (
                    contextlib.aclosing(await self._response()) as response,
                    contextlib.aclosing(response.aiter_bytes()) as pieces,
                ):
                    reader = self._new_reader(response)
                    while not reader.done and (data := await self._next_piece(pieces)):
                        for chunk in reader.feed(data):
                            yield chunk
                    for chunk in reader.end():
                        yield chunk
                    await self._read_end(pieces)
                return
            except Exception as error:
                failure = self._failure(error)
            if failure is None:
                return
            pause = self._pause_or_raise(failure)
            yield Chunk(again=str(failure))
            await asyncio.sleep(pause)

    def __aiter__(self) -> AsyncIterator[Chunk]:
        self._chunks = self._read()
        return self._chunks

    async def aclose(self) -> None:
        """Close the connection, if one is open."""
        if self._chunks is not None:
            await self._chunks.aclose()

    def __iter__(self) -> Iterator[Chunk]:
        if background.on_loop():
            raise UsageError("this is the private event loop, which would wait for itself: use `async for`")
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

    # -- its parts -----------------------------------------------------------------------------------------------------

    async def _response(self) -> Any:
        """Ask the host, and return its response as soon as that begins."""
        import asyncio

        self._attempt += 1
        self._reader = None
        async with asyncio.timeout(self._time_left()):
            headers = background.in_thread(self.model.headers)  # a keyring may ask a person first
            client = clients.client(self.model.is_local)
            sent = self._sent(await asyncio.wrap_future(headers))
            while True:
                self._has_new_connection = False
                try:
                    return await client.send(client.build_request("POST", **sent), stream=True)
                except Exception as error:
                    if self._has_new_connection or not clients.is_broken(error):
                        raise  # else the host had closed a kept connection, and another one is tried

    async def _note_connecting(self, name: str, info: Any) -> None:
        self._has_new_connection = self._has_new_connection or name.startswith("connection.connect")

    async def _read_end(self, pieces: AsyncIterator[bytes]) -> None:
        """Read the end of the response, for a moment: only then can its connection be kept."""
        import asyncio

        try:
            async with asyncio.timeout(TIME_FOR_END):
                await anext(pieces, b"")
        except Exception as error:
            if not clients.is_connection_failure(error):
                raise

    async def _next_piece(self, pieces: AsyncIterator[bytes]) -> bytes:
        """Wait for the next piece of the response, empty at its end; only briefly if the reply is already whole."""
        import asyncio

        if self._is_whole() and not self._is_near_end:
            self._is_near_end, self._deadline = True, min(self._deadline, time.monotonic() + TIME_FOR_REST)
        async with asyncio.timeout(self._time_left()):
            return await anext(pieces, b"")

    def _is_whole(self) -> bool:
        return self._reader is not None and bool(self._reader.parser.finish)

    def _is_over(self) -> bool:
        return self._is_whole() or time.monotonic() >= self._deadline

    def _time_left(self) -> float:
        """Return the seconds that are left for the call. Raises `TimeoutError` if there are none."""
        if (left := self._deadline - time.monotonic()) <= 0:
            raise TimeoutError
        return left

    def _sent(self, headers: dict[str, str]) -> dict[str, Any]:
        """Return what is sent in the next attempt."""
        import httpx2

        left = self._time_left()
        return {
            "url": self.model.url,
            "content": self.model.encode(self.request),
            "headers": headers,
            "timeout": httpx2.Timeout(min(self._silence, left), connect=min(CONNECT_TIMEOUT, left)),
            "extensions": {
                "is_over": self._is_over,  # for a tape: whether the call ended by itself or was stopped
                "trace": self._note_connecting,
            },
        }

    def _new_reader(self, response: Any) -> StreamReader:
        """Return a reader for a response; the body of one that is only an error is read as the reason."""
        refusal = None if response.is_success else response
        self._reader = StreamReader(self.model.parser(), self.model.endpoint, refusal=refusal)
        return self._reader

    def _failure(self, error: Exception) -> ModelError | None:
        """Return an exception as a model error, or None if the reply was whole before it.

        Raises any other exception.
        """
        if isinstance(error, ModelError):
            return error
        if not clients.is_connection_failure(error):
            raise error
        if self._is_whole():
            return None
        if isinstance(error, TimeoutError):
            return errors.timed_out(self.model.endpoint, self._timeout)
        return errors.from_exception(error, self.model.endpoint, self._silence)

    def _pause_or_raise(self, failure: ModelError) -> float:
        """Return the seconds until the next attempt. Raises the failure if there is none."""
        if self.model.learn(failure):
            self._attempt = 0  # it is a different request from now on
            return 0.0
        has_acted = self._reader is not None and self._reader.parser.acted
        pause = None if has_acted else self.model.retries.pause(failure, self._attempt)
        if pause is None or time.monotonic() + pause > self._deadline:
            if self._attempt > 1:
                failure.args = (f"{failure} (It was tried {self._attempt} times.)",)
            raise failure
        return 0.0 if clients.is_replaying() else pause  # a tape needs no rest
