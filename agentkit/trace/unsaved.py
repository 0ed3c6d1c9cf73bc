"""Rows that the journal has refused: they wait here in order, and are written before anything else happens."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from agentkit.errors import JournalError

Write = Callable[[], Any]
"""Writes rows and does what follows from them; if it raises `JournalError`, it can be called again to continue."""


class Unsaved:
    """The writes that wait, oldest first, and the `error` with which the journal refused the last one."""

    __slots__ = ("error", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[Write] = deque()
        self.error: JournalError | None = None

    def attempt(self, write: Write) -> None:
        """Do a write now; if the journal refuses it, or if others are waiting already, it has to wait."""
        if self.waiting:
            self.waiting.append(write)
            return
        try:
            write()
        except JournalError as error:
            self.put(write, error)

    def put(self, write: Write, error: JournalError | None) -> None:
        """Add a write that was just refused to those that wait."""
        self.waiting.append(write)
        self.error = error

    def catch_up(self) -> None:
        """Do all waiting writes, in order. Raises `JournalError` if the journal still refuses; the rest then waits."""
        while self.waiting:
            write = self.waiting.popleft()
            try:
                write()
            except JournalError as error:
                self.waiting.appendleft(write)
                self.error = error
                raise
