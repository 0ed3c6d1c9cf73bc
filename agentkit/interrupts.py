"""Ctrl-C and the notebook's stop button: they end foreign code at once, and agentkit's own records never.

An interrupt that arrives between the return of a tool and its entry waits until the entry is written.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the module `signal` wraps each call of it in enums, which costs more than a step
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_main = threading.main_thread().ident


def foreign(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call code that is not ours: inside it, an interrupt raises KeyboardInterrupt at once."""
    return function(*args, **kwargs)


class deferred:
    """Hold interrupts back while agentkit's own code runs in the main thread; leaving raises the one that waits.

    `hit` says whether one waits; `release` raises it earlier. Within another `deferred` it is that one again. Where a
    program has a handler of its own, or in another thread, nothing is held back.
    """

    __slots__ = ("_mine", "hit")

    def __enter__(self) -> deferred:
        self.hit = self._mine = False
        if threading.get_ident() == _main:
            handler = _signal.getsignal(_signal.SIGINT)
            if handler is _signal.default_int_handler:
                self._mine = True
                _signal.signal(_signal.SIGINT, self._handle)
            elif isinstance(outer := getattr(handler, "__self__", None), deferred):
                return outer
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._mine:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)
            if self.hit and kind is None:
                self.release()

    def release(self) -> None:
        """Raise the interrupt that was held back, if there was one."""
        if self.hit:
            self.hit = False
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if _in_foreign_code(frame):
            raise KeyboardInterrupt
        self.hit = True


def _in_foreign_code(frame: FrameType | None) -> bool:
    """Say whether the interrupted frame was called by `foreign`; the line of `foreign` itself is still ours."""
    if frame is None or frame.f_code is foreign.__code__:
        return False
    while frame is not None:
        if frame.f_code is foreign.__code__:
            return True
        frame = frame.f_back
    return False
