"""When a call that failed is tried again, and how long it waits: as long as the host asks (Retry-After), else longer
each time.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from agentkit.errors import ModelError


@dataclass(slots=True, frozen=True)
class Retries:
    """Try a call again up to `most` times: after `first` seconds, then twice as long each time up to `longest`, plus or
    minus a fifth.

    If a host asks for a wait in Retry-After, that is waited, up to `patience` seconds; if it asks for more, its error
    is raised at once. Only errors that may pass are tried again, and never a reply in which the host itself ran a tool.
    """

    most: int = 2
    first: float = 0.5
    longest: float = 10.0
    patience: float = 60.0

    def pause(self, error: ModelError, attempt: int) -> float | None:
        """Return the seconds to wait after the failure of this attempt (the first is 1), or None to give up."""
        if not error.transient or attempt > self.most:
            return None
        if error.retry_after is not None:
            return error.retry_after * (1 + random.random() / 10) + 0.01 if error.retry_after <= self.patience else None
        return min(self.longest, self.first * 2.0 ** (attempt - 1)) * (0.8 + 0.4 * random.random())


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a host asks to wait: `retry-after-ms`, or `retry-after` as seconds or as a date."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        return seconds if 0 <= seconds < 1e9 else None
    return _seconds_until(headers.get("retry-after", ""))


def _seconds_until(date: str) -> float | None:
    import email.utils
    import time

    try:
        return max(0.0, email.utils.parsedate_to_datetime(date).timestamp() - time.time())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
