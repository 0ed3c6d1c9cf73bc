"""Which runs have had their time; all are kept unless somebody asks."""

from __future__ import annotations

import time

from agentkit.errors import UsageError
from agentkit.journal.entries import RunInfo


def outdated(runs: list[RunInfo], keep_days: float | None, keep_runs: int | None) -> list[str]:
    """Name the runs that are older than `keep_days`, and all but the newest `keep_runs`; None keeps all."""
    if (keep_days is not None and keep_days < 0) or (keep_runs is not None and keep_runs < 0):
        raise UsageError("keep_days and keep_runs are not below 0; None keeps all")
    oldest = time.time() - keep_days * 86_400 if keep_days is not None else 0.0
    return [
        info.run for n, info in enumerate(runs) if info.updated < oldest or (keep_runs is not None and n >= keep_runs)
    ]
