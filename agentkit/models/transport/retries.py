"""When a call that failed is tried again, and how long requests wait for their turn."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field

from agentkit.errors import ModelError, UsageError


@dataclass(slots=True, frozen=True)
class Retries:
    """Try a call again `most` times, after `first` seconds, then twice as long each time up to `longest`, give or take a fifth.

    What a host asks for in Retry-After is waited for, up to `patience` seconds; where it asks for more, its error is given
    at once. Only errors that may pass are tried again, and never a reply in which the host itself has done something.
    """

    most: int = 2
    first: float = 0.5
    longest: float = 10.0
    patience: float = 60.0

    def pause(self, error: ModelError, tried: int) -> float | None:
        """Give the seconds to wait after the `tried`-th attempt has failed, or None when it shall not be tried again."""
        if not error.transient or tried > self.most:
            return None
        if error.retry_after is not None:
            return error.retry_after * (1 + random.random() / 10) + 0.01 if error.retry_after <= self.patience else None
        return min(self.longest, self.first * 2.0 ** (tried - 1)) * (0.8 + 0.4 * random.random())


@dataclass(slots=True)
class Turns:
    """Let at most `per_minute` requests begin in a minute, evenly spaced. May be shared by several models; thread-safe."""

    per_minute: float = 0.0
    _next: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        if not self.per_minute >= 0:
            raise UsageError(f"per_minute is a number of requests, or 0 for no limit, not {self.per_minute!r}")

    async def wait(self) -> float:
        """Wait for a turn, take it, and give the seconds that this took; who is stopped meanwhile has taken none."""
        import asyncio

        began = time.monotonic()
        while left := self._take():
            await asyncio.sleep(left)
        return time.monotonic() - began

    def _take(self) -> float:
        """Take the turn that it is time for, or give the seconds until the next."""
        with self._lock:
            now = time.monotonic()
            if now < self._next:
                return self._next - now
            self._next = now + 60.0 / self.per_minute if self.per_minute else 0.0
            return 0.0
