"""Calling foreign code: models and tools, synchronous or asynchronous, with time limits.

A synchronous call is made in the current thread. Awaitables are awaited on the private event loop, where they can be
cancelled.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import CancelledError, Future
from itertools import islice
from typing import Any

from agentkit.core import background, interrupts
from agentkit.core.messages import Reply
from agentkit.core.secrets import Stream, mask
from agentkit.core.text import error_line
from agentkit.core.usage import Usage
from agentkit.errors import ModelError, ModelTimeout, Stopped, ToolError, ToolTimeout
from agentkit.models import surrogates
from agentkit.models.dialects import thinking_tags
from agentkit.runtime.in_flight import InFlight
from agentkit.runtime.listeners import Listeners

_PLAIN = frozenset((Reply, str, int, float, bool, type(None)))
"""Types of values that are never awaited."""


_LAZY = ("builtins", "itertools")
"""The modules of generators, `map`, `filter`, `zip` and the like; an iterator of another module may be anything."""

MAX_ITEMS = 100_000
"""How many values of a generator are read."""
_NOT_READ = f"[more than {MAX_ITEMS:,} values: the others were not read]"


def call_tool(function: Callable[..., Any], arguments: dict[str, Any], flight: InFlight, limit: float | None) -> Any:
    """Call a tool and return its result, a list instead of a generator. Raises the tool's error, or `ToolTimeout`."""
    try:
        value = _call(function, (), arguments, flight, limit)
        if isinstance(value, Future):  # of another loop or pool, and cancelled with the call
            value = _wait(value, flight)
        if type(value) not in _PLAIN and hasattr(value, "__await__"):
            value = _wait(background.submit(_in_time(value, flight, ToolTimeout)), flight)
        if type(value) in _PLAIN:
            return value
        if isinstance(value, Iterator) and type(value).__module__ in _LAZY:
            value = contextvars.copy_context().run(interrupts.foreign, list, (islice(value, MAX_ITEMS + 1),), {})
            value[MAX_ITEMS:] = [_NOT_READ] if len(value) > MAX_ITEMS else []
        elif isinstance(value, AsyncGenerator):
            value = _wait(background.submit(_in_time(_listed(value), flight, ToolTimeout)), flight)
    finally:
        flight.deadline = float("inf")
    return value


def call_model(model: Any, request: Any, flight: InFlight, limit: float | None, listeners: Listeners) -> Any:
    """Call a model and return what it returns, usually a reply; its chunks are sent to the listeners.

    Raises the model's error, `ModelTimeout`, or `ModelError` if the model raises anything but an `Exception`.
    """
    try:
        value = _call(model, (request,), {}, flight, limit)
        if type(value) in _PLAIN:
            return value
        if hasattr(value, "__await__") or hasattr(value, "__aiter__"):
            return _wait(background.submit(_in_time(_gathered(value, flight, listeners), flight, ModelTimeout)), flight)
        if hasattr(value, "__iter__"):
            from agentkit.models.stream_collector import collect

            with Chunks(flight, listeners) as chunks:
                return contextvars.copy_context().run(interrupts.foreign, collect, (value, chunks), {})
        return value
    except BaseException as error:
        raise as_model_error(error) from error.__cause__
    finally:
        flight.deadline = float("inf")


def _call(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], flight: InFlight, limit: float | None
) -> Any:
    """Call a function in a copy of the current context, so that context variables that it sets do not last."""
    if flight.seconds is not None:
        limit = flight.seconds if limit is None else min(limit, flight.seconds)
    flight.limit = limit
    if limit is not None and not is_async(function):
        flight.deadline = deadline = time.monotonic() + limit
        background.CLOCK.expect(deadline)
    flight.has_begun = True  # before the check: a call that is given up at this moment is counted, or it is not made
    if flight.given_up:
        raise Stopped("it was given up before it started")
    return contextvars.copy_context().run(interrupts.foreign, function, args, kwargs)


def is_async(function: Any) -> bool:
    """Return whether a function is asynchronous, so that the call returns at once and its result can be cancelled."""
    if getattr(function, "awaits", False):
        return True
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None) or getattr(getattr(type(function), "__call__", None), "__code__", None)  # noqa: B004
    return code is not None and bool(code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR))


def _wait(future: Future[Any], flight: InFlight) -> Any:
    """Wait for a future of the private loop; an interrupt or a stop from another thread cancels it."""
    flight.future = future
    if flight.cancelled:
        future.cancel()
    raised: BaseException
    try:
        if threading.current_thread() is threading.main_thread():
            return interrupts.foreign(background.wait, (future,), {})  # in short steps, so that interrupts are noticed
        return future.result()
    except CancelledError:
        if flight.cancelled:
            raise Stopped("it was stopped while it was waiting") from None
        raised = RuntimeError("its task was cancelled")
    except _Foreign as error:
        raised = error.error
    except BaseException:
        future.cancel()
        raise
    finally:
        flight.future = None
    raise raised


