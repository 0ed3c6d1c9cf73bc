"""A dialect without its stop sequences: the model may write on after its action, and invent what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentkit.core.messages import Chat, Reply
from agentkit.core.steps import Tools
from agentkit.models.dialects.base import Dialect
from agentkit.models.dialects.rendering import Rendering


@dataclass(frozen=True, slots=True)
class WithoutStop:
    """A dialect that asks and reads as another one does, but sends no stop sequences."""

    dialect: Dialect
    stop: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the other dialect: replies are read in the same way."""
        return self.dialect.name

    @property
    def json_mode(self) -> bool:
        """Whether replies must be JSON."""
        return self.dialect.json_mode

    def render(self, chat: Chat, tools: Tools) -> Rendering:
        """Return the chat as the other dialect writes it."""
        return self.dialect.render(chat, tools)

    def schemas(self, tools: Tools) -> list[dict[str, Any]]:
        """Return the tool schemas as the other dialect writes them."""
        return self.dialect.schemas(tools)

    def read(self, reply: Reply, tools: Tools) -> Reply:
        """Read the reply as the other dialect does: what was invented is in `cut`."""
        return self.dialect.read(reply, tools)
