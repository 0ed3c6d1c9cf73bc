"""Read one reply from bytes as they come, wherever they are cut: events, JSON lines, or one whole object."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from agentkit.errors import ModelGarbled
from agentkit.models.base import Chunk
from agentkit.models.transport import errors
from agentkit.models.transport.server_sent_events import Events, Lines
from agentkit.models.wire import Place, Reading, Said

MOST = 32_000_000
"""Bytes of one reply that are read, at the most: more than any model writes."""

ERROR_BYTES = 64_000
"""Bytes that are read of an answer that is only an error."""

SHOWN = 160

PAGE = re.compile(rb"<[!/?a-zA-Z]")
"""How a tag begins (WHATWG HTML, 13.2.5.6), and with it a web page."""


class Reader:
    """Bytes in, chunks out; `done` says that the reply is whole and nothing more need be read.

    `refusal` is the response, where its status says already that this is no reply: what comes is the reason.
    Raises `ModelGarbled` for what is no reply, and from `end` for one that broke off; what a host reports as an error is
    raised as what it is.
    """

    def __init__(self, reading: Reading, place: Place, *, most: int = MOST, refusal: Any = None) -> None:
        self.reading = reading
        self.place = place
        self.done = False
        self._most = most
        self._read = 0
        self._first = b""
        self._held = b""  # what came before it could be told what this is
        self._refusal = refusal
        self._refused: list[bytes] = []
        self._events: Events | None = None
        self._lines: Lines | None = None
        self._whole: list[bytes] | None = None  # one object over many lines

    def feed(self, data: bytes) -> Iterator[Chunk]:
        """Take more bytes and give what they say."""
        self._read += len(data)
        if self._refusal is not None:
            self._refused.append(data)
            self.done = self._read > ERROR_BYTES
            return
        if self._read > self._most:
            raise self._garbled(
                f"sent more than {self._most:,} bytes for one reply, and reading stopped there", again=False
            )
        if len(self._first) < SHOWN:
            self._first += data[:SHOWN]
        try:
            if self._events is not None:
                yield from self._take_events(data)
            elif self._whole is not None:
                self._whole.append(data)
            elif self._lines is not None:
                yield from self._take_lines(data)
            else:
                self._held = (self._held + data).lstrip(b"\xef\xbb\xbf \t\r\n")
                if len(self._held) > 1:
                    yield from self._begin(self._held)
        except Said as said:
            yield from self._reported(said)

    def _begin(self, data: bytes) -> Iterator[Chunk]:
        """Tell by the first two bytes what this is: an object, a page, or events."""
        if PAGE.match(data):
            page = f"answered with a web page, not with a reply ({_shown(data)}). {errors.look_at_base(self.place)}"
            raise self._garbled(page, again=False)
        if data[:1] == b"{":
            self._lines = Lines()
            yield from self._take_lines(data)
        else:
            self._events = Events()
            yield from self._take_events(data)

    def _take_events(self, data: bytes) -> Iterator[Chunk]:
        assert self._events is not None
        for kind, event in self._events.feed(data):
            if event == b"[DONE]":
                self.done = True
                yield from self.reading.done()
                return
            if event:
                yield from self.reading.event(kind, self._object(event))

    def _take_lines(self, data: bytes) -> Iterator[Chunk]:
        assert self._lines is not None
        lines = self._lines.feed(data)
        for n, line in enumerate(lines):
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):  # one object over many lines, or nothing of use: its end will tell
                self._whole = [b"\n".join((*lines[n:], self._lines.end()))]
                return
            yield from self.reading.event("", self._checked(found, line))

    def end(self) -> Iterator[Chunk]:
        """The connection was closed: read what is left, and see that the reply is whole."""
        if self._refusal is not None:
            raise errors.refused(self._refusal.status_code, self._refusal.headers, b"".join(self._refused), self.place)
        try:
            if self._events is not None:
                yield from self._last(*self._events.end())
            elif self._lines is not None:
                rest = b"".join(self._whole) if self._whole is not None else self._lines.end()
                if rest.strip():
                    yield from self.reading.event("", self._object(rest))
        except Said as said:
            yield from self._reported(said)
        if not self.reading.finish:
            raise self._garbled(f"{self._what_it_is()}; nothing of it was used. Try again")
        self.done = True

    def _what_it_is(self) -> str:
        """Say what a reply is that has no finish reason: one that broke off, or none at all."""
        if self._events is not None and not self._events.any:
            return f"answered with what is no reply ({_shown(self._first)})"
        return f"broke its reply off after {self._read:,} bytes, without a finish reason"

    def _last(self, kind: str, data: bytes) -> Iterator[Chunk]:
        """Read the event that the end of the stream cut off: an object says by itself whether it is whole."""
        if data == b"[DONE]":
            yield from self.reading.done()
        elif data[-1:] == b"}":
            try:
                found = json.loads(data)
            except (ValueError, RecursionError):
                return
            yield from self.reading.event(kind, self._checked(found, data))

    def _reported(self, said: Said) -> Iterator[Chunk]:
        """The host reports an error in the stream: it counts, unless the reply was at its end."""
        self.done = True
        if not self.reading.finish:
            raise errors.reported(said.body, self.place)
        yield from ()

    def _object(self, data: bytes) -> dict[str, Any]:
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            raise self._garbled(
                f"sent what is no JSON in its reply ({_shown(data)}); nothing of it was used. Try again"
            ) from None
        return self._checked(found, data)

    def _checked(self, found: Any, data: bytes) -> dict[str, Any]:
        if isinstance(found, dict):
            return found
        raise self._garbled(
            f"sent something else than an object in its reply ({_shown(data)}); nothing of it was used. Try again"
        )

    def _garbled(self, what: str, *, again: bool = True) -> ModelGarbled:
        error = errors.make(ModelGarbled, self.place, what)
        error.transient = again
        return error


def _shown(data: bytes) -> str:
    from agentkit.core.secrets import mask

    text = " ".join(data[: SHOWN * 4].decode("utf-8", "replace").split())
    return repr(mask(text)[:SHOWN])
