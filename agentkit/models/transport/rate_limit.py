"""How often hosts are asked: at most so many requests per minute, evenly spaced."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from agentkit.errors import UsageError


@dataclass(slots=True)
class RateLimit:
    """Lets at most `per_minute` requests begin in a minute, evenly spaced.

    Several models may share one; thread-safe.
    """

    per_minute: float = 0.0
    _next: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        if not self.per_minute >= 0:
            raise UsageError(f"per_minute must be a number of requests, or 0 for no limit, not {self.per_minute!r}")

    async def wait(self) -> float:
        """Wait for a turn, take it, and return the seconds that this took; a call that is stopped
        meanwhile takes none.
        """
        import asyncio

        began = time.monotonic()
        while left := self._take():
            await asyncio.sleep(left)
        return time.monotonic() - began

    def _take(self) -> float:
        """Take a turn if it is time for one, and return 0; else return the seconds until the next."""
        with self._lock:
            now = time.monotonic()
            if now < self._next:
                return self._next - now
            self._next = now + 60.0 / self.per_minute if self.per_minute else 0.0
            return 0.0
