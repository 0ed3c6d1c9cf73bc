"""Calls, messages, replies, and the chat that holds them.

Rule 1: nothing here is changed after it is made; to get another value, make a new one.
Rule 2: nothing here costs more for a long chat than for a short one, except reading it from end to end.
(The classes are slotted, not frozen: frozen ones cost five times as much per object. A test checks rule 1.)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from agentkit.core.display import Displayed
from agentkit.core.text import call_text, one_line
from agentkit.core.usage import Usage
from agentkit.inert import inert

Role = Literal["system", "user", "assistant", "tool"]


# `json.dumps` with options makes a new encoder each time
_SORTED = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str)
_UNSORTED = json.JSONEncoder(separators=(",", ":"), default=str)


def canonical(value: Any, *, sort: bool = True) -> bytes:
    """Return the canonical JSON of a value: sorted keys, no spaces, ASCII only, so that lone surrogates survive."""
    return (_SORTED if sort else _UNSORTED).encode(value).encode()


def digest(data: bytes) -> str:
    """Return a name for some bytes: the first 32 hexadecimal digits of their SHA-256."""
    return hashlib.sha256(data).hexdigest()[:32]


@dataclass(slots=True)
class Call:
    """A tool call that a model asks for.

    `problem` says why the arguments cannot be used (then the tool is not run); `raw` keeps them as the model wrote
    them. `coerced` describes each change that was made to fit the tool's schema.
    """

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    id: str = ""
    raw: str | None = None
    problem: str = ""
    coerced: tuple[str, ...] = ()


@dataclass(slots=True, repr=False)
class Message(Displayed):
    """A message of a chat.

    `text` is plain prose; `raw` is the same message as its model wrote it in `dialect`, markers included. A `tool`
    message answers the call `call_id` of tool `name`; `ok` is false if the tool failed, and `value` is what the tool
    returned, as JSON data, if that is more than the text. `may_have_run` is true if the tool was called and did not
    finish, so that its effect may have happened or may still happen. `notes` are the ids of the injected messages that
    it carries. `opaque` is data of one provider and is sent to no other.
    """

    role: Role
    text: str
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    name: str = ""
    ok: bool = True
    raw: str = ""
    dialect: str = ""
    reasoning: str = ""
    notes: tuple[str, ...] = ()
    pinned: bool = False
    value: Any = None
    opaque: Any = None
    may_have_run: bool = False
    _encoded: bytes | None = field(
        default=None, init=False, repr=False, compare=False
    )  # init=False: replace() computes it again
    _views: dict[Any, Any] | None = field(default=None, init=False, repr=False, compare=False)

    @inert
    def __repr__(self) -> str:
        asked = f" → {', '.join(map(call_text, self.calls))}" if self.calls else ""
        failed = "" if self.ok else "✗ "
        return f"{self.role}: {failed}{one_line(self.text)}{asked}"

    @property
    def encoded(self) -> bytes:
        """This message as JSON bytes, made once; the keys of arguments and values keep their order."""
        if self._encoded is None:
            self._encoded = canonical(message_to_json(self), sort=False)
        return self._encoded


def user(text: str, **more: Any) -> Message:
    """Return a user message."""
    return Message("user", text, **more)


def system(text: str, **more: Any) -> Message:
    """Return a system message."""
    return Message("system", text, **more)


def assistant(text: str, **more: Any) -> Message:
    """Return an assistant message."""
    return Message("assistant", text, **more)


@dataclass(slots=True)
class Token:
    """A token that a model wrote, its probability from 0 to 1, and the likeliest other tokens with theirs."""

    text: str
    probability: float
    others: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Reply:
    """The result of a `Think`.

    A model returns `text`, `calls`, `reasoning`, `usage`, `finish` and `opaque`; the dialect derives the rest from
    them: `calls` to perform or an `answer` (None while there are calls), `text` without protocol markup, `raw` as
    written, `problems` found while reading it, `cut` (the text after an invented observation), and `readable`, which is
    false if the reply does not follow its dialect. `attempts` is the number of model calls that it took; `heard` are
    the injected messages that its request carried. `tokens` are those of the whole reply, with what was cut, if the
    model tells how likely each was.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    answer: str | None = None
    reasoning: str = ""
    raw: str = ""
    dialect: str = ""
    problems: tuple[str, ...] = ()
    cut: str = ""
    readable: bool = True
    attempts: int = 1
    heard: tuple[Message, ...] = ()
    usage: Usage | None = None
    model: str = ""
    finish: str = ""
    opaque: Any = None
    tokens: tuple[Token, ...] = ()

    def __add__(self, later: Reply) -> Reply:
        """Return a later reply with this one's attempts, heard messages, problems and cut text added to its own."""
        return replace(
            later,
            attempts=self.attempts + later.attempts,
            heard=self.heard + later.heard,
            problems=self.problems + later.problems,
            cut=self.cut + later.cut,
        )

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages to add to a chat: the injected ones that were heard, then the assistant's own."""
        own = Message(
            "assistant",
            self.text,
            self.calls,
            "",
            "",
            True,
            self.raw,
            self.dialect,
            self.reasoning,
            (),
            False,
            None,
            self.opaque,
        )
        return (*self.heard, own) if self.heard else (own,)


