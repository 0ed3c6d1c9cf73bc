"""Open runs that were exported, and look at runs without holding them."""

from __future__ import annotations

from typing import Any

from agentkit.agent.agent import Agent
from agentkit.core.checked_arguments import checked
from agentkit.journal.entries import RunInfo
from agentkit.run.run import Run


@checked
def load(recording: Any, agent: Agent | None = None) -> Run:
    """Open an exported run: the data of `run.to_json()`, a file with it, or an exported notebook (a path or its data).

    Without your own agent, the run can be read, undone and compared. Nothing that the recording names is imported or
    called: its engine must be a registered one, or that of your agent; otherwise the run is read-only, and
    `run.read_only` says what is missing. Raises `UsageError`, which says what is missing or damaged, or which cell of a
    notebook was changed.
    """
    return (agent or Agent("offline", journal="memory")).load(recording)


@checked
def look(name: str | Run | RunInfo, *, journal: Any = "sqlite") -> Run:
    """Open a recorded run read-only, as it is now: nothing is written, and another process may be driving it.

    A view of it follows that process; `run.pause()`, `run.stop()` and `run.inject(text)` ask it. Raises `Unknown`. See
    `Agent.look`.
    """
    return Agent(journal=journal).look(name)
