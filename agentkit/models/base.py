"""What a model is: a name, abilities, and one call that takes a request and returns a reply, or the chunks of one.

Any function of one argument is a model: `lambda request: "FINAL_ANSWER: 42"`.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from agentkit.core.messages import Chat, Reply, Token
from agentkit.core.steps import Tools
from agentkit.core.usage import Usage

if TYPE_CHECKING:
    from agentkit.core.schema import Shape
    from agentkit.models.dialects.base import Dialect
    from agentkit.models.dialects.rendering import Rendering


MAX_TEMPERATURE = 2.0
"""The highest temperature that a run sets: above it, models write word salad, and most providers refuse it."""


@dataclass(slots=True, frozen=True)
class Abilities:
    """What a model's interface offers: native tool calls, a JSON mode, streaming, a reasoning channel, a JSON mode that
    follows a schema, and a temperature from 0 to 2 in the settings of each request.

    The model's own temperature, if it is known, is its attribute `temperature`.
    """

    tools: bool = False
    json: bool = False
    stream: bool = False
    reasoning: bool = False
    schema: bool = False
    temperature: bool = False


@dataclass(slots=True)
class CallDelta:
    """A piece of a native tool call, as a stream sends it; pieces with the same `index` belong together."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class Chunk:
    """A piece of a reply. The last one carries `finish` ("stop", "tool_calls", "length" …) and, if it is known,
    `usage`.

    `again` is the reason why the call is tried again: the chunks before it no longer count, except for their usage.
    `opaque` is what the provider wants back with the reply; `model` names the model that replies, if it is not the one
    that was asked. `problem` is something about the reply that the trace should show.
    `token` says how likely this piece was, if it is one token and the model knows.
    """

    text: str = ""
    reasoning: str = ""
    call: CallDelta | None = None
    usage: Usage | None = None
    finish: str = ""
    again: str = ""
    opaque: Any = None
    model: str = ""
    problem: str = ""
    token: Token | None = None


@dataclass(slots=True)
class Request:
    """One request to a model. `messages`, `tools` and the rest are written by the `dialect` when they are read.

    `answer` is the shape of the final answer, if the model is to write it and its host can be held to a schema;
    `answers_in_json` means that it can at least be held to JSON.
    """

    chat: Chat
    dialect: Dialect
    offered: Tools = ()
    role: str = "thought"
    choice: str = "auto"
    settings: dict[str, Any] = field(default_factory=dict)
    answer: Shape | None = None
    answers_in_json: bool = False

    @property
    def rendering(self) -> Rendering:
        """The chat as the dialect writes it; shared with every request whose chat begins alike."""
        return self.dialect.render(self.chat, self.offered)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages to send: `role`, `content`, and for native calls `tool_calls` and `tool_call_id`."""
        return list(self.rendering)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tool schemas to send; empty if the dialect describes the tools in a message."""
        return self.dialect.schemas(self.offered)

    @property
    def stop(self) -> tuple[str, ...]:
        """Strings at which the model is to stop writing."""
        return self.dialect.stop if self.offered else ()

    @property
    def constraint(self) -> Shape | None:
        """The shape that the host is asked to hold the model to, if it can; else None."""
        return self.answer or getattr(self.dialect, "constraint", None)

    @property
    def is_json(self) -> bool:
        """Whether the reply must be JSON."""
        return bool(self.constraint or self.answers_in_json or (self.dialect.json_mode and self.offered))

    def to_dict(self) -> dict[str, Any]:
        """Return everything that is sent, as JSON data."""
        return {
            "messages": self.messages,
            "tools": self.tools,
            "tool_choice": self.choice,
            "stop": list(self.stop),
            "json": self.is_json,
            "role": self.role,
            "settings": self.settings,
        }


Output = Reply | str | Iterable[Chunk] | Awaitable[Reply | str] | AsyncIterable[Chunk]


@runtime_checkable
class Model(Protocol):
    """A model. It may return a whole reply, a text, chunks, or an awaitable or asynchronous form of these.

    A model that fails raises `ModelError` or anything else; the step then stays pending. `name` and `abilities` may be
    missing: the name is then that of the function, and there are no abilities. If a model has `body(request)`, it
    returns the JSON that is sent. `awaits = True` means that a call only begins something that an event loop then waits
    for and can cancel; `limits_itself = True` that the model ends its own calls in time. Any other call is given up
    after ten minutes.
    """

    name: str
    abilities: Abilities

    def __call__(self, request: Request) -> Output: ...


def name_of(model: Any) -> str:
    """Return the name of a model: its own, else that of its function or type."""
    return getattr(model, "name", None) or getattr(model, "__name__", None) or type(model).__name__
