"""What a dialect is: a way to ask a model for actions, and to read them in its reply."""

from __future__ import annotations

from typing import Any, Protocol

from agentkit.core.messages import Chat, Reply
from agentkit.core.steps import Tools
from agentkit.models.dialects.rendering import Rendering


class Dialect(Protocol):
    """A way to write a chat for a model and to read its reply. A value of pure functions; safe to share."""

    name: str
    stop: tuple[str, ...]
    json_mode: bool

    def render(self, chat: Chat, tools: Tools) -> Rendering:
        """Return the chat as messages for the model. What was rendered before is cached on the chat."""

    def schemas(self, tools: Tools) -> list[dict[str, Any]]:
        """Return the tool schemas for the request; an empty list if the dialect describes the tools in a message."""

    def read(self, reply: Reply, tools: Tools) -> Reply:
        """Return the reply with the calls or the answer that it contains, and what was wrong with it."""
