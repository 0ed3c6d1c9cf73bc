"""Where a tape runs: the transport that records what comes from a host, or plays it.

Imported only with a tape in place, since its classes are those of the HTTP client.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import httpx2

from agentkit.models.transport import clients

if TYPE_CHECKING:
    from agentkit.models.tape import Tape


class Recording:
    """One answer that is being recorded. What a person cut off with a stop is not kept."""

    def __init__(self, tape: Tape, request: httpx2.Request, response: httpx2.Response) -> None:
        self.tape, self.request, self.response = tape, request, response
        self.pieces: list[bytes] = []
        self.broken = ""
        self.keeps = True

    def failed(self, error: BaseException) -> None:
        """Note how the connection ended."""
        if isinstance(error, httpx2.HTTPError):
            self.broken = str(error) or type(error).__name__
        elif not isinstance(error, GeneratorExit):
            self.keeps = self.request.extensions["is_over"]()

    def close(self) -> None:
        """Store it, once."""
        if self.keeps:
            self.keeps = False
            self.tape.keep(self.request, self.response.status_code, self.response.headers, self.pieces, self.broken)


class Deck(httpx2.AsyncBaseTransport):
    """The transport of a client that goes through a tape."""

    def __init__(self, tape: Tape, here: bool) -> None:
        self.tape = tape
        self._client = clients.network(here)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        if (recorded := self.tape.find(request)) is not None:
            return _response(recorded, _Played(recorded))
        response = await self._client.send(request, stream=True)
        return _like(response, _Heard(Recording(self.tape, request, response)))


class _Heard(httpx2.AsyncByteStream):
    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self.recording.response.aiter_raw():
                self.recording.pieces.append(piece)
                yield piece
        except BaseException as error:
            self.recording.failed(error)
            raise

    async def aclose(self) -> None:
        await self.recording.response.aclose()
        self.recording.close()


class _Played(httpx2.AsyncByteStream):
    """Recorded pieces; where the connection broke, it breaks again."""

    def __init__(self, recorded: dict[str, Any]) -> None:
        from agentkit.models.tape import pieces_of

        self.pieces, self.broken = pieces_of(recorded), str(recorded.get("broken", ""))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece
        if self.broken:
            raise httpx2.RemoteProtocolError(self.broken)


def _response(recorded: dict[str, Any], stream: Any) -> httpx2.Response:
    return httpx2.Response(recorded["status"], headers=recorded.get("headers", {}), stream=stream)


def _like(response: httpx2.Response, stream: Any) -> httpx2.Response:
    return httpx2.Response(
        response.status_code, headers=response.headers, stream=stream, extensions=response.extensions
    )
