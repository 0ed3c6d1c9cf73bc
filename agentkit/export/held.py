"""What the formats need to know of a run."""

from __future__ import annotations

from typing import Any, Protocol

from agentkit.gates.state import State
from agentkit.gates.verdict import Verdict
from agentkit.journal.entries import Entry
from agentkit.stepper.stepper import Pending
from agentkit.trace.trace import Trace


class HeldRun(Protocol):
    """A run that can be shown and written; `agentkit.Run` is one."""

    id: str
    task: dict[str, Any]
    missing: tuple[str, ...]
    tree_id: str
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
        """The steps that wait for a person."""

    def branches(self) -> list[list[Entry]]:
        """Return all lines of the tree."""

    @property
    def hold(self) -> str:
        """Why the run does not go on."""


class Outcome(Protocol):
    """What a run came to; `agentkit.Result` is one."""

    answer: str
    error: BaseException | None
    interrupted: bool
    reason: str
    usage: Any
    step_count: int
    tool_calls_count: int
    output: Any
