"""What the API of a provider must supply, to be asked by `Remote`: how a request is written, and how a reply is read.

To add a provider, write such a `Wire` (openai.py is the model for it) and a function that returns a `Remote` with it.
All of it is values and pure functions; connections, retries and errors are the same for all (transport/).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from agentkit.core.usage import Usage
from agentkit.models.base import Chunk, Request
from agentkit.models.dialects.rendering import View


@dataclass(slots=True, frozen=True)
class Endpoint:
    """Who is asked, in a form that can be shown: the host (without user, password and path), the model,
    the key's name.
    """

    host: str
    model: str
    key_name: str = ""
    base_url: str = ""


class HostError(Exception):
    """The host reports an error inside a reply; `body` is what it says."""

    def __init__(self, body: Any) -> None:
        super().__init__(str(body)[:200])
        self.body = body


class BrokenReply(Exception):
    """A reply breaks the rules of its API; the text says how."""


class ReplyParser(Protocol):
    """One reply that is arriving.

    `finish` is set as soon as it is whole, `acted` if the host ran a tool itself, and `in_one_piece` if a whole message
    came instead of pieces of one.
    """

    finish: str
    acted: bool
    in_one_piece: bool

    def event(self, kind: str, data: dict[str, Any]) -> Iterator[Chunk]:
        """Yield the chunks in one object of the stream, or in a whole reply.

        Raises `HostError` if it reports an error, and `BrokenReply` if it cannot be a part of this reply.
        """

    def end_marker(self) -> Iterator[Chunk]:
        """Yield the chunks that are due when the host says that this was all (`[DONE]`)."""


Cost = Callable[[Usage, int], Usage]
"""Adds the price to some usage; the number is that of the input tokens that the provider stored in its cache."""


class Wire(Protocol):
    """One provider's API.

    If `splits_system` is true, the system messages at the beginning of a chat travel apart from the messages. If a
    message may not follow one of the same role, `merged_field` names the field whose lists are joined ("content",
    "parts" …).
    """

    provider: str
    splits_system: bool
    merged_field: str

    def path(self) -> str:
        """Return the path of requests, below the base URL."""

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key, and any others that this API needs."""

    def message(self, view: View, host: str) -> dict[str, Any]:
        """Return one message as this API expects it; `host` is who gets it, and its own `opaque` data back."""

    def body(self, request: Request, model: str, system: str, messages: Any) -> dict[str, Any]:
        """Return the JSON of a request that asks for a stream; `messages` are put into it as they are."""

    def with_settings(self, body: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
        """Return the body with the user's settings where this API expects them."""

    def parser(self, host: str, cost: Cost) -> ReplyParser:
        """Return a parser for one reply."""
