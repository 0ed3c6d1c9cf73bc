"""The interface of a store that keeps an engine's lessons from one run to the next."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable


@runtime_checkable
class LessonStore(Protocol):
    """A store of lessons from earlier attempts, made for one agent or user.

    `agentkit.memory.lessons.Lessons` is one; any object with these two methods can be passed to an engine that takes
    lessons.
    """

    def recall(self) -> Iterable[str]:
        """Return the lessons for a new run, oldest first."""

    def remember(self, lesson: str) -> None:
        """Store a lesson, unless the same lesson is stored already."""
