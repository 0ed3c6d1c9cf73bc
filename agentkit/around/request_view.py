"""The model's view of a chat: how it is shortened, and how it follows a chat that grows.

Rule 1: an engine's chat is never changed; a view replaces it in one request.
Rule 2: updating a view costs as much as what is new in the chat, not as much as the whole chat.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agentkit.core.messages import EMPTY, Chat, Message
from agentkit.models.tokens import tokens

_VIEWS = 8


def back(chat: Chat) -> Iterator[Message]:
    """Return an iterator over the messages of a chat, newest first."""
    return (node.last for node in chat.nodes() if node.last is not None)


def turn(chat: Chat) -> list[Message]:
    """Return the last consecutive user messages, oldest first: a question, and what an engine added to it."""
    from_user = itertools.dropwhile(lambda message: message.role != "user", back(chat))
    return [*itertools.takewhile(lambda message: message.role == "user", from_user)][::-1]


def since(chat: Chat, node: Chat) -> list[Message] | None:
    """Return the messages that came after `node`, oldest first; None if `chat` is not a continuation of it."""
    messages: list[Message] = []
    at: Chat | None = chat
    while at is not None and at.length > node.length:
        messages.append(at.last)  # type: ignore[arg-type]
        at = at.past
    if at is None or (at is not node and at != node):
        return None
    messages.reverse()
    return messages


@dataclass(slots=True)
class View:
    """A replacement for the beginning of a chat: `front` for all of it up to `upto`; later messages are unchanged.

    `weight` is an estimate of the tokens of `shown`, which is the view of `at`.
    """

    upto: Chat = EMPTY
    front: Chat = EMPTY
    front_weight: int = 0
    at: Chat = EMPTY
    shown: Chat = EMPTY
    weight: int = 0

    def follow(self, chat: Chat) -> bool:
        """Update the view to a chat, and return True; False if the chat does not continue what the view begins with."""
        new = since(chat, self.at)
        if new is None:
            new = since(chat, self.upto)
            if new is None:
                return False
            self.shown, self.weight = self.front, self.front_weight
        for message in new:
            self.shown = Chat(self.shown, message)
            self.weight += tokens(message)
        self.at = chat
        return True


def view(memory: dict[str, Any], chat: Chat) -> View:
    """Return the memory's view of a chat, updated to it: the newest view that it continues, or one of all messages."""
    known: list[View] = memory.setdefault("views", [View()])
    return next(candidate for candidate in known if candidate.follow(chat))


def shorten(memory: dict[str, Any], chat: Chat, front: Chat, weight: int = 0) -> View:
    """Add a view in which `front`, with this weight, replaces `chat`, and return it; continuations of `chat` use it."""
    known: list[View] = memory["views"]
    known.insert(0, View(chat, front, weight, chat, front, weight))
    del known[_VIEWS:-1]
    return known[0]
