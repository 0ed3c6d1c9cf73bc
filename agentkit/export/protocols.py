"""What the export formats need of a run and of its result."""

from __future__ import annotations

from typing import Any, Protocol

from agentkit.gates.state import State
from agentkit.gates.verdict import Verdict
from agentkit.journal.entries import Entry
from agentkit.stepper.stepper import Pending
from agentkit.trace.trace import Trace


class RunLike(Protocol):
    """A run that can be shown and exported, such as `agentkit.Run`."""

    id: str
    task: dict[str, Any]
    tree_id: str
    saved_status: str
    trace: Trace
    state: State

    @property
    def status(self) -> str:
        """The status."""

    @property
    def entries(self) -> list[Entry]:
        """The trace."""

    @property
    def pending(self) -> list[Pending]:
        """The steps that could be performed now."""

    @property
    def waiting(self) -> list[tuple[Pending, Verdict]]:
        """The steps that wait for a person, each with the reason."""

    def branches(self) -> list[list[Entry]]:
        """Return all branches of the tree, the current one first."""

    @property
    def read_only(self) -> str:
        """The reason why nothing about the run can be changed, or ""."""

    @property
    def hold(self) -> str:
        """The reason why the run does not continue by itself, or ""."""


class ResultLike(Protocol):
    """The result of a run, such as `agentkit.Result`."""

    answer: str
    error: BaseException | None
    interrupted: bool
    reason: str
    usage: Any
    step_count: int
    tool_calls_count: int
    output: Any
    denied: tuple[str, ...]
