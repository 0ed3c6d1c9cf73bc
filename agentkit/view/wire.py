"""What is sent to a browser: JSON that any reader accepts, and a clock that decides when to send it."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from agentkit.core.log import logger

VERSION = 1
"""The version of the protocol in widgets/src/protocol.ts."""

SEND_INTERVAL = 0.04
"""Minimum number of seconds between two batches that no page has asked for: a page cannot show more, and servers drop
more than 1,000 messages a second.
"""

POLL_INTERVAL = 0.2
"""Seconds after which a run is checked even if it has sent no event: it may have been changed in Python."""

SWITCH_INTERVAL = 0.0001
"""Seconds after which a busy thread lets another one run, as long as a view is open.

A thread that waits for its turn starts to wait again whenever the busy thread releases the lock for a moment, for
example to look at a file. With Python's default of 0.005 s, a cell that does so every millisecond delays a click by
seconds.
"""

MAX_BYTES = 1_000_000
"""Approximate size of the largest message."""


def clean(message: Any) -> tuple[Any, int]:
    """Return a value as JSON data, and its size in bytes.

    NaN, and integers that a browser would round, become strings; lone surrogates become question marks; a value of any
    other type is replaced by its `str`.
    """
    encoded = json.dumps(message, ensure_ascii=False, default=str, skipkeys=True).encode("utf-8", "replace")
    return json.loads(encoded, parse_constant=str, parse_int=_exact_int), len(encoded)


def _exact_int(digits: str) -> int | str:
    number = int(digits)
    return number if abs(number) < 2**53 else digits


class Clock:
    """A daemon thread that calls its members soon after it is woken, and regularly in any case, while
    it has members.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, sleep: Callable[[float], Any] | None = None) -> None:
        self._at_once = threading.Event()
        self._now, self._sleep = now, sleep or self._at_once.wait
        self._members: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._default_switch_interval = 0.0

    def add(self, member: Callable[[], None]) -> None:
        """Call `member` from now on."""
        with self._lock:
            self._members.append(member)
            if self._thread is None:
                self._default_switch_interval = sys.getswitchinterval()
                sys.setswitchinterval(min(self._default_switch_interval, SWITCH_INTERVAL))
                self._thread = threading.Thread(target=self._tick, name="agentkit-view", daemon=True)
                self._thread.start()

    def remove(self, member: Callable[[], None]) -> None:
        """Stop calling `member`."""
        with self._lock:
            if member in self._members:
                self._members.remove(member)

    def wake(self, *, at_once: bool = False) -> None:
        """Call all members soon; or at once, because a page waits for an answer. Cheap, and safe in any thread."""
        if at_once:
            self._at_once.set()
        self._wake.set()

    def _tick(self) -> None:
        last = 0.0
        while True:
            self._wake.wait(POLL_INTERVAL)
            self._sleep(max(0.0, last + SEND_INTERVAL - self._now()))
            self._wake.clear()
            if self._at_once.is_set():
                self._at_once.clear()  # what follows an answer, such as the step that was asked for, need not wait
            else:
                last = self._now()
            for member in list(self._members):
                try:
                    member()
                except Exception:  # a view that cannot be drawn must not stop the others
                    logger.exception("a view could not be updated")
            with self._lock:
                if not self._members:
                    sys.setswitchinterval(self._default_switch_interval)
                    self._thread = None
                    return


CLOCK = Clock()
