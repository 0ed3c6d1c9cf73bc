"""Models without a model: `Scripted` returns replies that were written beforehand, `Echo` repeats what it was told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, overload

from agentkit.core.checked_arguments import checked
from agentkit.core.messages import Reply
from agentkit.core.usage import Usage
from agentkit.errors import NotRecorded
from agentkit.inert import inert
from agentkit.models.base import Abilities, CallDelta, Chunk, Output, Request

Line = Reply | str | BaseException | Callable[[Request], Any]
"""One line of a script: a reply, an error to raise, or a function that takes the request and returns one of these."""


class Scripted:
    """A model that follows a script, for tests, lessons and documentation.

    `raw_requests` are the requests that were made, `requests` the same as they would be sent. Without `abilities`, it
    has native tool calls if a reply in the list has calls. `usage` is reported for replies without one. With `chunks`,
    replies are streamed in pieces of that many characters. Several threads may call it; the script is followed in the
    order of the calls. Raises `NotRecorded` at the end of the script.
    """

    @checked
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
            raise TypeError("a script must be a list of replies, even if there is only one: Scripted([reply])")
        if chunks < 0:
            raise ValueError(f"chunks must be a number of characters, or 0 for whole replies, not {chunks}")
        self.name = name
        replies = list(replies) if isinstance(replies, list | tuple) else replies
        calls_tools = isinstance(replies, list) and any(isinstance(line, Reply) and line.calls for line in replies)
        self.abilities = abilities or Abilities(tools=calls_tools)
        self.usage = usage
        self.raw_requests: list[Request] = []
        self._lines = iter(replies)
        self._replied = 0
        self._chunk_size = chunks
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Travel with the rest of the script, without the requests that were made."""
        return {**vars(self), "raw_requests": [], "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    @property
    def calls(self) -> int:
        """The number of requests that were made."""
        return len(self.raw_requests)

    @property
    def requests(self) -> SentRequests:
        """The requests as they would be sent, as JSON data; each is rendered when it is looked at."""
        return SentRequests(self.raw_requests)

    def __call__(self, request: Request) -> Output:
        with self._lock:
            self.raw_requests.append(request)
            line: Any = next(self._lines, _END)
            self._replied += line is not _END
        if line is _END:
            raise NotRecorded(self._end_of_script(request))
        while callable(line) and not isinstance(line, type):
            line = line(request)
        if isinstance(line, BaseException):
            raise line
        reply = Reply(line) if isinstance(line, str) else line
        if not isinstance(reply, Reply):
            return reply
        reply = reply if reply.usage or not self.usage else replace(reply, usage=self.usage)
        return in_pieces(reply, self._chunk_size) if self._chunk_size else reply

    def _end_of_script(self, request: Request) -> str:
        messages = request.messages
        last = f"{messages[-1]['role']}: {str(messages[-1]['content'])[:300]!r}" if messages else "missing"
        return (
            f"the script of {self.name!r} had {self._replied} replies and was asked for one more "
            f"(role {request.role!r}); the last message of that request is {last}"
        )

    @inert
    def __repr__(self) -> str:
        return f"<Scripted {self.name!r}: {self.calls} requests>"


_END: Any = object()


class SentRequests(Sequence[dict[str, Any]]):
    """Requests as they would be sent: rendered when they are looked at, so that a long run costs nothing until then."""

    def __init__(self, requests: list[Request]) -> None:
        self._requests = requests

    def __len__(self) -> int:
        return len(self._requests)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [request.to_dict() for request in self._requests[index]]
        return self._requests[index].to_dict()

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    @inert
    def __repr__(self) -> str:
        return repr(list(self))


class Echo:
    """A model whose answer is the last thing that the user said."""

    name = "echo"
    abilities = Abilities()

    def __call__(self, request: Request) -> Reply:
        texts = [message.text for message in request.chat if message.role == "user"]
        return Reply(f"FINAL_ANSWER: {texts[-1] if texts else ''}", finish="stop")


def in_pieces(reply: Reply, size: int) -> Iterator[Chunk]:
    """Yield a reply as chunks: reasoning, text and calls in pieces of `size` characters, then the end."""
    for at in range(0, len(reply.reasoning), size):
        yield Chunk(reasoning=reply.reasoning[at : at + size])
    for at in range(0, len(reply.text), size):
        yield Chunk(reply.text[at : at + size])
    for index, call in enumerate(reply.calls):
        yield Chunk(call=CallDelta(index, call.id, call.name))
        arguments = call.raw if call.raw is not None else _json(call.arguments)
        for at in range(0, len(arguments), size):
            yield Chunk(call=CallDelta(index, arguments=arguments[at : at + size]))
    yield Chunk(usage=reply.usage, finish=reply.finish or ("tool_calls" if reply.calls else "stop"))


def _json(value: Any) -> str:
    import json

    return json.dumps(value)
