"""Turn rows into lines of JSON; a chat is written once per tree, even if many steps repeat it.

A row is stored as lines of JSON. The first line is the row itself; each further line is an object that no earlier row
of the tree refers to: a message, or the tools that a model was offered. The name of such an object is the digest of its
line. A chat is named by its own digest, and is written as the nearest chat that the tree contains (`past`) and the
messages that follow it (`then`). So the size of a row is the size of what is new in it, and the reader can rebuild
every chat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

from agentkit.core.messages import (
    EMPTY,
    Chat,
    Message,
    Reply,
    call_to_json,
    canonical,
    digest,
    message_from_json,
    tokens_to_json,
)
from agentkit.core.schema import Shape
from agentkit.core.secrets import mask, mask_json, may_contain
from agentkit.core.steps import Act, Ask, Conclude, End, Step, Think
from agentkit.core.usage import Usage
from agentkit.journal.entries import Entry, Note, Row
from agentkit.journal.json_lines import dumps, encoded, loads, parse, tame, verbatim
from agentkit.journal.reader import OWN, Reader

Json = dict[str, Any]
Mask = Callable[[str], str]
ROOT = EMPTY.digest


class Writer:
    """An encoder for the rows of one tree, which remembers what the tree contains already.

    What `encode` adds is remembered only after `keep` is called, so that a row that could not be written can be tried
    again.
    """

    def __init__(self, mask: Mask | None = None) -> None:
        self._mask = mask
        self._stored: dict[
            str, str
        ] = {}  # digest of a message -> the digest that it is stored under, which differs if it was masked
        self._chats = {ROOT: ROOT}  # the same for chats
        self._hidden: set[str] = set()  # the messages that were masked
        self._tools: dict[int, tuple[Any, str]] = {}  # by id(), which the tuple in the value keeps valid
        self._calls: tuple[Any, str] = ((), "")  # the calls of the last reply, and the digest of its message
        self._new: dict[str, str] = {}  # digest -> line
        self._new_names: dict[str, str] = {}
        self._new_chats: dict[str, str] = {}

    def encode(self, row: Row) -> str:
        """Return the lines of a row, as one ASCII text."""
        self._new.clear()
        self._new_names.clear()
        self._new_chats.clear()
        data = _note(row) if isinstance(row, Note) else self._entry(row)
        return "\n".join((self._line(data), *self._new.values()))

    def keep(self) -> None:
        """Remember what the last row added, now that it is stored."""
        self._stored.update(self._new_names)
        self._chats.update(self._new_chats)

    def knows(self, reader: Reader) -> None:
        """Take over from a reader what the tree contains already."""
        self._stored.update({name: name for name in reader.stored})
        self._chats.update({name: name for name in reader.chats})

    def _line(self, data: Any) -> str:
        text = dumps(data)
        if not self._may_hide(text):
            return text
        found = loads(text)
        masked = self._hide(found)
        return text if masked is found else dumps(masked)

    def _may_hide(self, text: str) -> bool:
        """Return whether something may have to be masked in the data whose JSON this is."""
        return self._mask is not None and (self._mask is not mask or may_contain(text))

    def _hide(self, data: Any) -> Any:
        assert self._mask is not None
        try:
            return mask_json(data, self._mask)
        except RecursionError:
            return mask_json(tame(data), self._mask)

    def _entry(self, entry: Entry) -> Json:
        data: Json = {"entry": entry.kind, "parent": entry.parent}
        for name, default in _ENTRY:
            value = getattr(entry, name)
            if value != default:
                data[name] = value
        if entry.usage is not None:
            data["usage"] = _plain(entry.usage, _USAGE)
        if entry.step is not None:
            data["step"] = self._step(entry.step)
        if entry.performed is not None and entry.performed is not entry.step:
            data["performed"] = self._step(entry.performed)
        if entry.result is not None:
            data["result"] = self._result(entry.result)
        return data

    def _step(self, step: Step) -> Json:
        data: Json = {"do": step.kind, "role": step.role}
        if step.tags:
            data["tags"] = dict(step.tags)
        if isinstance(step, Think):
            data["chat"] = self._chat(step.chat)
            if step.tools:
                data["tools"] = self._offer(step.tools)
            if step.choice != "auto" or not step.hears:
                data.update(choice=step.choice, hears=step.hears)
            if step.shape is not None:
                data["shape"] = _plain(step.shape, _SHAPE) | {"name": step.shape.name, "schema": step.shape.schema}
            if step.optional:
                data["optional"] = True
            if step.answers:
                data["answers"] = True
        elif isinstance(step, Act):
            calls, holder = self._calls
            position = next((n for n, call in enumerate(calls) if call is step.call), None)
            known = position is not None and holder in self._stored
            data["call"] = [holder, position] if known else call_to_json(step.call)
        elif isinstance(step, Ask):
            data.update(question=step.question, choices=list(step.choices))
        elif isinstance(step, Conclude):
            data["answer"] = step.answer
            if step.interrupted:
                data["interrupted"] = step.interrupted
        return data

    def _result(self, result: Any) -> Json:
        if isinstance(result, Reply):
            return {"reply": self._reply(result)}
        if isinstance(result, Message):
            return {"message": self._message(result)}
        if isinstance(result, End):
            return {"end": {"answer": result.answer, "reason": result.reason, "scope": result.scope}}
        return {"json": result}

    def _reply(self, reply: Reply) -> Json:
        own = self._message(reply.messages[-1])
        self._calls = (reply.calls, own)
        data = {"message": own, **_plain(reply, _REPLY)}
        if reply.answer is not None:
            data["answer"] = True if reply.answer == reply.text else reply.answer
        if reply.heard:
            data["heard"] = [self._message(message) for message in reply.heard]
        if reply.usage is not None:
            data["usage"] = _plain(reply.usage, _USAGE)
        if reply.tokens:
            data["tokens"] = tokens_to_json(reply.tokens)
        return data

    def _chat(self, chat: Chat) -> Json:
        waiting = []
        for node in chat.nodes():
            if node._digest is not None and self._stored_chat(node._digest):
                break
            waiting.append(node)
        first = waiting[-1].past if waiting else chat
        past = stored = self._stored_chat(first.digest)  # type: ignore[union-attr]
        then = []
        for node in reversed(waiting):
            message: Message = node.last  # type: ignore[assignment]
            then.append(self._message(message))
            if stored == node.past.digest and then[-1] not in self._hidden:  # type: ignore[union-attr]
                stored = node.digest
            else:
                stored = digest(stored.encode() + self._masked(message).encoded)
            self._new_chats[node.digest] = stored
        return {"is": stored, "past": past, "then": then} if then else {"is": stored}

    def _stored_chat(self, name: str) -> str:
        return self._chats.get(name) or self._new_chats.get(name, "")

    def _message(self, message: Message) -> str:
        data = encoded(message)
        name = digest(data)
        known = self._stored.get(name) or self._new_names.get(name)
        if known:
            return known
        text, own = data.decode(), name
        if self._may_hide(text) and (masked := self._hide(found := parse(text))) is not found:
            data = message_from_json(masked).encoded
            own, text = digest(data), data.decode()
            self._hidden.add(own)
        self._new_names[name] = self._new_names[own] = own
        self._new[own] = verbatim(text) if "NaN" in text or "Infinity" in text else text
        return own

    def _masked(self, message: Message) -> Message:
        return message_from_json(self._hide(parse(encoded(message).decode()))) if self._mask else message

    def _offer(self, tools: tuple[Any, ...]) -> str:
        _, name = self._tools.get(id(tools), (None, ""))
        if name not in self._stored:
            line = self._line([_plain_tool(tool) for tool in tools])
            name = digest(line.encode())
            if len(self._tools) > 100:
                self._tools.clear()
            self._tools[id(tools)] = (tools, name)
            if name not in self._stored:
                self._new[name] = line
                self._new_names[name] = name
        return name


def _note(note: Note) -> Json:
    return {"note": note.kind, "at": note.at, "data": note.data}


def _plain(value: Any, names: tuple[tuple[str, Any], ...]) -> Json:
    """Return the named fields that differ from their default."""
    return {name: got for name, default in names if (got := getattr(value, name)) != default}


def _plain_tool(tool: Any) -> Json:
    data = {
        name: getattr(tool, name) for name in ("description", "parameters", "returns", "effect") if hasattr(tool, name)
    }
    name = getattr(tool, "digest", "") or digest(
        canonical([tool.name, data.get("description"), data.get("parameters")])
    )
    return {"name": tool.name, "digest": name, **data}


def _defaults(kind: Any, *without: str) -> tuple[tuple[str, Any], ...]:
    return tuple((f.name, f.default) for f in fields(kind) if f.default is not MISSING and f.name not in without)


_REPLY = _defaults(Reply, *OWN, "answer", "heard", "usage", "tokens")
_USAGE = _defaults(Usage)
_SHAPE = _defaults(Shape)
_ENTRY = _defaults(Entry, "step", "performed", "result", "usage", "run", "id")