async def _in_time(awaitable: Any, flight: InFlight, late: type[ModelTimeout] | type[ToolTimeout]) -> Any:
    """Await an awaitable within the time limit of the flight. Raises `_Foreign`, which wraps any error."""
    import asyncio

    try:
        async with asyncio.timeout(flight.limit) as limit:
            return await awaitable
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        is_late = isinstance(error, TimeoutError) and limit.expired()
        raise _Foreign(late_error(flight, late) if is_late else error) from None


async def _listed(values: AsyncGenerator[Any, None]) -> list[Any]:
    """Return the values of an asynchronous generator."""
    listed: list[Any] = []
    async for value in values:
        listed.append(value if len(listed) < MAX_ITEMS else _NOT_READ)
        if len(listed) > MAX_ITEMS:
            break
    return listed


class _Foreign(Exception):
    """A wrapper that carries any exception of foreign code out of its task, with only the exception's own frames."""

    def __init__(self, error: BaseException) -> None:
        frames = error.__traceback__
        self.error = error.with_traceback(frames.tb_next if frames is not None else None)


async def _gathered(value: Any, flight: InFlight, listeners: Listeners) -> Any:
    if not hasattr(value, "__aiter__"):
        return await value
    from agentkit.models.stream_collector import acollect

    with Chunks(flight, listeners) as chunks:
        return await acollect(value, chunks)


def as_model_error(error: BaseException) -> BaseException:
    """Return the error to raise for an error of a model: one that can be tried again, unless a person interrupted."""
    if isinstance(error, Stopped) or (isinstance(error, KeyboardInterrupt) and interrupts.pressed(error)):
        return error
    if isinstance(error, Exception) and not isinstance(error, StopIteration | StopAsyncIteration):
        return error
    failed = ModelError(f"the model raised {error_line(error)}")
    failed.__cause__ = error
    return failed


def late_error(flight: InFlight, kind: type[ModelTimeout] | type[ToolTimeout]) -> Exception:
    """Return the error for a call that took too long."""
    if kind is ToolTimeout:
        return ToolTimeout(f"tool timed out after {flight.limit:g}s")
    name = flight.entry.model or "the model"
    return ModelTimeout(f"{name} did not reply within {flight.limit:g} s; try again", model=name)


def tool_error(error: BaseException) -> BaseException:
    """Return the error to show for an error of a tool; a KeyboardInterrupt that no person caused is an error, too."""
    return ToolError("it raised KeyboardInterrupt") if isinstance(error, KeyboardInterrupt) else error


class Chunks:
    """A function that sends the pieces of a reply to the listeners, with the step that they belong to.

    Thinking in tags is sent as reasoning; secrets are masked, even if they are split between pieces.
    """

    def __init__(self, flight: InFlight, listeners: Listeners) -> None:
        self._flight = flight
        self._listeners = listeners
        self._used_before = Usage()
        self._begin()

    def _begin(self) -> None:
        self._text, self._reasoning, self._live, self._half = Stream(), Stream(), thinking_tags.LiveSplitter(), ""

    def __call__(self, chunk: Any) -> None:
        if chunk.again:
            self._flight.entry.streamed = 0.0
            self._used_before = self._flight.used or Usage()
            self._begin()
            self._tell("", "", chunk.again)
        if chunk.usage:
            self._flight.used = self._used_before + chunk.usage
        if not self._flight.entry.streamed and (chunk.text or chunk.reasoning or chunk.call):
            self._flight.entry.streamed = time.time()
        text, thought = self._live.feed(chunk.text) if chunk.text else ("", "")
        reasoning = ""
        if chunk.reasoning:
            reasoning, self._half = surrogates.split(self._half + chunk.reasoning)
        text = self._text.add(text) if text else ""
        self._tell(text, self._reasoning.add(reasoning + thought) if reasoning or thought else "")

    def _tell(self, text: str, reasoning: str, again: str = "") -> None:
        pending = self._flight.pending
        if (text or reasoning or again) and not self._flight.given_up and self._listeners:
            data = {"path": pending.path, "index": pending.index, "text": text, "reasoning": reasoning}
            self._listeners.tell_masked("model_chunk", {**data, "again": mask(again)})

    def __enter__(self) -> Chunks:
        return self

    def __exit__(self, *error: object) -> None:
        text, thought = self._live.end() or ("", "")
        self._tell(self._text.add(text) + self._text.end(), self._reasoning.add(thought) + self._reasoning.end())
