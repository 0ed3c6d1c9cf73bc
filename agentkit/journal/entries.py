"""What a journal is: the append-only rows of runs, of which a run's tree is made.

A row is an `Entry` (a step that was performed, with its result) or a `Note` (anything else that happened). Rows are
numbered in the order in which they were written to their tree; that number is an entry's id and an event's cursor.
Several runs share a tree when one was forked from the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from agentkit.core.secrets import mask
from agentkit.core.steps import Step
from agentkit.core.text import entry_text, one_line
from agentkit.core.usage import Usage


@dataclass(slots=True, repr=False)
class Entry:
    """One performed step.

    `path` and `index` say where in the engine it happened: the frame, and the how-manieth step of that frame.
    `step` is what the engine proposed; `performed` is what was done where that differs (an injected message, an edit).
    `kind` is the step's kind, or "begin" (the root), "batch" (several lanes start), "join" (they are done; `result`
    maps each lane to its last entry), "answer" (the engine returned). `original` is the entry that an edit replaces.
    `kept` is the entry of another line that was taken over, when the arguments of a call beside it were edited.
    """

    parent: int
    kind: str
    path: str = ""
    index: int = 0
    step: Step | None = None
    performed: Step | None = None
    result: Any = None
    author: str = ""
    original: int = 0
    kept: int = 0
    reason: str = ""
    started: float = 0.0
    ended: float = 0.0
    model: str = ""
    dialect: str = ""
    usage: Usage | None = None
    run: str = ""
    id: int = 0

    @property
    def replaces(self) -> int:
        """The entry in whose place it stands, with nothing performed for it; 0 where it was performed."""
        return self.kept or self.original

    def __repr__(self) -> str:
        return entry_text(self, mask)


@dataclass(slots=True)
class Note:
    """Anything that happened beside the steps: `kind` and JSON data.

    Kinds: "call" (a tool is about to run), "inject", "recall", "head" (the run moved to other entries), "error",
    "status", "warning".
    """

    kind: str
    data: dict[str, Any] = field(default_factory=dict)
    at: float = 0.0
    run: str = ""
    id: int = 0


Row = Entry | Note


@dataclass(slots=True, repr=False)
class RunInfo:
    """One line of the list of runs. Times are seconds since 1970; `parent` is the run that this one was forked from."""

    run: str
    tree: str
    task: str
    engine: str
    model: str
    status: str
    rows: int
    created: float
    updated: float
    parent: str = ""

    def __repr__(self) -> str:
        return f"{self.run}  {self.status:<11} {self.rows:>5} rows  {self.model}: {one_line(self.task, 60)}"


class Journal(Protocol):
    """A store of runs. All methods may be called from any thread."""

    durable: bool

    def create(self, info: RunInfo) -> None:
        """Add a run and hold it for this process."""

    def claim(self, run: str) -> RunInfo:
        """Hold an existing run for this process. Raises `Unknown`, or `JournalInUse` where another process holds it."""

    def release(self, run: str) -> None:
        """Let go of a run."""

    def append(self, row: Row, *, sync: bool = True) -> int:
        """Add a row to the tree of `row.run`, set its `id` and give it. With `sync` it is on the disk on return.

        Raises `Fenced` where another process took the run over, `JournalError` where it cannot be written.
        """

    def rows(self, run: str) -> list[Row]:
        """Give all rows of the run's tree, oldest first. Raises `Unknown`, `JournalDamaged`, `JournalTooNew`."""

    def runs(self) -> list[RunInfo]:
        """List all runs, the newest first."""

    def set_status(self, run: str, status: str) -> None:
        """Say how the run stands, for the list."""

    def delete(self, run: str) -> None:
        """Forget a run; its rows go with it unless another run of the same tree needs them."""

    def close(self) -> None:
        """Let go of everything."""
