"""The hold on a run in its journal: who holds it may write its rows."""

from __future__ import annotations

from agentkit.trace.trace import Trace


class Lease:
    """This process holds the run while it goes on, and takes it again when it must.

    Raises `JournalInUse` if another process has taken it in the meantime.
    """

    __slots__ = ("held", "trace")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.held = True

    def take(self) -> None:
        """Hold the run, if it was released; what others have written since then is read first."""
        journal = self.trace.journal
        if self.held or journal is None:
            return
        info = journal.claim(self.trace.run)
        self.held = True
        if info.rows > self.trace.latest:
            self.trace.reload(journal.rows(self.trace.run))

    def drop(self) -> None:
        """Release the run, so that it can be resumed elsewhere or deleted, and costs no open file."""
        if self.held and self.trace.journal is not None:
            self.trace.journal.release(self.trace.run)
            self.held = False
