"""What a model is: a name, abilities, and one call that takes a request and gives a reply, or the chunks of one.

Any function of one argument is a model: `lambda request: "FINAL_ANSWER: 42"`.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from agentkit.core.messages import Chat, Reply
from agentkit.core.usage import Usage

if TYPE_CHECKING:
    from agentkit.models.dialects.base import Dialect
    from agentkit.tools.tool import Tool


@dataclass(slots=True, frozen=True)
class Abilities:
    """What a model's interface offers: native tool calls, a JSON mode, streaming, a reasoning channel."""

    tools: bool = False
    json: bool = False
    stream: bool = False
    reasoning: bool = False


@dataclass(slots=True)
class CallDelta:
    """A piece of a native tool call, as a stream sends it; pieces of one `index` belong together."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class Chunk:
    """A piece of a reply. The last one carries `finish` ("stop", "tool_calls", "length" …) and, where known, `usage`.

    `again` says why the call is tried again: what came before counts no more, except its usage. `opaque` is what the
    provider wants back with the reply, `model` who gives it where that is not the model that was asked.
    """

    text: str = ""
    reasoning: str = ""
    call: CallDelta | None = None
    usage: Usage | None = None
    finish: str = ""
    again: str = ""
    opaque: Any = None
    model: str = ""


@dataclass(slots=True)
class Request:
    """One request to a model; `messages`, `tools` and the rest are made when they are read, in the words of `dialect`."""

    chat: Chat
    dialect: Dialect
    offered: tuple[Tool, ...] = ()
    role: str = "thought"
    choice: str = "auto"
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages for the wire: `role`, `content`, and for native calls `tool_calls` and `tool_call_id`."""
        return self.dialect.render(self.chat, self.offered)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tool schemas for the wire; empty where the dialect describes them in words."""
        return self.dialect.schemas(self.offered)

    @property
    def stop(self) -> tuple[str, ...]:
        """Strings at which the model shall stop writing."""
        return self.dialect.stop if self.offered else ()

    def to_dict(self) -> dict[str, Any]:
        """Everything that is sent, as JSON data."""
        return {
            "messages": self.messages,
            "tools": self.tools,
            "tool_choice": self.choice,
            "stop": list(self.stop),
            "json": self.dialect.json_mode and bool(self.offered),
            "role": self.role,
            "settings": self.settings,
        }


Output = Reply | str | Iterable[Chunk] | Awaitable[Reply | str] | AsyncIterable[Chunk]


@runtime_checkable
class Model(Protocol):
    """A model. What it returns may be a whole reply, a text, chunks, or an awaitable or asynchronous form of these.

    Raises `ModelError` (or anything else) when it fails; the step stays pending then. `name` and `abilities` may be
    missing: then the function's name is used, and no abilities. `body(request)`, where a model has it, gives the JSON that
    it sends. `awaits = True` says that calling it only begins what an event loop then waits for, and can cancel, and
    `limits_itself = True` that it ends its calls in time by itself; any other is left after ten minutes.
    """

    name: str
    abilities: Abilities

    def __call__(self, request: Request) -> Output: ...
