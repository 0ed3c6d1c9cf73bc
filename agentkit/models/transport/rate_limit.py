"""How often hosts are asked: at most so many requests per minute, evenly spaced."""

from __future__ import annotations

import math
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from agentkit.core.log import logger
from agentkit.errors import AgentkitError, UsageError

TakeTurn = Callable[[str, float], float]
"""Takes the next turn of the limit with this id, whose turns are so many seconds apart, where processes share it.

It returns 0, or the seconds until there is a turn. Raises `AgentkitError` if the place cannot be reached.
"""

_known: weakref.WeakValueDictionary[str, RateLimit] = weakref.WeakValueDictionary()
_guard = threading.Lock()
_processes = 1
_arriving = threading.local()


def share_among(processes: int) -> None:
    """Let this process take its part of each rate limit: one of so many processes that have the same limits."""
    global _processes
    _processes = max(1, processes)


@contextmanager
def arriving() -> Iterator[list[RateLimit]]:
    """Yield a list of the rate limits that arrive in this thread from another process, until the block ends."""
    _arriving.limits = limits = list[RateLimit]()
    try:
        yield limits
    finally:
        del _arriving.limits


def _limit(id: str, per_minute: float) -> RateLimit:
    """Return a rate limit that has travelled: in one process, there is one of each."""
    with _guard:
        if (limit := _known.get(id)) is None:
            limit = _known[id] = RateLimit(per_minute, id=id)
    getattr(_arriving, "limits", []).append(limit)
    return limit


@dataclass(slots=True, weakref_slot=True, eq=False)
class RateLimit:
    """Lets at most `per_minute` requests begin in a minute, evenly spaced.

    Several models may share one; thread-safe. One that is sent to other processes is shared by all models there that
    had it. The processes take turns if there is a place where they can (`take_turn`); else each takes its part of the
    limit, if it was told how many there are (`share_among`).
    """

    per_minute: float = 0.0
    take_turn: TakeTurn | None = field(default=None, repr=False)
    _next: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    id: str = field(default_factory=lambda: uuid.uuid4().hex, repr=False)

    def __reduce__(self) -> tuple[Callable[[str, float], RateLimit], tuple[str, float]]:
        with _guard:
            _known.setdefault(self.id, self)
        return _limit, (self.id, self.per_minute)

    def __post_init__(self) -> None:
        number = self.per_minute
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < math.inf:
            raise UsageError(f"per_minute must be a number of requests, or 0 for no limit, not {number!r:.100}")

    async def wait(self) -> float:
        """Wait for a turn, take it, and return the seconds that this took; a call that is stopped
        meanwhile takes none.
        """
        import asyncio

        began = time.monotonic()
        while left := await self._turn():
            await asyncio.sleep(left)
        return time.monotonic() - began

    async def _turn(self) -> float:
        """Take a turn if it is time for one, and return 0; else return the seconds until the next."""
        import asyncio

        if not self.per_minute:
            return 0.0
        if self.take_turn is None:
            return self._take(self._space * _processes)
        if left := self._take(self._space):
            return left
        try:
            left = await asyncio.to_thread(self.take_turn, self.id, self._space)
        except AgentkitError as error:
            logger.debug("the processes divide a rate limit, because they cannot take turns: %s", error)
            self._delay(self._space * _processes)
            return 0.0
        if left:
            self._delay(left)
        return left

    @property
    def _space(self) -> float:
        """The time from one turn to the next, in seconds."""
        return 60.0 / self.per_minute

    def _take(self, space: float) -> float:
        """Take a turn of this process if it is time for one, and return 0; else return the seconds until the next."""
        with self._lock:
            now = time.monotonic()
            if now < self._next:
                return self._next - now
            self._next = now + space
            return 0.0

    def _delay(self, seconds: float) -> None:
        """Let the next turn of this process be so many seconds from now."""
        with self._lock:
            self._next = time.monotonic() + seconds
