"""Ctrl-C in a conversation: it is counted and raises nothing, so that it interrupts no work in the middle."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import Any


class Presses:
    """How often Ctrl-C was pressed since `count` was last set to 0."""

    def __init__(self) -> None:
        self.count = 0
        self._raises = False

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
            signal.signal(signal.SIGINT, before)

    @contextlib.contextmanager
    def raising(self) -> Iterator[None]:
        """Raise `KeyboardInterrupt` while something is read that nothing else would end."""
        self._raises = True
        try:
            yield
        finally:
            self._raises = False

    def _note(self, number: int, frame: Any) -> None:
        self.count += 1
        if self._raises:
            raise KeyboardInterrupt
