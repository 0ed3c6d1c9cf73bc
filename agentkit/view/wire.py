"""What may cross to a browser: JSON that every reader takes, and one clock that says when to send it."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

VERSION = 1
"""The version of widgets/src/protocol.ts that is spoken here."""

INTERVAL = 0.04
"""Seconds between two sendings at least: a page shows no more, and servers drop what comes faster than 1,000 a second."""

GLANCE = 0.2
"""Seconds after which a run is looked at though nothing was heard of it: a person may have changed it in Python."""

SWITCH = 0.0001
"""Seconds after which a thread that computes lets another one run, as long as a view is open.

A thread that waits for its turn begins to count anew whenever the computing one lets go for a moment, as it does to look at
a file. With Python's 0.005 s, a cell that does so once in a millisecond keeps a click waiting for seconds.
"""

LARGEST = 1_000_000
"""Bytes of one message, about."""


def clean(message: Any) -> tuple[Any, int]:
    """Give a value as JSON data and its size in bytes.

    NaN and whole numbers that a browser would round become texts, lone surrogates question marks; the rest goes by `str`.
    """
    written = json.dumps(message, ensure_ascii=False, default=str, skipkeys=True).encode("utf-8", "replace")
    return json.loads(written, parse_constant=str, parse_int=_whole), len(written)


def _whole(digits: str) -> int | str:
    number = int(digits)
    return number if abs(number) < 2**53 else digits


class Clock:
    """Call its members soon after they were woken, and now and then anyway; in one daemon thread, while there are any."""

    def __init__(self) -> None:
        self._members: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._usual = 0.0

    def add(self, member: Callable[[], None]) -> None:
        """Call `member` from now on."""
        with self._lock:
            self._members.append(member)
            if self._thread is None:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(min(self._usual, SWITCH))
                self._thread = threading.Thread(target=self._tick, name="agentkit-view", daemon=True)
                self._thread.start()

    def remove(self, member: Callable[[], None]) -> None:
        """Call `member` no more."""
        with self._lock:
            if member in self._members:
                self._members.remove(member)

    def soon(self) -> None:
        """Call all members soon; costs next to nothing, from any thread."""
        self._wake.set()

    def _tick(self) -> None:
        last = 0.0
        while True:
            self._wake.wait(GLANCE)
            time.sleep(max(0.0, last + INTERVAL - time.monotonic()))
            self._wake.clear()
            last = time.monotonic()
            for member in list(self._members):
                try:
                    member()
                except Exception:  # one view that cannot be drawn must not end the others
                    logging.getLogger("agentkit").exception("a view could not be brought up to date")
            with self._lock:
                if not self._members:
                    sys.setswitchinterval(self._usual)
                    self._thread = None
                    return


CLOCK = Clock()
