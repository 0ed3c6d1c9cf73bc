"""The model's view of a chat: how long it is, and how it is kept up with a chat that grows.

Rule 1: an engine's chat is never changed; a view stands in for it in one request.
Rule 2: keeping a view up costs what is new in the chat, not what is in it.
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
    """Give the messages of a chat, newest first."""
    return (node.last for node in chat.nodes() if node.last is not None)


def turn(chat: Chat) -> list[Message]:
    """Give the last messages of a user that stand together, oldest first: a question, and what an engine added to it."""
    said = itertools.dropwhile(lambda message: message.role != "user", back(chat))
    return [*itertools.takewhile(lambda message: message.role == "user", said)][::-1]


def since(chat: Chat, node: Chat) -> list[Message] | None:
    """Give the messages that came after `node`; None where `chat` did not grow out of it."""
    found: list[Message] = []
    at: Chat | None = chat
    while at is not None and at.length > node.length:
        found.append(at.last)  # type: ignore[arg-type]
        at = at.past
    if at is None or (at is not node and at != node):
        return None
    found.reverse()
    return found


@dataclass(slots=True)
class View:
    """What stands in for the beginning of a chat: `front` for all of it up to `upto`, and what follows as it is.

    `weight` is an estimate of the tokens of `shown`, the view of `at`.
    """

    upto: Chat = EMPTY
    front: Chat = EMPTY
    front_weight: int = 0
    at: Chat = EMPTY
    shown: Chat = EMPTY
    weight: int = 0

    def follow(self, chat: Chat) -> bool:
        """Bring the view up to a chat. False where the chat did not grow out of what the view begins with."""
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
    """Give the memory's view of a chat, brought up to it: the newest that it grew out of, else one of all its messages."""
    known: list[View] = memory.setdefault("views", [View()])
    return next(each for each in known if each.follow(chat))


def shorten(memory: dict[str, Any], chat: Chat, front: Chat, weight: int = 0) -> View:
    """Let `front`, which has this weight, stand for `chat` in the views of all that grows out of it."""
    known: list[View] = memory["views"]
    known.insert(0, View(chat, front, weight, chat, front, weight))
    del known[_VIEWS:-1]
    return known[0]
