"""How one effect is carried out: in this thread, in a thread of its own, or on the private loop."""

from __future__ import annotations

import inspect
from concurrent.futures import Future
from typing import Any

from agentkit import background, interrupts
from agentkit.desk import Desk
from agentkit.errors import ToolError, ToolTimeout
from agentkit.host import Effect
from agentkit.messages import Reply

Outcome = tuple[bool, Any]
"""Whether an effect came back, and its value or its exception."""


_PLAIN = frozenset((Reply, str, int, float, bool, type(None)))
"""Types of values that need no waiting for."""


def call(effect: Effect, desk: Desk) -> Any:
    """Carry an effect out in this thread; what must be awaited is awaited on the private loop."""
    value = interrupts.foreign(effect.function, effect.args, effect.kwargs)
    if type(value) in _PLAIN:
        return value
    if hasattr(value, "__await__") or (effect.model and hasattr(value, "__aiter__")):
        future = background.submit(settle(value, effect, desk))
        try:
            return interrupts.foreign(background.wait, (future,), {})
        except Raised as raised:
            raise raised.error from None
        except BaseException:
            future.cancel()
            raise
    if effect.model and hasattr(value, "__iter__"):
        from agentkit.models.adapt import collect

        return interrupts.foreign(collect, (value, lambda chunk: chunk_event(desk, chunk)), {})
    return value


class Raised(Exception):
    """Carries out of the event loop what would otherwise end the loop itself: a tool that raised SystemExit, say."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


async def settle(value: Any, effect: Effect, desk: Desk) -> Any:
    """Wait for an awaitable or an asynchronous stream, at most for the effect's timeout."""
    import asyncio

    async def whole() -> Any:
        if hasattr(value, "__aiter__"):
            from agentkit.models.adapt import acollect

            return await acollect(value, lambda chunk: chunk_event(desk, chunk))
        return await value

    try:
        async with asyncio.timeout(effect.timeout) as limit:
            return await whole()
    except TimeoutError as error:
        if limit.expired():
            raise late(effect) from error
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise Raised(error) from None
    except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
        raise Raised(error) from None


def late(effect: Effect) -> Exception:
    """Say that an effect took too long."""
    if effect.model:
        return TimeoutError(f"the model gave no reply within {effect.timeout:g} s")
    return ToolTimeout(f"tool timed out after {effect.timeout:g}s")


def chunk_event(desk: Desk, chunk: Any) -> None:
    """Tell the listeners of a piece of a reply."""
    desk.emit("model_chunk", text=chunk.text, reasoning=chunk.reasoning)


def is_async(function: Any) -> bool:
    """Say whether a function is asynchronous, so that calling it costs nothing and can be cancelled."""
    parts = (function, getattr(function, "__call__", None))  # noqa: B004
    return any(inspect.iscoroutinefunction(part) or inspect.isasyncgenfunction(part) for part in parts)


def apart(effect: Effect, desk: Desk) -> Future[Any]:
    """Carry an effect out beside this thread: on the private loop where it is asynchronous, else in a thread of its own."""
    if is_async(effect.function):
        return background.submit(settle(effect.function(*effect.args, **effect.kwargs), effect, desk))
    return background.in_thread(lambda: call(effect, desk))


def outcome_of(future: Future[Any] | Any) -> Outcome | None:
    """Give what a finished future holds; nothing for a cancelled one."""
    if future.cancelled():
        return None
    error = future.exception()
    if error is None:
        return True, future.result()
    error = error.error if isinstance(error, Raised) else error
    if isinstance(error, KeyboardInterrupt):  # beside the main thread no person has pressed it
        error = ToolError("it raised KeyboardInterrupt")
    return False, error
