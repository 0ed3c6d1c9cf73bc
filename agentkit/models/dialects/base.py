"""What a dialect is: how a model is asked to act, and how its reply is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from agentkit.core.messages import Chat, Reply

if TYPE_CHECKING:
    from agentkit.tools.tool import Tool

SECOND = "more than one action:"
"""How the problem begins that names the actions of a reply which were not performed, because one came before them."""

ONE_ACTION = "Only one action is taken per turn, and another one came before it."
"""What the model is told about each of them, in the place of a result."""

MOST_REFUSED = 5
"""So many of them are answered one by one; a reply of a thousand actions makes no trace of a thousand entries."""


class Dialect(Protocol):
    """A way to write a chat for a model and to read what comes back. Pure functions; safe to share."""

    name: str
    stop: tuple[str, ...]
    json_mode: bool

    def render(self, chat: Chat, tools: tuple[Tool, ...]) -> list[dict[str, Any]]:
        """Write the chat as messages for the wire. What each message becomes is cached on the message."""

    def schemas(self, tools: tuple[Tool, ...]) -> list[dict[str, Any]]:
        """Give the schemas for the wire's `tools`, or nothing."""

    def read(self, reply: Reply, tools: tuple[Tool, ...]) -> Reply:
        """Read a reply: calls to perform, or an answer, and what was wrong with it."""
