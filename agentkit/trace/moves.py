"""What undo and redo go over: the moves of a run's head. A plain step needs no move: its entry knows its parent."""

from __future__ import annotations

from agentkit.errors import UsageError
from agentkit.trace.tree import Tips


class Moves:
    """The moves that can be undone, and the tips that undos have left; the same when its records are read again."""

    __slots__ = ("done", "undone")

    def __init__(self) -> None:
        self.done: list[tuple[Tips, Tips]] = []
        self.undone: list[Tips] = []

    def add(self, before: Tips, after: Tips, why: str) -> None:
        """Take note of a move; `why` is "undo", "redo", or anything else. Where a run begins or parts ways is no move to undo."""
        if why in ("fork", "diverged"):
            return
        if why == "undo":
            if self.last(before):
                self.done.pop()
            self.undone.append(dict(before))
            return
        self.done.append((dict(before), dict(after)))
        self.undone = self.undone[:-1] if why == "redo" else []

    def last(self, tips: Tips) -> bool:
        """Say whether nothing has happened at these tips since the last move."""
        return bool(self.done) and self.done[-1][1] == tips

    def settle(self, tips: Tips) -> None:
        """Let what the last move brought with itself (a join of lanes) belong to it."""
        self.done[-1] = (self.done[-1][0], dict(tips))

    def undo(self, tips: Tips) -> Tips | None:
        """Give where the last move came from, or None when a step has been taken since."""
        return self.done[-1][0] if self.last(tips) else None

    def redo(self) -> Tips:
        """Give where the last undo came from. Raises `UsageError` when there is none."""
        if not self.undone:
            raise UsageError("there is nothing to redo")
        return self.undone[-1]
