"""Runs out of what was exported of them: `Run.from_json`, `Run.from_notebook`."""

from __future__ import annotations

from typing import Any

from agentkit import export
from agentkit.agent.agent import Agent
from agentkit.run.run import Run


def from_json(data: dict[str, Any], agent: Agent | None = None) -> Run:
    """Open a run that `run.to_json()` gave out; without an agent of one's own to read, step back and compare in."""
    export.rows_of(data)
    return (agent or Agent("offline", journal="memory")).load(data)


def from_notebook(notebook: Any, agent: Agent | None = None) -> Run:
    """Open the run that an exported notebook (a path or its data) holds. Raises `UsageError` naming a cell that was changed."""
    return from_json(export.data_of_notebook(notebook), agent)


Run.from_json, Run.from_notebook = from_json, from_notebook
