"""Where the runs of an experiment are made: threads of this process, or anything with a method `submit`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from agentkit.core import background
from agentkit.errors import UsageError

MAX_THREADS = 1000
_WINDOW = 64
"""How many jobs are given at once to an executor that does not say how many workers it has."""


class Threads:
    """Daemon threads of this process, `size` at once: they keep no program from ending."""

    def __init__(self, size: int) -> None:
        self.size = size

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function in a new thread, and return a future."""
        return background.in_thread(functools.partial(function, *args))


def executor_of(on: Any) -> Any:
    """Return the executor for a number of threads, or an executor itself. Raises `UsageError` for anything else."""
    if isinstance(on, int) and not isinstance(on, bool):
        if not 1 <= on <= MAX_THREADS:
            raise UsageError(f"on must be a number of threads from 1 to {MAX_THREADS}, or an executor, not {on}")
        return Threads(on)
    if not callable(getattr(on, "submit", None)):
        raise UsageError(
            f"on must be a number of threads, or an executor (ProcessPoolExecutor(), loky's, "
            f"Client(…).get_executor() of Dask), not {on!r:.200}"
        )
    return on


def size_of(executor: Any) -> tuple[int, int]:
    """Return how many jobs an executor is given at once, and how many processes share the rate limits."""
    if isinstance(executor, Threads):
        return executor.size, 1
    threads = _threads_of_dask(executor)
    if threads:
        return 2 * sum(threads), len(threads)
    workers = getattr(executor, "_max_workers", None)
    if isinstance(workers, int) and workers > 0:
        return 2 * workers, workers
    return _WINDOW, 1


def _threads_of_dask(executor: Any) -> list[int]:
    """Return the number of threads of each worker of a Dask client or its executor; an empty list if it is neither."""
    client = getattr(executor, "_client", executor)
    count = getattr(client, "nthreads", None)
    if not callable(count):
        return []
    try:
        return [int(threads) for threads in count().values()]
    except Exception:  # something else that has such a name
        return []
