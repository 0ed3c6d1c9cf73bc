"""A dialect without its stop sequences: the model may write on after its action, and invent what comes back."""

from __future__ import annotations

from typing import Any

from agentkit.core.messages import Chat, Reply
from agentkit.core.steps import Tools
from agentkit.models.dialects.base import Dialect
from agentkit.models.dialects.rendering import Rendering


class WithoutStop:
    """A dialect that asks and reads as another one does, but sends no stop sequences."""

    stop: tuple[str, ...] = ()

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.name, self.json_mode = dialect.name, dialect.json_mode

    def render(self, chat: Chat, tools: Tools) -> Rendering:
        """Return the chat as the other dialect writes it."""
        return self.dialect.render(chat, tools)

    def schemas(self, tools: Tools) -> list[dict[str, Any]]:
        """Return the tool schemas as the other dialect writes them."""
        return self.dialect.schemas(tools)

    def read(self, reply: Reply, tools: Tools) -> Reply:
        """Read the reply as the other dialect does: what was invented is in `cut`."""
        return self.dialect.read(reply, tools)
