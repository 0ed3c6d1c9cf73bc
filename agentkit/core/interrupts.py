"""Ctrl-C and the notebook's stop button: they end foreign code at once, and agentkit's own records never.

An interrupt that arrives between the return of a tool and its entry waits until the entry is written.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the module `signal` wraps each call of it in enums, which costs more than a step
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_main = threading.main_thread().ident


def foreign(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call code that is not ours: inside it, an interrupt raises KeyboardInterrupt at once."""
    return function(*args, **kwargs)


def engine(function: Callable[..., Any], *args: Any) -> Any:
    """Call code that runs an engine: like `foreign`, and `interrupt` can end it from another thread."""
    return foreign(function, args, {})


class deferred:
    """Hold interrupts back while agentkit's own code runs in the main thread; leaving raises the one that waits.

    `hit` says whether one waits; `release` raises it earlier. Within another `deferred` it is that one again, so that a
    run that is driven by the tool of another run holds them back as well. Where a program has a handler of its own, or in
    another thread, nothing is held back.
    """

    __slots__ = ("_frames", "_outer", "hit")

    def __enter__(self) -> deferred:
        return self.enter(sys._getframe(1))

    def enter(self, frame: FrameType) -> deferred:
        """Hold interrupts back from here on, in all code that is called from `frame`."""
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
        """Let interrupts through again; one that waits is raised, unless an exception of this `kind` is on its way."""
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
        """Say whether a frame was called by `foreign`, and since then by none of ours; the line of `foreign` itself is ours."""
        if frame is None or frame.f_code is foreign.__code__:
            return False
        while frame is not None and frame not in self._frames:
            if frame.f_code is foreign.__code__:
                return True
            frame = frame.f_back
        return False


class _Pressed(KeyboardInterrupt):
    """An interrupt by a person, which no code has raised; it is shown as what it is."""


_Pressed.__name__ = _Pressed.__qualname__ = "KeyboardInterrupt"


def interrupt(thread: int) -> None:
    """Raise KeyboardInterrupt in another thread, if an engine computes in it now."""
    frame = sys._current_frames().get(thread)
    while frame is not None and frame.f_code is not engine.__code__:
        frame = frame.f_back
    if frame is not None:
        import ctypes

        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Pressed))


def pressed(error: BaseException) -> bool:
    """Return whether a KeyboardInterrupt came from a person, and not from a `raise` in the code that was called."""
    if threading.get_ident() != _main or isinstance(error, _Pressed):
        return isinstance(error, _Pressed)
    return not isinstance(getattr(_signal.getsignal(_signal.SIGINT), "__self__", None), deferred)
