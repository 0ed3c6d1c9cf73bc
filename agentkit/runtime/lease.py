"""The claim on a run in its journal: its holder may write the rows of the run."""

from __future__ import annotations

from agentkit.trace.trace import Trace


class Lease:
    """The claim of this process on a run; it is released when the run is over, and taken again when needed.

    Raises `JournalInUse` if another process has taken it in the meantime.
    """

    __slots__ = ("held", "trace")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.held = True

    def take(self) -> None:
        """Claim the run if it was released; rows that others have written since then are read first."""
        journal = self.trace.journal
        if self.held or journal is None:
            return
        info = journal.claim(self.trace.run)
        self.held = True
        if info.rows > self.trace.latest:  # a fork writes to the same tree; only rows of this run move its line
            rows = journal.rows(self.trace.run)
            if any(row.run == self.trace.run and row.id > self.trace.latest for row in rows):
                self.trace.reload(rows)

    def drop(self) -> None:
        """Release the run, so that it can be resumed elsewhere or deleted, and needs no open file."""
        if self.held and self.trace.journal is not None:
            self.trace.journal.release(self.trace.run)
            self.held = False
