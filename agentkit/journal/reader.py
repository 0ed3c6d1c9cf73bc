"""Turn lines of JSON back into rows, and check that messages and chats match their digests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentkit.core.messages import (
    EMPTY,
    Call,
    Chat,
    Message,
    Reply,
    call_from_json,
    digest,
    message_from_json,
    tokens_from_json,
)
from agentkit.core.schema import Shape
from agentkit.core.steps import Act, Ask, Conclude, End, Step, Think
from agentkit.core.usage import Usage
from agentkit.journal import check
from agentkit.journal.entries import Entry, Note, Row
from agentkit.journal.json_lines import loads, parse
from agentkit.tools.tool import UNDECLARED, as_native

Json = dict[str, Any]
OWN = ("text", "calls", "reasoning", "raw", "dialect", "opaque")  # the fields that a reply shares with its message


@dataclass(slots=True)
class RecordedTool:
    """A tool as it is recorded: everything but the function."""

    name: str
    digest: str
    description: str = ""
    parameters: Json = field(default_factory=dict)
    returns: Json = field(default_factory=dict)
    effect: str = UNDECLARED

    @property
    def schema(self) -> Json:
        """The four keys that describe the tool in a toolbox."""
        about = {"name": self.name, "description": self.description}
        return {**about, "argument_schema": self.parameters, "output_schema": self.returns}

    @property
    def native(self) -> Json:
        """The tool in the form that APIs with native tool calls expect."""
        return as_native(self.name, self.description, self.parameters)


_MAX_NOTES = 1_000_000


class InvalidRow(ValueError):
    """A row that no run has written; the message is the end of a sentence that begins with the row."""


class Reader:
    """A decoder for the rows of one tree, in order.

    `ValueError` (also `InvalidRow`), `KeyError`, `TypeError`, `AttributeError` or `IndexError` means a damaged row.
    Messages and tools are checked here, rows by `check.Checker`.
    """

    def __init__(self) -> None:
        self.chats: dict[str, Chat] = {EMPTY.digest: EMPTY}
        self.stored: dict[str, Any] = {}
        self._notes = 0

    def decode(self, body: str) -> Row:
        """Return the row that these lines encode."""
        first, *rest = body.split("\n")
        for line in rest:
            self._take(line)
        data = loads(first)
        if "note" in data:
            return Note(data["note"], data.get("data", {}), data.get("at", 0.0))
        entry = Entry(data.pop("parent"), data.pop("entry"))
        for name, decode in (
            ("step", self._step),
            ("performed", self._step),
            ("result", self._result),
            ("usage", _usage),
        ):
            if name in data:
                setattr(entry, name, decode(data.pop(name)))
        for name, value in data.items():
            setattr(entry, name, value)
        return entry

    def _take(self, line: str) -> None:
        text, data = line, parse(line)
        if isinstance(data, dict) and "verbatim" in data:
            text = data["verbatim"]
            data = parse(text)
        if isinstance(data, list):
            self._store(line.encode(), tuple(RecordedTool(**tool) for tool in data))
            return
        message = message_from_json(data)
        message._encoded = text.encode()
        self._store(message._encoded, message)

    def _store(self, encoded: bytes, value: Any) -> None:
        if problem := check.stored_problem(value):
            raise InvalidRow(problem)
        self.stored[digest(encoded)] = value

    def _chat(self, data: Json) -> Chat:
        if "then" in data:
            chat = self.chats[data["past"]]
            for name in data["then"]:
                chat = self._longer(chat, self.stored[name])
                chat = self.chats.setdefault(chat.digest, chat)
            if chat.digest != data["is"]:
                raise ValueError(f"chat {data['is']} does not contain the messages that were stored in it")
        return self.chats[data["is"]]

    def _longer(self, chat: Chat, message: Message) -> Chat:
        """Return a chat with another message. Each chat has the set of all injected messages, so these are limited."""
        longer = Chat(chat, message)
        if message.notes:
            self._notes += len(longer.notes)
            if self._notes > _MAX_NOTES:
                raise InvalidRow("contains chats with too many injected messages")
        return longer

    def _step(self, data: Json) -> Step:
        kind, role, tags = data["do"], data["role"], data.get("tags", {})
        if kind == "think":
            tools = self.stored[data["tools"]] if "tools" in data else ()
            shape = Shape(**data["shape"]) if "shape" in data else None
            choice, hears, optional = data.get("choice", "auto"), data.get("hears", True), data.get("optional", False)
            chat, answers = self._chat(data["chat"]), data.get("answers", False)
            return Think(chat, tools, role, tags, choice, hears, shape, optional, answers)
        if kind == "act":
            return Act(self._call(data["call"]), role, tags)
        if kind == "ask":
            return Ask(data["question"], role, tags, tuple(data["choices"]))
        return Conclude(data["answer"], role, tags, data.get("interrupted", ""))

    def _call(self, data: Any) -> Call:
        if isinstance(data, list):
            message, position = data
            call: Call = self.stored[message].calls[position]
            return call
        return call_from_json(data)

    def _result(self, data: Json) -> Any:
        if "reply" in data:
            return self._reply(dict(data["reply"]))
        if "message" in data:
            return self.stored[data["message"]]
        if "end" in data:
            return End(**data["end"])
        return data["json"]

    def _reply(self, data: Json) -> Reply:
        own: Message = self.stored[data.pop("message")]
        if data.get("answer") is True:
            data["answer"] = own.text
        data["heard"] = tuple(self.stored[name] for name in data.get("heard", ()))
        data["problems"] = tuple(data.get("problems", ()))
        data["usage"] = _usage(data["usage"]) if "usage" in data else None
        data["tokens"] = tokens_from_json(data.get("tokens", ()))
        shared = {name: getattr(own, name) for name in OWN}
        return Reply(**shared, **data)


def _usage(data: Json) -> Usage:
    return Usage(**data)
