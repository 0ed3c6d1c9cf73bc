"""A connection to an MCP server, which one task opens, uses and closes; it runs on the loop of a thread of its own.

What a server sends is read on that loop, so a server that floods it delays no run.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from agentkit.core import background
from agentkit.core.secrets import mask
from agentkit.core.text import error_text
from agentkit.errors import UsageError

_TAIL = 2_000
"""How many bytes of what a server wrote to its standard error are kept for the error."""

_CLOSING = 10.0
"""How many seconds to wait for a server to end: it is asked to, then told to, then killed."""


@dataclass(frozen=True, slots=True)
class Target:
    """What to connect to: a URL with headers, or a command with its environment and its working folder."""

    url: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    cwd: str | None = None

    @property
    def text(self) -> str:
        """The URL or the command, without secrets."""
        import shlex

        return mask(self.url or shlex.join(self.command))


class Tail:
    """The end of what a server writes to its standard error; a pipe, because a server may write for ever."""

    def __init__(self) -> None:
        self._kept = b""
        self._ended = threading.Event()

    @contextlib.contextmanager
    def opened(self) -> Iterator[Any]:
        """Open the file that the server is started with."""
        reader, writer = os.pipe()
        threading.Thread(target=self._read, args=(reader,), name="agentkit-mcp-stderr", daemon=True).start()
        with os.fdopen(writer, "w") as file:
            yield file

    def _read(self, reader: int) -> None:
        with open(reader, "rb", buffering=0) as file:
            while data := file.read(65_536):
                self._kept = (self._kept + data)[-_TAIL:]
        self._ended.set()

    def text(self, timeout: float = 0.5) -> str:
        """Return the last lines, without secrets; waits for the end of the output, at most `timeout` seconds."""
        self._ended.wait(timeout)
        return mask(self._kept.decode("utf-8", "replace").strip())


class _Watched:
    """A stream of messages that tells when it has ended."""

    def __init__(self, stream: Any, on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._on_end = on_end

    async def __aenter__(self) -> _Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except BaseException:
            self._on_end()
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Connection:
    """An open connection. `client` is the client of the SDK; `is_lost` tells whether the server is gone."""

    def __init__(self, target: Target, timeout: float) -> None:
        """Connect. Raises `UsageError` if that fails or takes longer than `timeout` seconds."""
        from anyio.from_thread import start_blocking_portal

        self.target = target
        self.is_lost = False
        self.process = os.getpid()
        self._tail = Tail()
        self._opened: Future[Any] = Future()
        self._stack = contextlib.ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal(name="agentkit-mcp"))
        self._bell: Any = None
        self._held = self._portal.start_task_soon(self._hold)
        try:
            self.client = background.wait(self._opened, timeout)
        except BaseException as error:
            self.close()
            if not isinstance(error, Exception):
                raise
            raise UsageError(self._problem(error, timeout)) from error

    async def _hold(self) -> None:
        """Open the connection, wait until it is no longer needed, and close it."""
        import anyio
        from mcp import Client

        self._bell = anyio.Event()
        try:
            async with Client(self._transport(), cache=None) as client:
                self._opened.set_result(client)
                await self._bell.wait()
        except BaseException as error:
            if self._opened.done():
                raise
            self._opened.set_exception(first_error(error))
            if not isinstance(error, Exception):
                raise
        finally:
            self.is_lost = True

    @contextlib.asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        from mcp import StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client

        target = self.target
        async with contextlib.AsyncExitStack() as stack:
            if target.url:
                import httpx2

                timeout = httpx2.Timeout(30, read=300)  # a server may think for a while before it answers
                http = await stack.enter_async_context(httpx2.AsyncClient(headers=target.headers, timeout=timeout))
                read, write = await stack.enter_async_context(streamable_http_client(target.url, http_client=http))
            else:
                command, *args = target.command
                server = StdioServerParameters(command=command, args=args, env=target.env, cwd=target.cwd)
                with self._tail.opened() as errors:
                    read, write = await stack.enter_async_context(stdio_client(server, errlog=errors))
            yield _Watched(read, self._end), write

    def _end(self) -> None:
        self.is_lost = True

    def start(self, ask: Callable[[Any], Awaitable[Any]]) -> Future[Any]:
        """Ask the client for something, on the loop of the connection; cancelling the future cancels the request."""
        future: Future[Any] = self._portal.start_task_soon(ask, self.client)
        return future

    def close(self) -> None:
        """End the connection and the process of the server, which has two seconds to end by itself."""
        if not self._opened.done():
            self._held.cancel()
        elif self._bell is not None:
            with contextlib.suppress(RuntimeError):  # its loop has ended already
                self._portal.start_task_soon(self._bell.set)
        with contextlib.suppress(TimeoutError):
            background.wait(background.in_thread(self._stack.close), _CLOSING)

    def note(self, error: BaseException) -> None:
        """Note whether an error of a request means that the connection is gone."""
        import anyio
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED, INVALID_REQUEST

        error = first_error(error)
        gone = (CONNECTION_CLOSED, INVALID_REQUEST) if self.target.url else (CONNECTION_CLOSED,)  # or a session is
        if isinstance(error, anyio.ClosedResourceError | anyio.BrokenResourceError):
            self.is_lost = True
        elif isinstance(error, MCPError) and error.code in gone:
            self.is_lost = True

    def problem(self, error: BaseException) -> str:
        """Return what was wrong, and the last lines that the server wrote to its standard error."""
        errors = self._tail.text() if self.target.command else ""
        return f"{mask(error_text(first_error(error)))}{f'; its last lines: {errors}' if errors else ''}"

    def _problem(self, error: BaseException, timeout: float) -> str:
        what = self.target.text
        if isinstance(error, TimeoutError):
            return f"the MCP server {what} did not answer within {timeout:g} s; {self.problem(error)}"
        verb = "reached" if self.target.url else "started"
        return f"the MCP server {what} could not be {verb}: {self.problem(error)}"


def first_error(error: BaseException) -> BaseException:
    """Return the first error of nested groups of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
