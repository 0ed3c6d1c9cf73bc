"""What a memory holds, the turns of a session, and what a memory of another library can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


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
class SessionMemory(Protocol):
    """A memory of sessions in the interface of OVOS: messages are objects with `role` and `content`."""

    def build_conversation_context(self, utterance: str, session_id: str) -> list[Any]:
        """Return the messages that a model is sent: system messages, the history, and the utterance as the last one."""

    def update_history(self, new_messages: list[Any], session_id: str) -> None:
        """Store the messages of a turn."""
