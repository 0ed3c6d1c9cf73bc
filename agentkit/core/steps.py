"""What an engine can ask for: four kinds of steps; and what an engine is.

A step says what to do, never how: it contains no client, no clock and no callback, and it is not changed after it is
made.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Protocol

from agentkit.core.messages import Call, Chat
from agentkit.core.schema import Shape
from agentkit.inert import inert

__all__ = [
    "NO_TAGS",
    "Act",
    "After",
    "All",
    "Answer",
    "Ask",
    "Conclude",
    "End",
    "Engine",
    "Loop",
    "OfferedTool",
    "Part",
    "Scope",
    "Step",
    "Tags",
    "Think",
    "capped",
    "merged_tags",
    "problem",
    "replace",
    "tagged",
    "timed",
    "warned",
    "warnings_in",
]

Tags = Mapping[str, Any]

NO_TAGS: Tags = MappingProxyType({})


def _no_tags() -> Tags:
    return NO_TAGS


class OfferedTool(Protocol):
    """What an engine knows about a tool: how it is described to a model."""

    @property
    def name(self) -> str:
        """The name that the model uses to call it."""

    @property
    def description(self) -> str:
        """A description of what it does, for the model."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""

    @property
    def schema(self) -> dict[str, Any]:
        """The name, the description, and the schemas of the arguments and the result."""

    @property
    def native(self) -> dict[str, Any]:
        """The tool in the form that APIs with native tool calls expect."""

    @property
    def digest(self) -> str:
        """A digest of all of this."""


Tools = tuple[OfferedTool, ...]


@dataclass(slots=True)
class Think:
    """Ask a model to continue `chat`; the result is a `Reply`.

    With `choice="none"`, the tools are described but the model is asked not to call any. `hears=False` keeps injected
    messages out of the request. With a `shape`, the reply is data, as JSON text in `answer`; if there is no such data,
    `readable` is false and `problems` say why. The `dialect` of such a reply is the level at which it was requested,
    and `finish` is "rejected" if the host does not support that level. If the model fails in an `optional` step, the
    run continues with a reply whose `finish` is "error" and which has no `answer`. `answers` means that the text of the
    reply is the answer of the engine as it is, so that the host may be asked to hold it to the type of the answer.
    """

    kind: ClassVar[str] = "think"
    chat: Chat
    tools: Tools = ()
    role: str = "thought"
    tags: Tags = field(default_factory=_no_tags)
    choice: Literal["auto", "none"] = "auto"
    hears: bool = True
    shape: Shape | None = None
    optional: bool = False
    answers: bool = field(default=False, compare=False)


@dataclass(slots=True)
class Act:
    """Call a tool; the result is a `tool` message."""

    kind: ClassVar[str] = "act"
    call: Call
    role: str = "action"
    tags: Tags = field(default_factory=_no_tags)

    @classmethod
    def each(cls, calls: Sequence[Call], role: str = "action", tags: Tags = NO_TAGS) -> Act | All:
        """Return the step that makes these calls: an `Act`, or an `All` of them if there are several."""
        if len(calls) == 1:
            return cls(calls[0], role, tags)
        return All(tuple(cls(call, role, tags) for call in calls), role, tags)


@dataclass(slots=True)
class Ask:
    """Ask a person; the result is the text of the answer."""

    kind: ClassVar[str] = "ask"
    question: str
    role: str = "question"
    tags: Tags = field(default_factory=_no_tags)
    choices: tuple[str, ...] = ()


