"""Take what models return: a reply, a text, a stream of chunks, or the records that other libraries use."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from agentkit.core.messages import Call, Reply
from agentkit.core.usage import Usage
from agentkit.errors import ModelError
from agentkit.models import finish_reasons
from agentkit.models.base import CallDelta, Chunk
from agentkit.models.dialects.call_parsing import from_wire
from agentkit.models.surrogates import paired

OnChunk = Callable[[Chunk], Any] | None


class Gathering:
    """The chunks of one stream, put together as they come.

    Pieces of a call belong together by their index, until another id or another name appears there: some servers send
    two calls under one index, and some repeat id and name in every piece.
    """

    def __init__(self) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.usage: Usage | None = None
        self.finish = ""
        self.opaque: Any = None
        self.model = ""
        self.problems: list[str] = []
        self._spent = Usage()
        self._open: dict[int, _Building] = {}
        self._calls: list[_Building] = []
        self._only_text = True

    def add(self, piece: Chunk | str) -> Chunk:
        """Take one more piece; a text is a chunk of text."""
        chunk = Chunk(piece) if isinstance(piece, str) else piece
        if not isinstance(chunk, Chunk):
            raise ModelError(f"a stream gives chunks or texts, not {type(piece).__name__}")
        self._only_text = self._only_text and isinstance(piece, str)
        if chunk.again:
            self._begin_again(chunk.again)
        self.text.append(chunk.text)
        self.reasoning.append(chunk.reasoning)
        if chunk.call:
            self._add_call(chunk.call)
        self.usage = chunk.usage or self.usage
        self.finish = chunk.finish or self.finish
        self.opaque = chunk.opaque or self.opaque
        self.model = chunk.model or self.model
        return chunk

    @property
    def spent(self) -> Usage | None:
        """What all attempts have used, as far as the host has said so."""
        return self._spent + (self.usage or Usage()) if self._spent.total else self.usage

    def _begin_again(self, why: str) -> None:
        """Forget what came, but not what it cost."""
        self._spent += self.usage or Usage()
        self.text, self.reasoning, self.usage, self.finish, self.opaque = [], [], None, "", None
        self._open, self._calls = {}, []
        self.problems.append(f"asked again: {why}")

    def _add_call(self, delta: CallDelta) -> None:
        building = self._open.get(delta.index)
        if building is None or building.is_other(delta):
            building = self._open[delta.index] = _Building()
            self._calls.append(building)
        building.id = building.id or delta.id
        building.name = building.name or delta.name
        building.arguments.append(delta.arguments)

    def reply(self) -> Reply:
        """Give the whole reply. Raises `ModelError` when the stream stopped without saying that it was at its end."""
        text = paired("".join(self.text))
        if not self.finish and not (self._only_text and text):
            raise ModelError(
                f"the stream stopped after {len(text)} characters without a finish reason; nothing of it was used"
            )
        calls = tuple(from_wire(b.name, paired("".join(b.arguments)), b.id) for b in self._calls)
        return Reply(
            text,
            calls,
            reasoning=paired("".join(self.reasoning)),
            problems=tuple(self.problems),
            usage=self.spent,
            model=self.model,
            finish=self.finish or "stop",
            opaque=self.opaque,
        )


class _Building:
    """A call that is still arriving."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []

    def is_other(self, delta: CallDelta) -> bool:
        return bool(delta.id and self.id and delta.id != self.id) or bool(
            delta.name and self.name and delta.name != self.name
        )


def gather_chunks(chunks: Iterable[Chunk | str]) -> Reply:
    """Put the chunks of a whole stream together."""
    return collect(chunks)


def collect(output: Any, on_chunk: OnChunk = None) -> Reply:
    """Give the reply in what a model returned; `on_chunk` sees each chunk as it comes. A stream is closed on the way out."""
    if not _is_stream(output, "__iter__"):
        return reply_of(output)
    gathering = Gathering()
    try:
        for piece in output:
            chunk = gathering.add(piece)
            if on_chunk:
                on_chunk(chunk)
        return gathering.reply()
    except ModelError as error:
        error.usage = gathering.spent
        raise
    finally:
        if close := getattr(output, "close", None):
            close()


async def acollect(output: Any, on_chunk: OnChunk = None) -> Reply:
    """Give the reply in what a model returned, awaiting what must be awaited."""
    if inspect.isawaitable(output):
        output = await output
    if not hasattr(output, "__aiter__"):
        return collect(output, on_chunk)
    gathering = Gathering()
    try:
        async for piece in output:
            chunk = gathering.add(piece)
            if on_chunk:
                on_chunk(chunk)
        return gathering.reply()
    except ModelError as error:
        error.usage = gathering.spent
        raise
    finally:
        if close := getattr(output, "aclose", None):
            await close()


def _is_stream(output: Any, method: str) -> bool:
    """Say whether something is a stream of chunks, and neither a reply nor a record of one."""
    return hasattr(output, method) and not isinstance(output, str | dict | Reply) and not hasattr(output, "content")


def reply_of(value: Any) -> Reply:
    """Make a reply of a text, of a dict or an object with `content` and `tool_calls`, or of a whole chat completion."""
    if isinstance(value, Reply):
        return value
    if isinstance(value, str):
        return Reply(value)
    choices = _get(value, "choices")
    usage, finish = _usage(_get(value, "usage")), _get(value, "finish_reason") or _get(value, "stop_reason") or ""
    if choices:
        value, finish = _get(choices[0], "message"), _get(choices[0], "finish_reason") or ""
    elif isinstance(_get(value, "message"), dict):
        value = _get(value, "message")
    if not any(_has(value, name) for name in ("content", "text", "tool_calls")):
        raise ModelError(
            f"a model gives a Reply, a text, chunks, or what has content, text or tool_calls, not {type(value).__name__}"
        )
    content = _get(value, "content")
    text = _text(content if content is not None else _get(value, "text"))
    calls = tuple(_call(call) for call in [*(_get(value, "tool_calls") or ()), *_used(content)])
    reasoning = _get(value, "reasoning_content") or _get(value, "reasoning") or ""
    reasoning = reasoning if isinstance(reasoning, str) else ""
    return Reply(text, calls, reasoning=reasoning, usage=usage, finish=finish_reasons.named(str(finish)))


def _used(content: Any) -> list[Any]:
    """Give the calls among the blocks of a content, as Anthropic writes them."""
    return [part for part in content if _get(part, "type") == "tool_use"] if isinstance(content, list | tuple) else []


def _call(data: Any) -> Call:
    function = _get(data, "function") or data
    arguments = next(
        (found for name in ("arguments", "input", "args") if (found := _get(function, name)) is not None), ""
    )
    return from_wire(str(_get(function, "name") or ""), arguments, str(_get(data, "id") or ""))


def _text(content: Any) -> str:
    if isinstance(content, list | tuple):
        return "".join(part if isinstance(part, str) else str(_get(part, "text") or "") for part in content)
    return "" if content is None else str(content)


def _usage(data: Any) -> Usage | None:
    counts = [_get(data, one) or _get(data, other) for one, other in _COUNTS] if data else []
    return Usage(*(count if isinstance(count, int) else 0 for count in counts)) if any(counts) else None


_COUNTS = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _has(value: Any, name: str) -> bool:
    return name in value if isinstance(value, dict) else hasattr(value, name)
