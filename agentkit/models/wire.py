"""What a wire is: one provider's way to write a request and to say a reply. Values and pure functions; no I/O."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from agentkit.models.base import Chunk, Request

if TYPE_CHECKING:
    from agentkit.models.remote import Remote


@dataclass(slots=True, frozen=True)
class Place:
    """Who is asked, for messages: the host without user, password and path, the model, and how to name it to agentkit."""

    host: str
    model: str
    key: str = ""
    base: str = ""


class Reading(Protocol):
    """One reply that is arriving. `finish` is set as soon as it is whole, `acted` when the host itself did something."""

    finish: str
    acted: bool

    def event(self, kind: str, data: dict[str, Any]) -> Iterator[Chunk]:
        """Read one object of the stream, or a whole reply. Raises `Said` where the host reports an error in it."""

    def done(self) -> Iterator[Chunk]:
        """The host says that this was all (`[DONE]`)."""


class Said(Exception):
    """The host reports an error inside a reply; `body` is what it says."""

    def __init__(self, body: Any) -> None:
        super().__init__(str(body)[:200])
        self.body = body


class Wire(Protocol):
    """One provider's API."""

    provider: str

    def path(self) -> str:
        """Where requests go, below the base URL."""

    def headers(self, key: str) -> dict[str, str]:
        """The headers that carry the key, and what else this API wants."""

    def body(self, request: Request, model: Remote) -> dict[str, Any]:
        """Write a request."""

    def adjust(self, body: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
        """Put a person's settings into a body, where this API wants them."""

    def reading(self, model: Remote) -> Reading:
        """Begin to read a reply."""


_MOST_TOKENS = 10**12
_MOST_DOLLARS = 1e6
"""What no single call uses: more is a slip of the host, or a lie."""


def number(value: Any) -> int:
    """Read a count of tokens; what is none counts nothing."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MOST_TOKENS else 0


def money(value: Any) -> float:
    """Read dollars that a host reports; what is no amount costs nothing."""
    return (
        float(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _MOST_DOLLARS
        else 0.0
    )


def items(value: Any) -> list[Any]:
    """Read a list; what is none is empty."""
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """Read a text; what is none is empty."""
    return value if isinstance(value, str) else ""


def plain(url: str) -> str:
    """Give a URL without user, password and query, which may hold secrets."""
    head, separator, rest = url.partition("://")
    address = (rest if separator else head).partition("?")[0].partition("#")[0]
    shown = address.rpartition("@")[2] if "@" in address.partition("/")[0] else address
    return f"{head}://{shown}" if separator else shown


def based(url: str, *ends: str) -> str:
    """Give a base URL as people copy it without the `ends` that its API adds by itself; a query stays."""
    address, mark, query = url.strip().partition("?")
    address = address.rstrip("/")
    for end in ends:
        address = address.removesuffix(end)
    return f"{address}{mark}{query}"