class Chat:
    """An immutable sequence of messages; `chat + message` shares the past and costs the same at any length.

    What is added can be a `Message`, a `Reply`, a `str` (a user message) or any iterable of messages. `notes` are the
    ids of all injected messages in the chat. Iteration yields the messages, oldest first.
    """

    __slots__ = ("_digest", "_rendered", "last", "length", "notes", "past")

    def __init__(self, past: Chat | None = None, last: Message | None = None) -> None:
        self.past = past
        self.last = last
        self._digest: str | None = None
        self._rendered: dict[str, Any] | None = None  # by dialect: what `models` rendered from it
        if past is None:
            self.length = 0
            self.notes: frozenset[str] = frozenset()
        elif last is None:
            raise TypeError("use Chat.of(...) with a text, a message or messages to make a chat, not Chat(...)")
        else:
            self.length = past.length + 1
            self.notes = past.notes.union(last.notes) if last.notes else past.notes

    @classmethod
    def of(cls, messages: str | Message | Chat | Iterable[Any]) -> Chat:
        """Return the chat of a task: a text, a message, a chat, or messages (also dicts with `role` and `content`)."""
        if isinstance(messages, Chat):
            return messages
        if isinstance(messages, str | Message):
            return EMPTY + messages
        return EMPTY + [m if isinstance(m, Message) else message_from_dict(m) for m in messages]

    def __add__(self, more: Any) -> Chat:
        if type(more) is Message:
            return Chat(self, more)
        if isinstance(more, str):
            return Chat(self, user(more))
        chat = self
        for message in more.messages if type(more) is Reply else more:
            chat = Chat(chat, message)
        return chat

    def __len__(self) -> int:
        return self.length

    def nodes(self) -> Iterator[Chat]:
        """Yield this chat and each chat before it, newest first, without the empty one."""
        chat: Chat | None = self
        while chat is not None and chat.past is not None:
            yield chat
            chat = chat.past

    def __iter__(self) -> Iterator[Message]:
        messages = [node.last for node in self.nodes()]
        messages.reverse()
        return iter(messages)  # type: ignore[arg-type]

    def __getitem__(self, index: int | slice) -> Any:
        if index == -1 and self.last is not None:
            return self.last
        return list(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Chat) and self.length == other.length and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def digest(self) -> str:
        """A name for the content of this chat; each message is hashed only once."""
        waiting = []
        for node in self.nodes():
            if node._digest is not None:
                break
            waiting.append(node)
        for node in reversed(waiting):
            before = node.past.digest_or_root  # type: ignore[union-attr]
            node._digest = digest(before.encode() + node.last.encoded)  # type: ignore[union-attr]
        return self.digest_or_root

    @property
    def digest_or_root(self) -> str:
        """The digest, if it is known already; otherwise that of the empty chat, which is fixed."""
        return self._digest or "0" * 32

    @inert
    def __repr__(self) -> str:
        return f"Chat({len(self)} messages)"


EMPTY = Chat()


def message_to_json(message: Message) -> dict[str, Any]:
    """Return a message as JSON data, with sorted keys; fields at their default are left out."""
    data: dict[str, Any] = {"role": message.role, "text": message.text}
    for name, default in _DEFAULTS:
        value = getattr(message, name)
        if value != default:
            data[name] = value
    if message.calls:
        data["calls"] = [call_to_json(call) for call in message.calls]
    return dict(sorted(data.items()))


def message_from_json(data: dict[str, Any]) -> Message:
    """Return the message that `message_to_json` wrote as JSON data."""
    data = dict(data)
    data["calls"] = tuple(call_from_json(call) for call in data.get("calls", ()))
    data["notes"] = tuple(data.get("notes", ()))
    return Message(**data)


def call_to_json(call: Call) -> dict[str, Any]:
    """Return a call as JSON data, with sorted keys."""
    data: dict[str, Any] = {"name": call.name, "arguments": call.arguments, "id": call.id}
    if call.raw is not None:
        data["raw"] = call.raw
    if call.problem:
        data["problem"] = call.problem
    if call.coerced:
        data["coerced"] = list(call.coerced)
    return dict(sorted(data.items()))


def call_from_json(data: dict[str, Any]) -> Call:
    """Return the call that `call_to_json` wrote as JSON data."""
    return Call(**{**data, "coerced": tuple(data.get("coerced", ()))})


def tokens_to_json(tokens: tuple[Token, ...]) -> list[Any]:
    """Return tokens as compact JSON data: `[text, probability]`, or `[text, probability, others]`."""
    return [[t.text, t.probability, t.others] if t.others else [t.text, t.probability] for t in tokens]


def tokens_from_json(data: list[Any]) -> tuple[Token, ...]:
    """Return the tokens that `tokens_to_json` wrote as JSON data."""
    return tuple(Token(*token) for token in data)


def message_from_dict(data: Any) -> Message:
    """Return a message made from a dict or an object with `role` and `content`, as other libraries use them.

    The role "developer" is system. Raises `ValueError` if the role is not one of system, user, assistant and tool.
    """
    get = _getter(data)
    role: Any
    role, content = get("role"), get("content", "")
    role = getattr(role, "value", role)
    role = "system" if role == "developer" else role
    if role not in ("system", "user", "assistant", "tool"):
        raise ValueError(f"the role of a message must be system, user, assistant or tool, not {role!r}")
    if isinstance(content, list):
        content = "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    calls = tuple(_call_from_dict(call) for call in get("tool_calls") or ())
    return Message(role, content or "", calls, get("tool_call_id") or "", get("name") or "")


def _call_from_dict(data: Any) -> Call:
    get = _getter(data)
    function = _getter(get("function") or data)
    arguments = function("arguments") or {}
    arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(function("name"), str):
        raise ValueError(f"a call in a message must have the name of a tool, not {function('name')!r:.100}")
    return Call(function("name"), arguments, get("id") or "")


def _getter(data: Any) -> Callable[..., Any]:
    """Return a function that looks up a field of a dict or of an object."""
    return data.get if isinstance(data, dict) else lambda name, default=None: getattr(data, name, default)


_DEFAULTS = tuple(
    (f.name, f.default)
    for f in fields(Message)
    if f.name not in ("role", "text", "calls") and not f.name.startswith("_")
)
