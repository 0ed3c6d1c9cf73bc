"""Collect the chunks of a stream into one reply. A stream that just stops is an error, not a reply."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from agentkit.core.messages import Reply, Token
from agentkit.core.usage import Usage
from agentkit.errors import ModelError
from agentkit.models.base import CallDelta, Chunk
from agentkit.models.reply_conversion import reply_of
from agentkit.models.surrogates import paired
from agentkit.tools import loose_json
from agentkit.tools.call_parsing import call_from_api

OnChunk = Callable[[Chunk], Any] | None
"""Is called with each chunk as it arrives."""


def collect(output: Any, on_chunk: OnChunk = None) -> Reply:
    """Return the reply in what a model returned. A stream is closed at the end, whatever happens.

    Raises `ModelError` if a stream stops without a finish reason, or if the output is not a reply.
    """
    if not _is_stream(output):
        return reply_of(output)
    collector = StreamCollector()
    try:
        for piece in output:
            chunk = collector.add(piece)
            if on_chunk:
                on_chunk(chunk)
        return collector.reply()
    except ModelError as error:
        error.usage = collector.spent
        raise
    finally:
        if close := getattr(output, "close", None):
            close()


async def acollect(output: Any, on_chunk: OnChunk = None) -> Reply:
    """Return the reply in what a model returned, and await it if necessary; otherwise like `collect`."""
    if inspect.isawaitable(output):
        output = await output
    if not hasattr(output, "__aiter__"):
        return collect(output, on_chunk)
    collector = StreamCollector()
    try:
        async for piece in output:
            chunk = collector.add(piece)
            if on_chunk:
                on_chunk(chunk)
        return collector.reply()
    except ModelError as error:
        error.usage = collector.spent
        raise
    finally:
        if close := getattr(output, "aclose", None):
            await close()


def _is_stream(output: Any) -> bool:
    """Return whether something is a stream of chunks, and neither a reply nor a record of one."""
    return hasattr(output, "__iter__") and not isinstance(output, str | dict | Reply) and not hasattr(output, "content")


class StreamCollector:
    """The chunks of one stream, put together as they arrive.

    The pieces of a call have the same index. But some servers send several calls under one index, some repeat the id
    and the name in every piece, some send a new id in each, some a name in pieces (`_PartialCall.is_followed_by`), and
    some go on with a call under another index (`_call_before`).
    """

    def __init__(self) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.usage: Usage | None = None
        self.finish = ""
        self.opaque: Any = None
        self.model = ""
        self.problems: list[str] = []
        self.tokens: list[Token] = []
        self._spent_before = Usage()
        self._open_calls: dict[int, _PartialCall] = {}
        self._calls: list[_PartialCall] = []
        self._is_only_text = True

    def add(self, piece: Chunk | str) -> Chunk:
        """Take one more piece, and return it as a chunk; a string is a chunk of text."""
        chunk = Chunk(piece) if isinstance(piece, str) else piece
        if not isinstance(chunk, Chunk):
            raise ModelError(f"a stream must yield chunks or strings, not {type(piece).__name__}")
        self._is_only_text = self._is_only_text and isinstance(piece, str)
        if chunk.again:
            self._start_over(chunk.again)
        self.text.append(chunk.text)
        self.reasoning.append(chunk.reasoning)
        if chunk.call:
            self._add_to_call(chunk.call)
        if chunk.token:
            self.tokens.append(chunk.token)
        self.usage = chunk.usage or self.usage
        self.finish = chunk.finish or self.finish
        self.opaque = chunk.opaque or self.opaque
        self.model = chunk.model or self.model
        if chunk.problem and chunk.problem not in self.problems:
            self.problems.append(chunk.problem)
        return chunk

    @property
    def spent(self) -> Usage | None:
        """The usage of all attempts together, as far as the host reported it."""
        return self._spent_before + (self.usage or Usage()) if self._spent_before.total else self.usage

    def reply(self) -> Reply:
        """Return the whole reply. Raises `ModelError` if the stream stopped without a finish reason."""
        text = paired("".join(self.text))
        if not self.finish and not (self._is_only_text and text):
            raise ModelError(
                f"the stream stopped after {len(text)} characters without a finish reason; nothing of it was used"
            )
        return Reply(
            text,
            tuple(call_from_api(call.name, paired("".join(call.arguments)), call.id) for call in self._calls),
            reasoning=paired("".join(self.reasoning)),
            problems=tuple(self.problems),
            usage=self.spent,
            model=self.model,
            finish=self.finish or "stop",
            opaque=self.opaque,
            tokens=tuple(self.tokens),
        )

    def _start_over(self, reason: str) -> None:
        """Forget what has arrived, but not what it cost."""
        self._spent_before += self.usage or Usage()
        self.text, self.reasoning, self.usage, self.finish, self.opaque = [], [], None, "", None
        self.tokens = []
        self._open_calls, self._calls = {}, []
        self.problems.append(f"asked again: {reason}")

    def _add_to_call(self, delta: CallDelta) -> None:
        call = self._open_calls.get(delta.index)
        if (call is None or (delta.id and delta.id != call.id)) and (earlier := self._call_before(delta)):
            call = self._open_calls[delta.index] = earlier
        if call and call.is_repeated_in(delta):
            return
        if call is None or (delta.name and call.is_followed_by(delta)):
            call = self._open_calls[delta.index] = _PartialCall()
            self._calls.append(call)
        call.id = call.id or delta.id
        if delta.name and delta.name != call.name:
            call.name += delta.name
        if delta.arguments:
            call.arguments.append(delta.arguments)

    def _call_before(self, delta: CallDelta) -> _PartialCall | None:
        """Return the call that a piece continues under another index: that with its id, or without a name the last."""
        if not delta.id:
            return self._calls[-1] if self._calls and not delta.name else None
        same = (call for call in self._calls if call.id == delta.id)
        return next((call for call in same if not delta.name or call.lacks_an_end(delta.name)), None)


class _PartialCall:
    """A call that is still arriving."""

    __slots__ = ("arguments", "id", "name")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []

    def is_repeated_in(self, delta: CallDelta) -> bool:
        """Return whether a piece is the whole call once more, as some servers send it at the end."""
        if not delta.id or (delta.id, delta.name) != (self.id, self.name) or not delta.arguments.startswith("{"):
            return False
        return delta.arguments == "".join(self.arguments)

    def is_followed_by(self, delta: CallDelta) -> bool:
        """Return whether a piece with a name begins another call, instead of going on with this one.

        A different name does, unless it may be the rest of a name: no arguments have come, and no other id. The same
        name does if arguments come again although they were whole.
        """
        has_other_id = bool(delta.id and self.id and delta.id != self.id)
        if delta.name != self.name:
            return bool(self.name) and (has_other_id or bool(self.arguments))
        begins = has_other_id or delta.arguments.lstrip().startswith("{")
        return begins and not self.lacks_an_end(delta.name)

    def lacks_an_end(self, name: str) -> bool:
        """Return whether this is a call of that tool whose arguments are not whole."""
        return name == self.name and not isinstance(loose_json.strict("".join(self.arguments).strip()).value, dict)
