"""Injected messages: anchored where they were said, delivered to the next request that lacks them, until recalled.

What was said at an entry stays said when that entry is edited: the edited one takes its place.
"""

from __future__ import annotations

from typing import Any

from agentkit.core.messages import Chat, Message
from agentkit.core.steps import Step, Think
from agentkit.errors import UsageError
from agentkit.journal.entries import Entry, Note
from agentkit.trace.tree import HIDDEN, places


class Injections:
    """The injected messages of a run by id, and the ids that a model has heard on the present line."""

    __slots__ = ("entries", "heard", "notes")

    def __init__(self, entries: dict[int, Entry]) -> None:
        self.entries = entries
        self.notes: dict[str, Note] = {}
        self.heard: set[str] = set()

    def live(self, line: list[Entry]) -> list[Note]:
        """Give those that were said on this line."""
        on_line = {place for entry in line for place in places(self.entries, entry)}
        opened = {_opened(entry) for entry in line if entry.kind in HIDDEN}

        def holds(at: int) -> bool:
            entry = self.entries.get(
                at
            )  # lanes that an edit has opened or joined anew are those that were open or joined before
            return at in on_line or (entry is not None and _opened(entry) in opened and holds(entry.parent))

        return [note for note in self.notes.values() if not note.data["anchor"] or holds(note.data["anchor"])]

    def missing(self, line: list[Entry], lane: str, chat: Chat) -> list[Note]:
        """Give those addressed to this lane that this chat does not hold."""
        return (
            [n for n in self.live(line) if n.data["to"] == lane and n.data["id"] not in chat.notes]
            if self.pending(chat)
            else []
        )

    def pending(self, chat: Chat) -> bool:
        """Say whether any message at all is not in this chat; a question that walks nothing."""
        return not self.notes.keys() <= chat.notes

    def unheard(self, line: list[Entry]) -> list[Note]:
        """Give those that no model has seen yet."""
        return [note for note in self.live(line) if note.data["id"] not in self.heard]

    def answer_first(self, line: list[Entry]) -> Message | None:
        """Put those that must be answered before the end into one message."""
        waiting = [note for note in self.unheard(line) if not note.data["to"]]
        return interrupt(waiting) if waiting else None

    def hear(self, result: Any) -> None:
        """Take note of what a result says was heard."""
        for message in getattr(result, "heard", ()) or ((result,) if isinstance(result, Message) else ()):
            self.heard.update(message.notes)

    def check_unheard(self, key: str) -> None:
        """See that one can still be taken back. Raises `UsageError` when it is unknown or was heard already."""
        if key not in self.notes:
            raise UsageError(f"no injected message {key!r} waits here")
        if key in self.heard:
            raise UsageError("the model has seen this message already; undo to before that, or inject a correction")


def _opened(entry: Entry) -> tuple[str, str, int]:
    return entry.kind, entry.path, entry.index


def interrupt(notes: list[Note]) -> Message:
    """Put injected messages into one user message; several are numbered."""
    texts = [note.data["text"] for note in notes]
    body = texts[0] if len(texts) == 1 else "\n".join(f"{i}. {text}" for i, text in enumerate(texts, 1))
    return Message("user", f"[USER INTERRUPT] {body}", notes=tuple(note.data["id"] for note in notes), pinned=True)


def added(step: Think, before: Step) -> list[Message]:
    """Give the messages that a step's chat has more than that of the step before it was changed."""
    more = len(step.chat) - len(before.chat)  # type: ignore[union-attr]
    return list(step.chat)[-more:] if more > 0 else []
