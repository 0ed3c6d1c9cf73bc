"""What a memory holds: the turns of a session."""

from __future__ import annotations

from dataclasses import dataclass


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
