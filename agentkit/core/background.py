"""The one private event loop, and the daemon threads beside it.

A run goes on after its cell has ended because it is a task of this loop; synchronous tools and models run in daemon
threads, so that none of them can hold the interpreter back at its end.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")

_lock = threading.Lock()
_loop: Any = None
_left: list[Any] = []
"""Loops of parent processes: kept, so that nothing here closes what is still in use there."""


def loop() -> Any:
    """Give the private event loop; its thread is started by the first who asks."""
    global _loop
    import asyncio

    with _lock:
        if _loop is None or not _loop.is_running():
            started = threading.Event()
            _loop = asyncio.new_event_loop()
            _loop.call_soon(started.set)
            threading.Thread(target=_loop.run_forever, name="agentkit-loop", daemon=True).start()
            started.wait()
        return _loop


def _after_fork() -> None:
    """Let a forked process begin a loop of its own: the thread of its parent's loop did not come along."""
    global _lock, _loop
    _left.append(_loop)
    _lock, _loop = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def on_loop() -> bool:
    """Say whether the caller is the private loop's own thread."""
    return _loop is not None and getattr(_loop, "_thread_id", None) == threading.get_ident()


def submit(coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
    """Run a coroutine on the private loop."""
    import asyncio

    return asyncio.run_coroutine_threadsafe(coroutine, loop())


def in_thread(function: Callable[[], Any]) -> Future[Any]:
    """Run a function in a daemon thread of its own, in a copy of the caller's context; any exception lands in the future."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()  # from here on it cannot be cancelled: a thread cannot be
    context = contextvars.copy_context()

    def work() -> None:
        try:
            value = context.run(function)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(value)

    threading.Thread(target=work, name="agentkit-call", daemon=True).start()
    return future


def wait(future: Future[Any], timeout: float | None = None) -> Any:
    """Wait for a future in steps of 0.1 s, so that an interrupt arrives; raises `TimeoutError` after `timeout` seconds."""
    from concurrent.futures import wait as wait_for

    end = None if timeout is None else time.monotonic() + timeout
    while not future.done():
        left = 0.1 if end is None else min(0.1, end - time.monotonic())
        if left <= 0:
            raise TimeoutError(f"not done after {timeout} s")
        wait_for([future], timeout=left)
    return future.result()


class Mailbox(Generic[Item]):
    """A queue with one reader, whose wait ends in time; anybody may put something in, a signal handler too.

    `queue.SimpleQueue` waits for ever where a signal arrives just as its time is up (seen in CPython 3.11): an interrupt that
    nobody hears.
    """

    def __init__(self) -> None:
        self._items: deque[Item] = deque()
        self._bell = threading.Lock()
        self._bell.acquire()

    def put(self, item: Item) -> None:
        """Put something in; never waits."""
        self._items.append(item)
        with contextlib.suppress(RuntimeError):  # it rings already
            self._bell.release()

    def get(self, seconds: float) -> Item:
        """Take what came first, or wait for it. Raises `TimeoutError` when nothing came in so many seconds."""
        end = time.monotonic() + seconds
        while not self._items:
            if not self._bell.acquire(timeout=max(0.0, end - time.monotonic())):
                raise TimeoutError(f"nothing came in {seconds} s")
        return self._items.popleft()


def timer(seconds: float | None, function: Callable[[], Any]) -> Callable[[], None]:
    """Call `function` after some seconds, unless what this gives is called before."""
    if seconds is None:
        return lambda: None
    clock = threading.Timer(seconds, function)
    clock.daemon = True
    clock.start()
    return clock.cancel
