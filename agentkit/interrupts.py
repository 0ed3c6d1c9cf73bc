"""Ctrl-C and the notebook's stop button: they end foreign code at once, and agentkit's own records never.

An interrupt that arrives between the return of a tool and its entry waits until the entry is written.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


def foreign(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call code that is not ours: inside it, an interrupt raises KeyboardInterrupt at once."""
    return function(*args, **kwargs)


class Guard:
    """What `deferred` gives: whether an interrupt waits; `release` raises it."""

    __slots__ = ("hit",)

    def __init__(self) -> None:
        self.hit = False

    def release(self) -> None:
        """Raise the interrupt that was held back, if there was one."""
        if self.hit:
            self.hit = False
            raise KeyboardInterrupt


class deferred:
    """Hold interrupts back while agentkit's own code runs in the main thread; leaving raises the one that waits."""

    __slots__ = ("guard", "previous")

    def __enter__(self) -> Guard:
        self.guard = Guard()
        self.previous: Any = None
        if threading.current_thread() is threading.main_thread():
            previous = signal.getsignal(signal.SIGINT)
            if previous is signal.default_int_handler:
                self.previous = previous
                signal.signal(signal.SIGINT, self._handle)
        return self.guard

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self.previous is not None:
            signal.signal(signal.SIGINT, self.previous)
        if kind is None:
            self.guard.release()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if _in_foreign_code(frame):
            raise KeyboardInterrupt
        self.guard.hit = True


def _in_foreign_code(frame: FrameType | None) -> bool:
    """Say whether the interrupted frame was called by `foreign`, or waits in a lock of the standard library."""
    if frame is None or frame.f_code is foreign.__code__:
        return False
    while frame is not None:
        if frame.f_code is foreign.__code__:
            return True
        frame = frame.f_back
    return False
