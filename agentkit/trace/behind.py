"""What the journal refused: it waits here in its order, and is written before anything else happens."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from agentkit.errors import JournalError

Work = Callable[[], Any]
"""Writes rows and does what follows from them; where it raises `JournalError` it can be done once more, from where it was."""


class Behind:
    """The works that wait, the oldest first, and the `error` with which the journal refused the last one."""

    __slots__ = ("error", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[Work] = deque()
        self.error: JournalError | None = None

    def attempt(self, work: Work) -> None:
        """Do a work now; where the journal refuses, or others wait already, it waits its turn."""
        if self.waiting:
            self.waiting.append(work)
            return
        try:
            work()
        except JournalError as error:
            self.put(work, error)

    def put(self, work: Work, error: JournalError) -> None:
        """Let a work wait that was refused just now."""
        self.waiting.append(work)
        self.error = error

    def catch_up(self) -> None:
        """Do all that waits, in order. Raises `JournalError` where the journal still refuses; the rest waits on."""
        while self.waiting:
            work = self.waiting.popleft()
            try:
                work()
            except JournalError as error:
                self.waiting.appendleft(work)
                self.error = error
                raise
