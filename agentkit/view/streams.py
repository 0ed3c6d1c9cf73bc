"""What models say just now: the pieces of replies that are not recorded yet, by the place of their step."""

from __future__ import annotations

import threading
from typing import Any

Data = dict[str, Any]


class Stream:
    """The text and the reasoning of one reply, and how much of each was sent."""

    __slots__ = ("parts", "sent")

    def __init__(self) -> None:
        self.parts: dict[str, list[str]] = {"text": [], "reasoning": []}
        self.sent = {"text": 0, "reasoning": 0}

    def fresh(self) -> Data:
        """Give what was added since the last time."""
        found = {name: "".join(parts[self.sent[name] :]) for name, parts in self.parts.items()}
        self.sent = {name: len(parts) for name, parts in self.parts.items()}
        return found

    def whole(self) -> Data:
        """Give all of it, so that nothing of it is fresh any more."""
        self.fresh()
        return {name: "".join(parts) for name, parts in self.parts.items()}


class Streams:
    """The replies that are being written. Safe from any thread."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, int], Stream] = {}
        self._void: set[tuple[str, int]] = set()
        self._lock = threading.Lock()

    def add(self, piece: Data) -> None:
        """Take up a piece: `path` and `index` of its step, `text`, `reasoning`; with `again`, what came before is void."""
        with self._lock:
            place = (piece["path"], piece["index"])
            if piece.get("again"):
                self._forget(place)
            stream = self._streams.setdefault(place, Stream())
            for name, parts in stream.parts.items():
                if piece[name]:
                    parts.append(piece[name])

    def begin(self, path: str, index: int) -> None:
        """Forget what was said at this place by a call that was given up: the step begins anew."""
        with self._lock:
            self._forget((path, index))

    def _forget(self, place: tuple[str, int]) -> None:
        if self._streams.pop(place, None) is not None:
            self._void.add(place)

    def end(self, path: str, index: int) -> None:
        """Forget a reply that is recorded now."""
        with self._lock:
            self._streams.pop((path, index), None)

    def changes(self, running: bool) -> list[Data]:
        """Give what is fresh; when nobody drives any more, what was begun counts no more."""
        with self._lock:
            places = {place: stream.fresh() for place, stream in self._streams.items()}
            void = [_at("undelta", place, {}) for place in self._void]
            self._void.clear()
            if running:
                return void + [
                    _at("delta", place, fresh) for place, fresh in places.items() if fresh["text"] or fresh["reasoning"]
                ]
            self._streams.clear()
            return void + [_at("undelta", place, {}) for place in places]

    def now(self) -> list[Data]:
        """Give all that is being written, whole."""
        with self._lock:
            return [
                {"path": path, "index": index, **stream.whole()}
                for (path, index), stream in self._streams.items()
                if any(stream.parts.values())
            ]


def _at(kind: str, place: tuple[str, int], data: Data) -> Data:
    return {"k": kind, "path": place[0], "index": place[1], **data}
