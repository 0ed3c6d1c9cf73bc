"""Ctrl-C and the notebook's stop button: they end foreign code at once, but never interrupt agentkit's own bookkeeping.

An interrupt that arrives after a tool has returned, but before its entry is written, waits until it is written.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` wraps its values in enums, which costs more than a step
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_main = threading.main_thread().ident


def foreign(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call foreign code and return its result: inside it, an interrupt raises KeyboardInterrupt at once."""
    return function(*args, **kwargs)


def run_engine(function: Callable[..., Any], *args: Any) -> Any:
    """Call code that runs an engine: like `foreign`, and `interrupt` can end it from another thread."""
    return foreign(function, args, {})


class deferred:
    """A context manager that holds interrupts back while agentkit's own code runs in the main thread.

    Leaving it raises the interrupt that waits; `hit` tells whether there is one, and `release` raises it earlier. A
    `deferred` within another returns the outer one, so that a run inside a tool of another run holds interrupts back,
    too. Nothing is held back in other threads, or if the program has installed its own signal handler.
    """

    __slots__ = ("_frames", "_outer", "hit")

    def __enter__(self) -> deferred:
        return self.enter(sys._getframe(1))

    def enter(self, frame: FrameType) -> deferred:
        """Start to hold interrupts back, in all code that is called from `frame`."""
        self.hit = False
        self._outer: deferred | None = None
        if threading.get_ident() == _main:
            handler = _signal.getsignal(_signal.SIGINT)
            if handler is _signal.default_int_handler:
                self._outer, self._frames = self, [frame]
                _signal.signal(_signal.SIGINT, self._handle)
            elif isinstance(outer := getattr(handler, "__self__", None), deferred):
                self._outer = outer
                outer._frames.append(frame)
                return outer
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.leave(sys._getframe(1), kind)

    def leave(self, frame: FrameType, kind: Any) -> None:
        """Let interrupts through again; raise the one that waits, unless an exception (of `kind`) is being raised."""
        outer = self._outer
        if outer is None:
            return
        outer._frames.pop()
        if outer is self:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        if outer.hit and kind is None and (outer is self or outer._in_foreign_code(frame)):
            outer.release()

    def release(self) -> None:
        """Raise the interrupt that was held back, if there was one."""
        if self.hit:
            self.hit = False
            raise _Pressed()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._in_foreign_code(frame):
            raise _Pressed()
        self.hit = True

    def _in_foreign_code(self, frame: FrameType | None) -> bool:
        """Return whether a frame is in code that `foreign` called, with no frame of agentkit in between.

        The frame of `foreign` itself counts as agentkit's own.
        """
        if frame is None or frame.f_code is foreign.__code__:
            return False
        while frame is not None and frame not in self._frames:
            if frame.f_code is foreign.__code__:
                return True
            frame = frame.f_back
        return False


class _Pressed(KeyboardInterrupt):
    """A `KeyboardInterrupt` that came from a person, not from a `raise` in some code."""


_Pressed.__name__ = _Pressed.__qualname__ = "KeyboardInterrupt"


def interrupt(thread: int) -> None:
    """Raise KeyboardInterrupt in another thread, if an engine is running in it."""
    import ctypes  # before the look: an import lets the other thread run on, perhaps out of the engine

    frame = sys._current_frames().get(thread)
    while frame is not None and frame.f_code is not run_engine.__code__:
        frame = frame.f_back
    if frame is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Pressed))


def pressed(error: BaseException) -> bool:
    """Return whether a KeyboardInterrupt came from a person, not from a `raise` in the code that was called."""
    if threading.get_ident() != _main or isinstance(error, _Pressed):
        return isinstance(error, _Pressed)
    return not isinstance(getattr(_signal.getsignal(_signal.SIGINT), "__self__", None), deferred)
