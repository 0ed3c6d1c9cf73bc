"""The terms of a memory: the turns of a session, and what an engine that learns lessons needs of a store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(slots=True)
class Turn:
    """A run as it is remembered: the question and the answer.

    `number` counts all turns of a memory; `at` is when the run began, in seconds since 1970.
    """

    number: int
    run: str
    question: str
    answer: str
    at: float


@runtime_checkable
class LessonStore(Protocol):
    """A store of lessons from earlier attempts; it knows by itself whose lessons they are.

    `Lessons` is one; anything with these two methods can be passed as `lessons` to an engine that takes them.
    """

    def recall(self) -> Iterable[str]:
        """Return the lessons that a new run reads, the oldest first."""

    def remember(self, lesson: str) -> None:
        """Store a lesson; one that is known already is stored once."""
