"""A connection to an MCP server, which one task opens, uses and closes; it runs on the loop of a thread of its own.

What a server sends is read on that loop, so a server that floods it delays no run.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any

from agentkit.core import background
from agentkit.core.secrets import mask
from agentkit.core.text import error_text
from agentkit.errors import UsageError
from agentkit.inert import inert

_TAIL = 2_000
"""How many bytes of what a server wrote to its standard error are kept for the error."""

_MAX_BODY = 32 << 20
"""How long an answer over HTTP may be, in bytes."""

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

    @inert
    def __repr__(self) -> str:
        return f"<Target {self.text}>"

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
    """A stream of messages that tells when it has ended, and when a message cannot be read."""

    def __init__(self, stream: Any, on_end: Callable[[], None], on_garbled: Callable[[Exception], None]) -> None:
        self._stream = stream
        self._on_end = on_end
        self._on_garbled = on_garbled

    async def __aenter__(self) -> _Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            message = await self._stream.__anext__()
        except BaseException:
            self._on_end()
            raise
        if isinstance(message, Exception):
            self._on_garbled(message)
        return message

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Connection:
    """An open connection, with the `client` of the SDK.

    `is_lost` tells whether the server is gone, and `is_stale` whether it refuses this connection and wants a new one.
    """

    def __init__(self, target: Target, timeout: float) -> None:
        """Connect. Raises `UsageError` if that fails or takes longer than `timeout` seconds."""
        from anyio.from_thread import start_blocking_portal

        self.target = target
        self.is_lost = False
        self.is_stale = False
        self.process = os.getpid()
        self._unread = ""
        self._tail = Tail()
        self._opened: Future[Any] = Future()
        self._stack = contextlib.ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal(name="agentkit-mcp"))
        self._asked: set[Future[Any]] = set()
        self._bell: Any = None
        self._loop: Any = None
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
        import asyncio

        import anyio
        from mcp import Client

        self._loop = asyncio.get_running_loop()
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
                headers = {**target.headers, "Accept-Encoding": "identity"}  # a packed answer could be a bomb
                hooks = {"response": [self._see_response]}
                http = await stack.enter_async_context(
                    httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks=hooks)
                )
                read, write = await stack.enter_async_context(streamable_http_client(target.url, http_client=http))
            else:
                command, *args = target.command
                server = StdioServerParameters(command=command, args=args, env=target.env, cwd=target.cwd)
                with self._tail.opened() as errors:
                    read, write = await stack.enter_async_context(stdio_client(server, errlog=errors))
            yield _Watched(read, self._end, self._garbled), write

    def _end(self) -> None:
        self.is_lost = True

    def _garbled(self, error: Exception) -> None:
        self._unread = "it sent a message that cannot be read"

    async def _see_response(self, response: Any) -> None:
        """Note a server that does not know this session: it was started again, and has performed nothing.

        The length of an answer is limited; that of a stream of messages is limited by the SDK, message by message.
        """
        if response.status_code in (400, 404) and "mcp-session-id" in response.request.headers:
            self.is_stale = True
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            response.stream = _limited(response)

    @property
    def is_usable(self) -> bool:
        """Whether a request of this process can be answered."""
        return not (self.is_lost or self.is_stale) and self.process == os.getpid()

    def start(self, ask: Callable[[Any], Coroutine[Any, Any, Any]]) -> Future[Any]:
        """Ask the client for something, on the loop of the connection; cancelling the future cancels the request."""
        import asyncio

        coroutine = ask(self.client)
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:  # the loop has ended
            coroutine.close()
            raise
        self._asked.add(future)
        future.add_done_callback(self._asked.discard)
        return future

    def close(self, patience: float = 1.0) -> None:
        """End the connection and the process of the server, which has two seconds to end by itself.

        What was asked fails at once. What is then asked of a new connection instead has `patience` seconds.
        """
        if self.process != os.getpid():  # a forked process has neither the loop nor the server
            return
        if not self._opened.done():
            self._held.cancel()
        elif self._bell is not None:
            with contextlib.suppress(RuntimeError):  # its loop has ended already
                self._portal.start_task_soon(self._bell.set)
        wait([*self._asked], patience)
        with contextlib.suppress(TimeoutError):
            background.wait(background.in_thread(self._stack.close), _CLOSING)

    def note(self, error: BaseException) -> None:
        """Note whether an error of a request means that the connection is gone."""
        import anyio
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        error = first_error(error)
        if isinstance(error, anyio.ClosedResourceError | anyio.BrokenResourceError) or (
            isinstance(error, MCPError) and error.code == CONNECTION_CLOSED
        ):
            self.is_lost = True

    def problem(self, error: BaseException) -> str:
        """Return what was wrong, and the last lines that the server wrote to its standard error."""
        errors = self._tail.text() if self.target.command else ""
        what = mask(reason(error))
        return "; ".join(filter(None, (what, self._unread, f"its last lines: {errors}" if errors else "")))

    def _problem(self, error: BaseException, timeout: float) -> str:
        if isinstance(error, TimeoutError):
            return self.late(timeout)
        verb = "reached" if self.target.url else "started"
        return f"the MCP server {self.target.text} could not be {verb}: {self.problem(error)}"

    def late(self, timeout: float) -> str:
        """Return an error for a server that did not answer in time."""
        return self.problem(TimeoutError(f"the MCP server {self.target.text} did not answer within {timeout:g} s"))


def _limited(response: Any) -> Any:
    """Return the body of a response, which raises an error if it is too long or packed."""
    import httpx2

    stream = response.stream
    is_packed = response.headers.get("content-encoding", "identity") != "identity"

    class Limited(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for part in stream:
                size += len(part)
                if is_packed or size > _MAX_BODY:
                    what = "packed" if is_packed else f"longer than {_MAX_BODY >> 20} MB"
                    raise httpx2.StreamError(f"the answer of the server is {what}")
                yield part

        async def aclose(self) -> None:
            await stream.aclose()

    return Limited()


def reason(error: BaseException) -> str:
    """Return what is wrong, in one line."""
    from pydantic import ValidationError

    error = first_error(error)
    if isinstance(error, ValidationError):
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        return f"its answer does not follow the protocol ({'.'.join(map(str, fault['loc']))}: {fault['msg']})"
    return error_text(error) or type(error).__name__


def first_error(error: BaseException) -> BaseException:
    """Return the first error of nested groups of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
