"""Who writes a run's rows: this process holds the run while it lives and is not over, and takes it again when it must."""

from __future__ import annotations

from agentkit.trace.history import History


class Lease:
    """The hold on a run in its journal. Raises `JournalInUse` where another process has taken it meanwhile."""

    __slots__ = ("held", "history")

    def __init__(self, history: History) -> None:
        self.history = history
        self.held = True

    def take(self) -> None:
        """Hold the run, if it was let go; what others wrote since then is read first."""
        journal = self.history.journal
        if self.held or journal is None:
            return
        info = journal.claim(self.history.run)
        self.held = True
        if info.rows > self.history.latest:
            self.history.reload(journal.rows(self.history.run))

    def drop(self) -> None:
        """Let the run go, so that it can be resumed elsewhere or deleted, and costs no open file."""
        if self.held and self.history.journal is not None:
            self.history.journal.release(self.history.run)
            self.held = False
