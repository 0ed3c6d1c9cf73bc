"""Deletes old runs; all runs are kept unless somebody asks for this."""

from __future__ import annotations

import contextlib
import time

from agentkit.errors import JournalInUse, Unknown, UsageError
from agentkit.journal.entries import Journal


def prune(journal: Journal, keep_days: float | None, keep_runs: int | None) -> list[str]:
    """Delete runs older than `keep_days`, and all but the newest `keep_runs`; return the names of deleted runs.

    None means no limit. Runs that are held are kept, and do not stop the others from being deleted.
    """
    if (keep_days is not None and keep_days < 0) or (keep_runs is not None and keep_runs < 0):
        raise UsageError("keep_days and keep_runs must be at least 0, or None to keep all runs")
    oldest = time.time() - keep_days * 86_400 if keep_days is not None else 0.0
    gone = []
    for number, info in enumerate(journal.runs()):
        if info.updated < oldest or (keep_runs is not None and number >= keep_runs):
            with contextlib.suppress(JournalInUse, Unknown):
                journal.delete(info.run)
                gone.append(info.run)
    return gone
