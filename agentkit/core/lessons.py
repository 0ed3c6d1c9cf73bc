"""Where an engine's lessons are kept from one run to the next."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable


@runtime_checkable
class LessonStore(Protocol):
    """A store of lessons from earlier attempts; it knows by itself whose lessons they are.

    `agentkit.memory.lessons.Lessons` is one; anything with these two methods can be passed to an engine that takes lessons.
    """

    def recall(self) -> Iterable[str]:
        """Return the lessons that a new run reads, the oldest first."""

    def remember(self, lesson: str) -> None:
        """Store a lesson; one that is known already is stored once."""
