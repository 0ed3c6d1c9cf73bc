"""Read one of Anthropic's replies, as it comes in events, or whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agentkit.core.usage import Usage
from agentkit.models import finish_reasons
from agentkit.models.base import CallDelta, Chunk
from agentkit.models.wire import Said, items, number, text_of

if TYPE_CHECKING:
    from agentkit.models.remote import Remote

_GROWS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class Arriving:
    """One message that is arriving. It is whole with `message_stop`, and not before."""

    __slots__ = ("_bare", "_blocks", "_counts", "_finish", "_inputs", "acted", "finish", "model")

    def __init__(self, model: Remote) -> None:
        self.model = model
        self.finish = ""
        self.acted = False
        self._finish = ""
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, list[str]] = {}
        self._bare: list[int] = []  # calls whose arguments never came
        self._counts: dict[str, Any] = {}

    def event(self, kind: str, data: dict[str, Any]) -> Iterator[Chunk]:
        """Read one event, or a whole message."""
        kind = text_of(data.get("type")) or kind
        if kind == "content_block_delta":
            yield from self._delta(_index(data), _dict(data.get("delta")))
        elif kind == "content_block_start":
            yield from self._start(_index(data), _dict(data.get("content_block")))
        elif kind == "content_block_stop":
            self._stop(_index(data))
        elif kind == "message_start":
            self._count(_dict(data.get("message")).get("usage"))
            yield Chunk(usage=self._usage())
        elif kind == "message_delta":
            self._finish = text_of(_dict(data.get("delta")).get("stop_reason")) or self._finish
            self._count(data.get("usage"))
        elif kind == "message_stop":
            yield from self._end()
        elif kind == "message":
            yield from self._whole(data)
        elif kind == "error" or "error" in data:
            raise Said(data.get("error") if isinstance(data.get("error"), dict) else data)

    def _start(self, index: int, block: dict[str, Any]) -> Iterator[Chunk]:
        self._blocks[index] = dict(block)
        kind = text_of(block.get("type"))
        if kind == "tool_use":
            yield Chunk(call=CallDelta(index, text_of(block.get("id")), text_of(block.get("name"))))
        elif "tool" in kind:
            self.acted = True  # a tool that runs at the host
        if kind in ("text", "thinking") and (given := text_of(block.get(kind))):
            yield Chunk(given) if kind == "text" else Chunk(reasoning=given)

    def _delta(self, index: int, delta: dict[str, Any]) -> Iterator[Chunk]:
        kind = text_of(delta.get("type"))
        block = self._blocks.setdefault(index, {"type": "text", "text": ""} if kind == "text_delta" else {})
        if name := _GROWS.get(kind):
            piece = text_of(delta.get(name))
            block[name] = text_of(block.get(name)) + piece
            if kind == "text_delta":
                yield Chunk(piece)
            elif kind == "thinking_delta":
                yield Chunk(reasoning=piece)
        elif kind == "input_json_delta":
            piece = text_of(delta.get("partial_json"))
            self._inputs.setdefault(index, []).append(piece)
            if piece and block.get("type") == "tool_use":
                yield Chunk(call=CallDelta(index, arguments=piece))
        elif kind == "citations_delta":
            block["citations"] = [*items(block.get("citations")), delta.get("citation")]
        else:
            block.update({name: value for name, value in delta.items() if name != "type"})

    def _stop(self, index: int) -> None:
        block = self._blocks.get(index, {})
        if "tool_use" not in text_of(block.get("type")):
            return
        written = "".join(self._inputs.get(index, ()))
        if not written and block.get("type") == "tool_use":
            self._bare.append(index)
        elif written:
            try:
                block["input"] = json.loads(written)
            except (ValueError, RecursionError):
                block["input"] = {}  # it was cut; the call says so itself, and does not run

    def _end(self) -> Iterator[Chunk]:
        self.finish = finish_reasons.named(self._finish) or "stop"
        yield from self._begun()
        yield Chunk(usage=self._usage(), finish=self.finish, opaque=self._opaque())

    def _begun(self) -> Iterator[Chunk]:
        """Give calls whose arguments never came those they began with; those of the last may have been cut off."""
        is_whole = finish_reasons.is_whole(self.finish)
        for index in self._bare:
            given = self._blocks[index].get("input") or {}
            if given or is_whole or index != max(self._blocks):
                yield Chunk(call=CallDelta(index, arguments=json.dumps(given)))

    def _whole(self, data: dict[str, Any]) -> Iterator[Chunk]:
        for index, block in enumerate(items(data.get("content"))):
            if isinstance(block, dict):
                yield from self._start(index, block)
                self._stop(index)
        self._finish = text_of(data.get("stop_reason"))
        self._count(data.get("usage"))
        yield from self._end()

    def done(self) -> Iterator[Chunk]:
        """Some gateways end with `[DONE]`: that is the end where a stop reason came."""
        if self._finish and not self.finish:
            yield from self._end()

    def _count(self, usage: Any) -> None:
        """Take counts over; what is said last counts."""
        self._counts.update({name: value for name, value in _dict(usage).items() if isinstance(value, int)})

    def _usage(self) -> Usage | None:
        counts = self._counts
        cached, stored = (
            number(counts.get("cache_read_input_tokens")),
            number(counts.get("cache_creation_input_tokens")),
        )
        read = number(counts.get("input_tokens")) + cached + stored
        written = number(counts.get("output_tokens"))
        return self.model.cost(Usage(read, written, cached), stored) if read or written else None

    def _opaque(self) -> Any:
        """Keep all blocks where some are more than text and calls: they go back as they came."""
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        if all(block.get("type") in ("text", "tool_use") and not block.get("citations") for block in blocks):
            return None
        return {"provider": self.model.place.host, "blocks": blocks}


def _index(data: dict[str, Any]) -> int:
    index = data.get("index")
    return index if isinstance(index, int) else 0


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
