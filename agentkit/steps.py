"""What an engine wants next: five steps, and the engine itself.

A step says what, never how: it holds no client, no clock and no callback, and it is not changed after it is made.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from agentkit.messages import Call, Chat

if TYPE_CHECKING:
    from agentkit.tools.tool import Tool

__all__ = ["Act", "All", "Answer", "Ask", "Conclude", "Engine", "Step", "Think", "replace"]

Tags = Mapping[str, Any]

NO_TAGS: Tags = MappingProxyType({})


def _no_tags() -> Tags:
    return NO_TAGS


@dataclass(slots=True)
class Think:
    """Ask a model to go on from `chat`; the result is a `Reply`.

    `choice="none"` offers the tools but asks for no call. `hears=False` keeps injected messages out of the request.
    """

    kind: ClassVar[str] = "think"
    chat: Chat
    tools: tuple[Tool, ...] = ()
    role: str = "thought"
    tags: Tags = field(default_factory=_no_tags)
    choice: Literal["auto", "none"] = "auto"
    hears: bool = True


@dataclass(slots=True)
class Act:
    """Run tools, several at once when there are several calls; the result is one `tool` message per call, in order."""

    kind: ClassVar[str] = "act"
    calls: tuple[Call, ...]
    role: str = "action"
    tags: Tags = field(default_factory=_no_tags)


@dataclass(slots=True)
class Ask:
    """Ask a person; the result is the text that they gave."""

    kind: ClassVar[str] = "ask"
    question: str
    role: str = "question"
    tags: Tags = field(default_factory=_no_tags)
    choices: tuple[str, ...] = ()


@dataclass(slots=True)
class All:
    """Do several things side by side, each in a lane of its own; the result is a tuple of their results, in order.

    A part is a step, or an engine (a generator) whose `Answer` is its result.
    """

    kind: ClassVar[str] = "all"
    parts: tuple[Any, ...]
    role: str = "all"
    tags: Tags = field(default_factory=_no_tags)


@dataclass(slots=True)
class Conclude:
    """Propose the final answer; the result is None, or a message that must be answered first."""

    kind: ClassVar[str] = "conclude"
    answer: str
    role: str = "answer"
    tags: Tags = field(default_factory=_no_tags)


Step = Think | Act | Ask | All | Conclude


@dataclass(slots=True)
class Answer:
    """What an engine returns: the answer, the chat that led to it, and why it ended early, if it did."""

    text: str
    chat: Chat
    interrupted: str = ""


Engine = Generator[Step, Any, Answer]
"""A loop: yields steps, is sent their results, returns its answer. No I/O, no clock, no random, no print, no await."""
