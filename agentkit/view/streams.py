"""The replies that models are writing at the moment: what has arrived of each, by the position of its step."""

from __future__ import annotations

import threading
from typing import Any

Data = dict[str, Any]
Position = tuple[str, int]


class Stream:
    """The text and the reasoning of one reply, and how many pieces of each have been sent."""

    __slots__ = ("pieces", "sent")

    def __init__(self) -> None:
        self.pieces: dict[str, list[str]] = {"text": [], "reasoning": []}
        self.sent = {"text": 0, "reasoning": 0}

    def take_new(self) -> Data:
        """Return what has arrived since the last call."""
        new = {name: "".join(pieces[self.sent[name] :]) for name, pieces in self.pieces.items()}
        self.sent = {name: len(pieces) for name, pieces in self.pieces.items()}
        return new

    def take_all(self) -> Data:
        """Return everything that has arrived; `take_new` will not return any of it again."""
        self.take_new()
        return {name: "".join(pieces) for name, pieces in self.pieces.items()}


class Streams:
    """The replies in progress. Safe in any thread."""

    def __init__(self) -> None:
        self._streams: dict[Position, Stream] = {}
        self._discarded: set[Position] = set()
        self._lock = threading.Lock()

    def add(self, piece: Data) -> None:
        """Add a piece of a reply: `path` and `index` of its step, `text`, `reasoning`; `again` discards the pieces
        before it.
        """
        with self._lock:
            position = (piece["path"], piece["index"])
            if piece.get("again"):
                self._discard(position)
            stream = self._streams.setdefault(position, Stream())
            for name, pieces in stream.pieces.items():
                if piece[name]:
                    pieces.append(piece[name])

    def begin(self, path: str, index: int) -> None:
        """Discard what an abandoned call streamed for this step, because the step begins again."""
        with self._lock:
            self._discard((path, index))

    def _discard(self, position: Position) -> None:
        stream = self._streams.pop(position, None)
        if stream is not None and any(stream.sent.values()):
            self._discarded.add(position)

    def end(self, path: str, index: int) -> None:
        """Remove a reply that has been recorded, also from the pages that show a part of it."""
        with self._lock:
            self._discard((path, index))

    def changes(self, running: bool) -> list[Data]:
        """Return what is new as events; if the run is not running, all unfinished replies are discarded."""
        with self._lock:
            new = {position: stream.take_new() for position, stream in self._streams.items()}
            discarded = [_event("undelta", position, {}) for position in self._discarded]
            self._discarded.clear()
            if running:
                return discarded + [
                    _event("delta", position, data)
                    for position, data in new.items()
                    if data["text"] or data["reasoning"]
                ]
            self._streams.clear()
            return discarded + [_event("undelta", position, {}) for position in new]

    def now(self) -> list[Data]:
        """Return all replies in progress, each from its beginning."""
        with self._lock:
            return [
                {"path": path, "index": index, **stream.take_all()}
                for (path, index), stream in self._streams.items()
                if any(stream.pieces.values())
            ]


def _event(kind: str, position: Position, data: Data) -> Data:
    return {"k": kind, "path": position[0], "index": position[1], **data}
