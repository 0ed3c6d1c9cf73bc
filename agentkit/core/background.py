"""The one private event loop, and the daemon threads beside it.

A run continues after its cell has finished because it is a task of this loop. Synchronous tools and models run in
daemon threads, so that none of them can keep the interpreter from exiting.
"""

from __future__ import annotations

import contextvars
import os
import threading
import time
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Protocol

_lock = threading.Lock()
_loop: Any = None
_loops_of_parents: list[Any] = []
"""Loops of parent processes: a reference is kept, so that nothing here closes a loop that the parent still uses."""


def loop() -> Any:
    """Return the private event loop; its thread is started by the first call."""
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
    """Make a forked process start its own loop: a fork does not copy the thread of the parent's loop."""
    global _lock, _loop
    _loops_of_parents.append(_loop)
    _lock, _loop = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def on_loop() -> bool:
    """Return whether the caller runs in the thread of the private loop."""
    return _loop is not None and getattr(_loop, "_thread_id", None) == threading.get_ident()


def submit(coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
    """Run a coroutine on the private loop, and return a future of its result."""
    import asyncio

    return asyncio.run_coroutine_threadsafe(coroutine, loop())


def in_thread(function: Callable[[], Any]) -> Future[Any]:
    """Run a function in a new daemon thread, in a copy of the caller's context, and return a future of its result.

    An exception of any kind is set on the future.
    """
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()  # from here on it cannot be cancelled, because a thread cannot be
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
    """Wait for a future and return its result; waits in steps of 0.1 s, so that an interrupt is noticed.

    Raises `TimeoutError` after `timeout` seconds.
    """
    from concurrent.futures import wait as wait_for

    end = None if timeout is None else time.monotonic() + timeout
    while not future.done():
        left = 0.1 if end is None else min(0.1, end - time.monotonic())
        if left <= 0:
            raise TimeoutError(f"not finished after {timeout} s")
        wait_for([future], timeout=left)
    return future.result()


def wait_or_stop(future: Future[Any], stop: Callable[[], Any], timeout: float | None = None) -> None:
    """Wait for a future, at most `timeout` seconds; an interrupt calls `stop`, and is raised again."""
    try:
        wait(future, timeout)
    except TimeoutError:
        return
    except KeyboardInterrupt:
        stop()
        raise


class Watched(Protocol):
    """An object with deadlines that a clock watches."""

    def check_deadlines(self, now: float) -> float:
        """Act on the deadlines that have passed at `now`, and return the next one; infinity if there is none."""


class Clock:
    """A clock that checks its members whenever a deadline has passed, in one daemon thread.

    Expecting a deadline costs almost nothing: most deadlines are met, so members are only checked when the earliest
    expected one has passed. All times are those of `time.monotonic()`.
    """

    def __init__(self) -> None:
        self._members: weakref.WeakSet[Any] = weakref.WeakSet()
        self._wakes = float("inf")
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None

    def watch(self, member: Watched) -> None:
        """Start to watch the deadlines of a member."""
        with self._wake:
            self._members.add(member)

    def expect(self, deadline: float) -> None:
        """Make sure that the members are checked when this deadline has passed."""
        if deadline < self._wakes:
            with self._wake:
                self._wakes = min(self._wakes, deadline)
                if self._thread is None or not self._thread.is_alive():
                    self._thread = threading.Thread(target=self._run, name="agentkit-clock", daemon=True)
                    self._thread.start()
                self._wake.notify()

    def _run(self) -> None:
        while True:
            with self._wake:
                while (left := self._wakes - time.monotonic()) > 0:
                    self._wake.wait(min(left, threading.TIMEOUT_MAX))
                self._wakes = float("inf")
                members = list(self._members)
            for member in members:
                self._expect(member.check_deadlines(time.monotonic()))

    def _expect(self, deadline: float) -> None:
        """Note a deadline in the clock's own thread, which reads it before it waits again."""
        with self._wake:
            self._wakes = min(self._wakes, deadline)


CLOCK = Clock()


def _new_clock() -> None:
    """Make a forked process start with a new clock."""
    CLOCK.__init__()  # type: ignore[misc]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_clock)


def timer(seconds: float | None, function: Callable[[], Any]) -> Callable[[], None]:
    """Call `function` after some seconds, or never if that is None, and return a function that cancels the call."""
    if seconds is None:
        return lambda: None
    clock = threading.Timer(seconds, function)
    clock.daemon = True
    clock.start()
    return clock.cancel
