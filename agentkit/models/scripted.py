"""Models without a model: `Scripted` gives replies that were written down before, `Echo` says what it was told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from agentkit.core.messages import Reply
from agentkit.core.usage import Usage
from agentkit.errors import NotRecorded
from agentkit.models.base import Abilities, CallDelta, Chunk, Output, Request

Line = Reply | str | BaseException | Callable[[Request], Any]
"""One line of a script: a reply, an error to raise, or a function that is given the request and gives one of these."""


class Scripted:
    """A model that follows a script, for tests, lessons and documentation.

    Every request is rendered as for a real model: `requests` holds them as they would be sent, `raw_requests` as they
    came. `usage` is reported for replies that name none. With `chunks`, replies are streamed in pieces of that many
    characters. May be called from several threads; the script is followed in the order of the calls.
    Raises `NotRecorded` when the script is at its end.
    """

    def __init__(
        self,
        replies: Iterable[Line],
        *,
        abilities: Abilities | None = None,
        name: str = "scripted",
        usage: Usage | None = None,
        chunks: int = 0,
    ) -> None:
        if isinstance(replies, str | Reply):
            raise TypeError("a script is a list of replies, also when there is only one: Scripted([reply])")
        if chunks < 0:
            raise ValueError(f"chunks is a number of characters, or 0 for whole replies, not {chunks}")
        self.name = name
        self.abilities = abilities or Abilities()
        self.usage = usage
        self.requests: list[dict[str, Any]] = []
        self.raw_requests: list[Request] = []
        self._lines = iter(replies)
        self._given = 0
        self._chunks = chunks
        self._lock = threading.Lock()

    @property
    def calls(self) -> int:
        """How many requests were made."""
        return len(self.requests)

    def __call__(self, request: Request) -> Output:
        sent = request.to_dict()
        with self._lock:
            self.requests.append(sent)
            self.raw_requests.append(request)
            line: Any = next(self._lines, _END)
            self._given += line is not _END
        if line is _END:
            raise NotRecorded(self._ended(sent))
        while callable(line) and not isinstance(line, type):
            line = line(request)
        if isinstance(line, BaseException):
            raise line
        reply = Reply(line) if isinstance(line, str) else line
        if not isinstance(reply, Reply):
            return reply
        reply = reply if reply.usage or not self.usage else replace(reply, usage=self.usage)
        return pieces(reply, self._chunks) if self._chunks else reply

    def _ended(self, sent: dict[str, Any]) -> str:
        messages = sent["messages"]
        last = f"{messages[-1]['role']}: {str(messages[-1]['content'])[:300]!r}" if messages else "no message at all"
        return (
            f"the script of {self.name!r} had {self._given} replies and was asked for one more "
            f"(role {sent['role']!r}); the last message of that request is {last}"
        )

    def __repr__(self) -> str:
        return f"<Scripted {self.name!r}: {self.calls} requests>"


_END: Any = object()


class Echo:
    """A model that repeats the last thing a person said, as its final answer."""

    name = "echo"
    abilities = Abilities()

    def __call__(self, request: Request) -> Reply:
        said = [message.text for message in request.chat if message.role == "user"]
        return Reply(f"FINAL_ANSWER: {said[-1] if said else ''}", finish="stop")


def pieces(reply: Reply, size: int) -> Iterator[Chunk]:
    """Stream a reply: reasoning, text and calls in pieces of `size` characters, then the end."""
    for at in range(0, len(reply.reasoning), size):
        yield Chunk(reasoning=reply.reasoning[at : at + size])
    for at in range(0, len(reply.text), size):
        yield Chunk(reply.text[at : at + size])
    for n, call in enumerate(reply.calls):
        yield Chunk(call=CallDelta(n, call.id, call.name))
        written = call.raw if call.raw is not None else _json(call.arguments)
        for at in range(0, len(written), size):
            yield Chunk(call=CallDelta(n, arguments=written[at : at + size]))
    yield Chunk(usage=reply.usage, finish=reply.finish or ("tool_calls" if reply.calls else "stop"))


def _json(value: Any) -> str:
    import json

    return json.dumps(value)
