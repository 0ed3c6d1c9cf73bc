"""What an engine wants next: five steps, and the engine itself.

A step says what, never how: it holds no client, no clock and no callback, and it is not changed after it is made.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from agentkit.core.messages import Call, Chat
from agentkit.core.schema import Shape

if TYPE_CHECKING:
    from agentkit.tools.tool import Tool

__all__ = [
    "Act",
    "All",
    "Answer",
    "Ask",
    "Conclude",
    "Engine",
    "Loop",
    "Part",
    "Step",
    "Think",
    "nested",
    "replace",
    "tagged",
]

Tags = Mapping[str, Any]

NO_TAGS: Tags = MappingProxyType({})


def _no_tags() -> Tags:
    return NO_TAGS


@dataclass(slots=True)
class Think:
    """Ask a model to go on from `chat`; the result is a `Reply`.

    `choice="none"` offers the tools but asks for no call. `hears=False` keeps injected messages out of the request.
    With a `shape` the reply is data: JSON text in `answer`, or `readable` is false and `problems` say why. Its `dialect` is
    the level at which it was asked for; `finish` is "rejected" where the host does not know that way of asking. When the
    model of an `optional` one fails, the reply says so (`finish` is "error", no `answer`) and the run goes on.
    """

    kind: ClassVar[str] = "think"
    chat: Chat
    tools: tuple[Tool, ...] = ()
    role: str = "thought"
    tags: Tags = field(default_factory=_no_tags)
    choice: Literal["auto", "none"] = "auto"
    hears: bool = True
    shape: Shape | None = None
    optional: bool = False


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


def problem(step: Any) -> str:
    """Say what is wrong with what an engine yielded, empty when nothing is.

    Asked at the yield, since a check at construction would be paid for again by each `replace`.
    """
    kind = type(step)
    if kind is Think:
        if type(step.chat) is Chat and type(step.tools) is tuple:
            if step.shape is None or type(step.shape) is Shape:
                return ""
            return (
                f"Think is given a Shape, not {step.shape!r:.200}; data = yield from structured(chat, schema) makes it"
            )
        return f"Think is given a Chat (Chat.of(task) makes one) and a tuple of tools, not {step.chat!r:.200}, {step.tools!r:.200}"
    if kind is Act:
        if type(step.calls) is not tuple:
            return (
                f"Act is given a tuple of calls, as in Act(thought.calls) or Act((Call(...),)), not {step.calls!r:.200}"
            )
        for call in step.calls:
            if type(call) is not Call or type(call.arguments) is not dict:
                return f"an action is a Call with a name and a dict of arguments, not {call!r:.200}"
        return ""
    if kind is Ask:
        return "" if isinstance(step.question, str) else f"Ask is given a text, not {step.question!r:.200}"
    if kind is All:
        return (
            ""
            if isinstance(step.parts, tuple | list)
            else f"All is given a tuple of steps and engines, not {step.parts!r:.200}"
        )
    return "" if kind is Conclude else f"an engine yields steps (Think, Act, Ask, All, Conclude), not {step!r:.200}"


Engine = Generator[Step, Any, Answer]
"""A loop: yields steps, is sent their results, returns its answer. No I/O, no clock, no random, no print, no await."""

Part = Generator[Step, Any, Any]
"""A piece of an engine, to be delegated to with `yield from`: yields steps as an engine does, and returns anything."""

Loop = Callable[..., Engine]
"""An engine before it has a task: called with the task and keywords, it gives an `Engine`. A parameter that is annotated
with this name takes an engine by name or as a spec, such as `{"engine": "react", "max_iterations": 5}`, in `Agent(...)`."""


def nested(loop: Loop, task: Any, **offered: Any) -> Engine:
    """Begin an engine within another one, with those of the offered parameters that it has and that are not set already."""
    own = loop.keywords if isinstance(loop, functools.partial) else {}
    known = _parameters(loop.func if isinstance(loop, functools.partial) else loop)
    return loop(task, **{name: value for name, value in offered.items() if name in known and name not in own})


@functools.cache
def _parameters(loop: Loop) -> frozenset[str]:
    return frozenset(inspect.signature(loop).parameters)


class tagged:
    """Give each step of an engine these tags; where it has one of the same name itself, the outer one holds.

    To be delegated to with `yield from`, or to be a part of an `All`: the frames of the engine inside stay visible.
    """

    __name__ = "tagged"
    gi_frame = None  # no place of its own in a listing of frames

    def __init__(self, engine: Engine, **tags: Any) -> None:
        self.gi_yieldfrom = engine
        self.tags = tags

    def __iter__(self) -> tagged:
        return self

    def __next__(self) -> Step:
        return self._mark(next(self.gi_yieldfrom))

    def send(self, value: Any) -> Step:
        """Send a result to the engine inside, and mark what it asks for next."""
        return self._mark(self.gi_yieldfrom.send(value))

    def throw(self, error: BaseException) -> Step:
        """Raise an error in the engine inside."""
        return self._mark(self.gi_yieldfrom.throw(error))

    def close(self) -> None:
        """Let the engine inside go."""
        self.gi_yieldfrom.close()

    def _mark(self, step: Step) -> Step:
        if not hasattr(step, "tags"):
            return step  # no step at all: whoever drives says so
        more: dict[str, Any] = {"tags": {**step.tags, **self.tags}}
        if type(step) is All:
            parts = (tagged(part, **self.tags) if hasattr(part, "send") else self._mark(part) for part in step.parts)
            more["parts"] = tuple(parts)
        return replace(step, **more)
