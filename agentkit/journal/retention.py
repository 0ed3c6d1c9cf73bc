"""Which runs may be deleted; all runs are kept unless somebody asks for this."""

from __future__ import annotations

import time

from agentkit.errors import UsageError
from agentkit.journal.entries import RunInfo


def outdated(runs: list[RunInfo], keep_days: float | None, keep_runs: int | None) -> list[str]:
    """Return the names of runs older than `keep_days`, and of all but the newest `keep_runs`; None means no limit."""
    if (keep_days is not None and keep_days < 0) or (keep_runs is not None and keep_runs < 0):
        raise UsageError("keep_days and keep_runs must be at least 0, or None to keep all runs")
    oldest = time.time() - keep_days * 86_400 if keep_days is not None else 0.0
    return [
        info.run for n, info in enumerate(runs) if info.updated < oldest or (keep_runs is not None and n >= keep_runs)
    ]
