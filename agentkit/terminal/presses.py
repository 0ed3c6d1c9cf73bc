"""Ctrl-C in a conversation: it is counted and raises nothing, so that it interrupts no work in the middle."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Any, NoReturn


class Presses:
    """How often Ctrl-C was pressed since `count` was last set to 0. `on_press` is called after each press.

    If `is_over` is set, further presses are ignored, so that they do not interrupt the end of the program.
    """

    def __init__(self) -> None:
        self.count = 0
        self.is_over = False
        self.on_press: Callable[[], Any] = int

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """Count from now on, unless Ctrl-C is ignored, as in a job in the background of a shell."""
        before = signal.getsignal(signal.SIGINT)
        if before is signal.SIG_IGN:
            yield
            return
        signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN if self.is_over else before)

    @contextlib.contextmanager
    def telling(self, on_press: Callable[[], Any]) -> Iterator[None]:
        """Call `on_press` after each press while something is read; it may raise `KeyboardInterrupt`."""
        self.on_press = on_press
        try:
            yield
        finally:
            self.on_press = int

    def press(self) -> None:
        """Count one press."""
        self.count += 1
        self.on_press()

    def _note(self, number: int, frame: Any) -> None:
        self.press()


def interrupt() -> NoReturn:
    """Raise `KeyboardInterrupt`."""
    raise KeyboardInterrupt
