"""Injected messages: each is anchored at an entry and sent with the next requests that lack it, unless it is recalled.

A message that was injected at an entry stays when the entry is edited: the edited entry has the same position.
"""

from __future__ import annotations

from typing import Any

from agentkit.core.messages import Chat, Message
from agentkit.core.steps import Step, Think
from agentkit.errors import UsageError
from agentkit.journal.entries import Note
from agentkit.trace.line import Line


class Injections:
    """The injected messages of a run by id, and the ids that a model has seen on the present line."""

    __slots__ = ("heard", "notes")

    def __init__(self) -> None:
        self.notes: dict[str, Note] = {}
        self.heard: set[str] = set()

    def live(self, line: Line) -> list[Note]:
        """Return the messages that were injected on this line."""
        slot, slots = line.tree.slot, line.slots
        notes = list(self.notes.values())  # a copy: views look at them while others are added
        return [note for note in notes if not note.data["anchor"] or slot(note.data["anchor"]) in slots]

    def missing(self, line: Line, lane: str, chat: Chat) -> list[Note]:
        """Return the messages addressed to a lane that a chat does not contain."""
        if self.notes.keys() <= chat.notes:
            return []
        return [note for note in self.live(line) if note.data["to"] == lane and note.data["id"] not in chat.notes]

    def unheard(self, line: Line) -> list[Note]:
        """Return the messages that no model has seen yet."""
        return [note for note in self.live(line) if note.data["id"] not in self.heard]

    def answer_first(self, line: Line) -> Message | None:
        """Return the messages that must be answered before the run ends, as one message."""
        waiting = [note for note in self.unheard(line) if not note.data["to"]]
        return interrupt(waiting) if waiting else None

    def hear(self, result: Any) -> None:
        """Note the messages that a model has seen, according to a result."""
        for message in getattr(result, "heard", ()) or ((result,) if isinstance(result, Message) else ()):
            self.heard.update(message.notes)

    def check_unheard(self, key: str) -> None:
        """Check that a message can still be recalled. Raises `UsageError` if it is unknown or has been seen."""
        if key not in self.notes:
            raise UsageError(f"there is no waiting injected message {key!r}; it was recalled, or never injected")
        if key in self.heard:
            raise UsageError("the model has already seen this message; undo to before that, or inject a correction")


def interrupt(notes: list[Note]) -> Message:
    """Return injected messages as one user message; several are numbered, and those of hooks name the hook."""
    texts = [f"[{note.data['by']}] {note.data['text']}" if "by" in note.data else note.data["text"] for note in notes]
    body = texts[0] if len(texts) == 1 else "\n".join(f"{i}. {text}" for i, text in enumerate(texts, 1))
    label = "" if all("by" in note.data for note in notes) else "[USER INTERRUPT] "
    return Message("user", f"{label}{body}", notes=tuple(note.data["id"] for note in notes), pinned=True)


def added(step: Think, before: Step) -> list[Message]:
    """Return the messages that a step's chat has gained compared with an earlier version of the step."""
    assert isinstance(before, Think)
    gained = len(step.chat) - len(before.chat)
    return list(step.chat)[-gained:] if gained > 0 else []
