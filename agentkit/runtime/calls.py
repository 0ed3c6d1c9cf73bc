"""How one effect is carried out: in this thread, in a thread of its own, or on the private loop.

Whatever foreign code raises comes back as a value, an `Outcome`: an exception in a future would end the loop that looks at
it (SystemExit), or never reach who waits (StopIteration).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any

from agentkit.core import background, interrupts
from agentkit.core.messages import Reply
from agentkit.core.secrets import Stream
from agentkit.core.text import error_line
from agentkit.errors import ModelError, ModelTimeout, Stopped, ToolError, ToolTimeout
from agentkit.journal.entries import Entry
from agentkit.models import surrogates
from agentkit.models.dialects import thinking_tags
from agentkit.runtime.performer import Effect
from agentkit.runtime.scheduler import Desk

Outcome = tuple[bool, Any]
"""Whether an effect came back, and its value or its exception."""

_PLAIN = frozenset((Reply, str, int, float, bool, type(None)))
"""Types of values that need no waiting for."""


class Halted(Stopped):
    """A stop of this very run has cancelled what a thread was waiting for."""


def call(effect: Effect, desk: Desk) -> Outcome:
    """Carry an effect out in this thread; what must be awaited is awaited on the private loop. A person's interrupt is raised."""
    try:
        value = interrupts.foreign(effect.function, effect.args, effect.kwargs)
        if type(value) in _PLAIN:
            return True, value
        if hasattr(value, "__await__") or (effect.model and hasattr(value, "__aiter__")):
            return _wait(background.submit(settled(lambda: value, effect, desk)), desk)
        if effect.model and hasattr(value, "__iter__"):
            from agentkit.models.stream_collector import collect

            with Chunks(desk, effect) as chunks:
                return True, interrupts.foreign(collect, (value, chunks), {})
        return True, value
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and interrupts.pressed(error):
            raise
        return False, told(effect, error)


def _wait(future: Future[Outcome], desk: Desk) -> Outcome:
    """Wait for what the private loop does; an interrupt cancels it, and so does a stop from another thread."""
    desk.cancellable.add(future)
    try:
        outcome: Outcome = interrupts.foreign(background.wait, (future,), {})
    except CancelledError:
        return False, Halted("it was stopped while it waited")
    except BaseException:
        future.cancel()
        raise
    finally:
        desk.cancellable.discard(future)
    return outcome


async def settled(make: Callable[[], Any], effect: Effect, desk: Desk) -> Outcome:
    """Wait for an awaitable or an asynchronous stream, at most for the effect's timeout."""
    import asyncio

    try:
        async with asyncio.timeout(effect.timeout) as limit:
            return True, await _whole(make(), effect, desk)
    except TimeoutError as error:
        return False, late(effect) if limit.expired() else told(effect, error)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return False, told(effect, error)
    except BaseException as error:
        return False, told(effect, error)


async def _whole(value: Any, effect: Effect, desk: Desk) -> Any:
    if not hasattr(value, "__aiter__"):
        return await value
    from agentkit.models.stream_collector import acollect

    with Chunks(desk, effect) as chunks:
        return await acollect(value, chunks)


def told(effect: Effect, error: BaseException) -> BaseException:
    """Give the error that a job hears of: what a model raises can be tried again, and no person has pressed a key."""
    if effect.model and (not isinstance(error, Exception) or isinstance(error, StopIteration | StopAsyncIteration)):
        failed = ModelError(f"the model raised {error_line(error)}")
        failed.__cause__ = error
        return failed
    return ToolError("it raised KeyboardInterrupt") if isinstance(error, KeyboardInterrupt) else error


def late(effect: Effect) -> Exception:
    """Say that an effect took too long."""
    if effect.model:
        name = getattr(effect.function, "name", "") or "the model"
        return ModelTimeout(f"{name} gave no reply within {effect.timeout:g} s; try again", model=name)
    return ToolTimeout(f"tool timed out after {effect.timeout:g}s")


class Chunks:
    """Tells the listeners of the pieces of a reply, and which step they belong to.

    Thinking in tags is told as reasoning; secrets are masked, also across pieces.
    """

    def __init__(self, desk: Desk, effect: Effect) -> None:
        self._desk = desk
        self._entry = effect.entry or Entry(0, "")
        self._begin()

    def _begin(self) -> None:
        self._text, self._reasoning, self._live, self._half = Stream(), Stream(), thinking_tags.LiveSplitter(), ""

    def __call__(self, chunk: Any) -> None:
        if chunk.again:
            self._begin()
            self._tell("", "", chunk.again)
        said, thought = self._live.feed(chunk.text) if chunk.text else ("", "")
        reasoning, self._half = surrogates.split(self._half + chunk.reasoning) if chunk.reasoning else ("", self._half)
        self._tell(
            self._text.add(said) if said else "",
            self._reasoning.add(reasoning + thought) if reasoning or thought else "",
        )

    def _tell(self, text: str, reasoning: str, again: str = "") -> None:
        entry = self._entry
        if (text or reasoning or again) and not entry.ended:  # one that was given up has ended
            self._desk.emit(
                "model_chunk", path=entry.path, index=entry.index, text=text, reasoning=reasoning, again=again
            )

    def __enter__(self) -> Chunks:
        return self

    def __exit__(self, *error: object) -> None:
        said, thought = self._live.end() or ("", "")
        self._tell(self._text.add(said) + self._text.end(), self._reasoning.add(thought) + self._reasoning.end())


def is_async(function: Any) -> bool:
    """Say whether a function is asynchronous, so that calling it costs nothing and can be cancelled."""
    if getattr(function, "awaits", False):
        return True
    parts = (function, getattr(function, "__call__", None))  # noqa: B004
    return any(inspect.iscoroutinefunction(part) or inspect.isasyncgenfunction(part) for part in parts)


def apart(effect: Effect, desk: Desk) -> Future[Outcome]:
    """Carry an effect out beside this thread: on the private loop where it is asynchronous, else in a thread of its own."""
    if is_async(effect.function):
        return background.submit(settled(lambda: effect.function(*effect.args, **effect.kwargs), effect, desk))
    return background.in_thread(lambda: call(effect, desk))


def outcome_of(future: Future[Outcome]) -> Outcome | None:
    """Give what a finished future holds; nothing for one that was cancelled."""
    return None if future.cancelled() else future.result()
