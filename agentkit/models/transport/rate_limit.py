"""How often hosts are asked: at most so many requests per minute, evenly spaced."""

from __future__ import annotations

import threading
import time
import uuid
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field

from agentkit.errors import UsageError

_known: weakref.WeakValueDictionary[str, RateLimit] = weakref.WeakValueDictionary()
_guard = threading.Lock()
_processes = 1


def share_among(processes: int) -> None:
    """Let this process take its part of each rate limit: one of so many processes that have the same limits."""
    global _processes
    _processes = max(1, processes)


def _limit(id: str, per_minute: float) -> RateLimit:
    """Return a rate limit that has travelled: in one process, there is one of each."""
    with _guard:
        if (limit := _known.get(id)) is None:
            limit = _known[id] = RateLimit(per_minute, id=id)
        return limit


@dataclass(slots=True, weakref_slot=True, eq=False)
class RateLimit:
    """Lets at most `per_minute` requests begin in a minute, evenly spaced.

    Several models may share one; thread-safe. One that is sent to other processes is shared by all models there that
    had it; each process takes its part of the limit, if it was told how many there are (`share_among`).
    """

    per_minute: float = 0.0
    _next: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    id: str = field(default_factory=lambda: uuid.uuid4().hex, repr=False)

    def __reduce__(self) -> tuple[Callable[[str, float], RateLimit], tuple[str, float]]:
        with _guard:
            _known.setdefault(self.id, self)
        return _limit, (self.id, self.per_minute)

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
            self._next = now + 60.0 * _processes / self.per_minute if self.per_minute else 0.0
            return 0.0