@dataclass(slots=True)
class All:
    """Do several things in parallel, each in its own lane; the result is a tuple of their results, in order.

    A part is a step, an engine (a generator, whose return value is its result), or an `After`. At most `limit` parts
    run at the same time; 0 means no limit.
    """

    kind: ClassVar[str] = "all"
    parts: tuple[Any, ...]
    role: str = "all"
    tags: Tags = field(default_factory=_no_tags)
    limit: int = 0

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls, if every part is an `Act`; otherwise an empty tuple."""
        calls = tuple(part.call for part in self.parts if type(part) is Act)
        return calls if len(calls) == len(self.parts) else ()


@dataclass(slots=True)
class After:
    """A part of an `All` that needs the results of other parts; `needs` are their positions.

    When those parts have finished, `begin(*results)` is called. It returns the part to run; any other value becomes the
    result of this part, and nothing is run.
    """

    needs: tuple[int, ...]
    begin: Callable[..., Any]


@dataclass(slots=True)
class Conclude:
    """Propose the final answer; the result is None, or a message that must be answered first.

    The stepper makes this step when the outermost engine has returned its `Answer`.
    """

    kind: ClassVar[str] = "conclude"
    answer: str
    role: str = "answer"
    tags: Tags = field(default_factory=_no_tags)
    interrupted: str = ""


Step = Think | Act | Ask | All | Conclude


@dataclass(slots=True)
class Answer:
    """What an engine returns: the answer, the chat that led to it, and why it ended early, if it did.

    With `propose=False`, the answer is taken as it is: the stepper makes no `Conclude` of it.
    """

    text: str
    chat: Chat
    interrupted: str = ""
    tags: Tags = field(default_factory=_no_tags)
    propose: bool = True


@dataclass(slots=True)
class End:
    """A value that replaces the result of a step and ends the run with this answer, or only the part at `scope`.

    `scope` is the frame path of a `Scope`; "" means the whole run.
    """

    answer: str
    reason: str
    scope: str = ""


def problem(step: Any) -> str:
    """Return what is wrong with a value that an engine yielded, or "".

    Steps are checked when they are yielded, because a check at construction would run again at each `replace`.
    """
    kind = type(step)
    if kind is Think:
        if type(step.chat) is Chat and type(step.tools) is tuple:
            if step.shape is None or type(step.shape) is Shape:
                return ""
            return f"Think takes a Shape, not {step.shape!r:.200}; use data = yield from structured(chat, schema)"
        return (
            f"Think takes a Chat (Chat.of(task) makes one) and a tuple of tools, "
            f"not {step.chat!r:.200}, {step.tools!r:.200}"
        )
    if kind is Act:
        call = step.call
        if type(call) is Call and type(call.arguments) is dict:
            return ""
        hint = "; for several calls, yield Act.each(calls)" if isinstance(call, tuple | list) else ""
        return f"Act takes one Call with a name and a dict of arguments, not {call!r:.200}{hint}"
    if kind is Ask:
        return "" if isinstance(step.question, str) else f"Ask takes a str, not {step.question!r:.200}"
    if kind is All:
        if isinstance(step.parts, tuple | list):
            return ""
        return f"All takes a tuple of steps and engines, not {step.parts!r:.200}"
    if kind is Conclude:
        return "an engine ends with `return Answer(text, chat)`; the answer is then proposed without a Conclude"
    return f"an engine yields steps (Think, Act, Ask, All), not {step!r:.200}"


Engine = Generator[Step, Any, Answer]
"""A loop: yields steps, is sent their results, returns its answer. No I/O, clock, random numbers, print or await."""

Part = Generator[Step, Any, Any]
"""A piece of an engine, to be delegated to with `yield from`: yields steps as an engine does, and returns anything."""


class Loop:
    """An engine that has no task yet: a generator function, or its name, with its options.

    `Agent(engine=Loop("reflexion", max_reflections=2, actor="plan_and_execute"))`. If a parameter of an engine is
    annotated with this type, it takes another engine: a `Loop`, a generator function, or a name.
    """

    __slots__ = ("engine", "options")

    def __init__(self, engine: str | Callable[..., Engine], /, **options: Any) -> None:
        self.engine = engine
        self.options = options

    def begin(self, task: Any, **offered: Any) -> Engine:
        """Start the engine on a task and return it; offered options that it has, and that are not set yet, are set."""
        assert callable(self.engine), f"the engine {self.engine!r} is only a name so far; agentkit.Agent looks it up"
        known = _parameters(self.engine)
        return self.engine(task, **{name: value for name, value in offered.items() if name in known} | self.options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loop) and (self.engine, self.options) == (other.engine, other.options)

    __hash__ = None  # type: ignore[assignment]

    @inert
    def __repr__(self) -> str:
        name = self.engine if isinstance(self.engine, str) else getattr(self.engine, "__name__", repr(self.engine))
        return f"Loop({', '.join([repr(name), *(f'{key}={value!r}' for key, value in self.options.items())])})"


@functools.cache
def _parameters(engine: Callable[..., Engine]) -> frozenset[str]:
    return frozenset(inspect.signature(engine).parameters)


class Scope:
    """A part of an engine with its own tags, limits or deadline.

    Delegate to it with `yield from`, or make it a part of an `All`. The stepper keeps track of it: each step inside
    gets the tags (if a tag is set twice, the outer value counts), `limits` are a budget that all steps inside share,
    and `seconds` is the time that they may take together.
    """

    __slots__ = ("answer", "engine", "limits", "seconds", "tags")

    def __init__(
        self,
        engine: Part,
        *,
        tags: Tags = NO_TAGS,
        limits: Mapping[str, float] = NO_TAGS,
        seconds: float | None = None,
    ) -> None:
        self.engine = engine
        self.tags = tags
        self.limits = limits
        self.seconds = seconds
        self.answer: Answer | None = None

    def __iter__(self) -> Scope:
        return self

    def __next__(self) -> Step:
        return self.send(None)

    def send(self, value: Any) -> Step:
        """Send a result to the engine inside and return its next step; if the scope was ended, close the engine."""
        if self.answer is not None:
            self.engine.close()
            raise StopIteration(self.answer)
        return self.engine.send(value)

    def throw(self, error: BaseException) -> Step:
        """Raise an error in the engine inside."""
        return self.engine.throw(error)

    def close(self) -> None:
        """Close the engine inside."""
        self.engine.close()


def tagged(engine: Part, **tags: Any) -> Scope:
    """Add these tags to each step of an engine: `yield from tagged(react(...), episode=2)`."""
    return Scope(engine, tags=tags)


def warned(*sources: str | Answer) -> dict[str, tuple[str, ...]]:
    """Return the tag that says what an engine could not do as it was meant to; no tag if there is nothing to say.

    A source is a text, empty if nothing went wrong, or the answer of a nested engine, whose warnings are passed on. Put
    the tag on a later step or on the `Answer`: an event tells each warning once.
    """
    tags = [source.tags if isinstance(source, Answer) else {"warning": source} for source in sources]
    texts = tuple(dict.fromkeys(text for each in tags for text in warnings_in(each)))
    return {"warning": texts} if texts else {}


def merged_tags(inner: Tags, outer: Tags) -> dict[str, Any]:
    """Return the tags of a step and those of what it runs in; the outer value counts, but no warning is lost."""
    merged = {**inner, **outer}
    if warnings := (*warnings_in(inner), *warnings_in(outer)):
        merged["warning"] = tuple(dict.fromkeys(warnings))
    return merged


def warnings_in(tags: Tags) -> tuple[str, ...]:
    """Return the warnings in some tags; an engine may give one as a text."""
    value = tags.get("warning") or ()
    return (value,) if isinstance(value, str) else tuple(map(str, value)) if isinstance(value, tuple | list) else ()


def capped(engine: Part, **limits: float) -> Scope:
    """Give a nested engine its own budget: `yield from capped(react(...), max_model_calls=5)`.

    The names are those of `Budget`. When a limit is reached, only this engine ends, with the answer that it has so far.
    """
    return Scope(engine, limits=limits)


def timed(engine: Part, seconds: float | None) -> Scope:
    """Give a nested engine a time limit. Only the time during which its steps are being performed counts."""
    return Scope(engine, seconds=seconds)
