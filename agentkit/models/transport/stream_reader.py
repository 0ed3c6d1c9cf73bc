"""Read one reply from bytes as they arrive, wherever they are cut: events, JSON lines, or one whole object.

A stream that just stops is an error: only a finish reason, or the host's own end marker, makes a reply whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from agentkit.core.secrets import mask
from agentkit.errors import ModelGarbled
from agentkit.models.base import Chunk
from agentkit.models.transport import errors
from agentkit.models.transport.server_sent_events import Events, Lines
from agentkit.models.wire import BrokenReply, Endpoint, HostError, ReplyParser

MAX_BYTES = 32_000_000
"""Bytes of one reply that are read: more than any model writes."""

MAX_ERROR_BYTES = 64_000
"""Bytes that are read of a response that is only an error."""

_SHOWN = 160  # characters of a bad reply that its error quotes
_TAG = re.compile(rb"<[!/?a-zA-Z]")
"""The beginning of a tag (WHATWG HTML, 13.2.5.6), and so of a web page."""


class StreamReader:
    """Bytes in, chunks out; `done` means that the reply is whole and that nothing more need be read.

    `refusal` is the response if its status means that it is not a reply: its bytes are then the reason.
    Raises `ModelGarbled` for what is not a reply, and from `end` for a reply that was cut off; an error that the host
    reports is raised as what it is.
    """

    def __init__(
        self, parser: ReplyParser, endpoint: Endpoint, *, max_bytes: int = MAX_BYTES, refusal: Any = None
    ) -> None:
        self.parser = parser
        self.endpoint = endpoint
        self.done = False
        self._max_bytes = max_bytes
        self._count = 0
        self._start = b""  # for errors
        self._undecided = b""  # what arrived before it is clear what this is
        self._refusal = refusal
        self._refusal_body: list[bytes] = []
        self._events: Events | None = None
        self._lines: Lines | None = None
        self._one_object: list[bytes] | None = None  # a single object over many lines
        self._objects = 0
        self._is_named = False

    def feed(self, data: bytes) -> Iterator[Chunk]:
        """Take more bytes, and yield the chunks in them."""
        self._count += len(data)
        if self._refusal is not None:
            self._refusal_body.append(data)
            self.done = self._count > MAX_ERROR_BYTES
            return
        if self._count > self._max_bytes:
            what = f"sent more than {self._max_bytes:,} bytes for one reply; the rest was not read"
            raise self._garbled(what, may_pass=False)
        if len(self._start) < _SHOWN:
            self._start += data[:_SHOWN]
        try:
            if self._events is not None:
                yield from self._read_events(data)
            elif self._one_object is not None:
                self._one_object.append(data)
            elif self._lines is not None:
                yield from self._read_lines(data)
            else:
                self._undecided = (self._undecided + data).lstrip(b"\xef\xbb\xbf \t\r\n")
                if len(self._undecided) > 1:
                    yield from self._decide(self._undecided)
        except HostError as error:
            self._reported(error)
        except BrokenReply as error:
            raise self._garbled(f"{error}; nothing of it was used. Try again") from None

    def end(self) -> Iterator[Chunk]:
        """Read what is left when the connection is closed, and check that the reply is whole."""
        if self._refusal is not None:
            response = self._refusal
            body = b"".join(self._refusal_body)
            raise errors.from_status(response.status_code, response.headers, body, self.endpoint)
        try:
            if self._events is not None:
                yield from self._read_last_event(*self._events.end())
            elif self._lines is not None:
                rest = self._lines.end() if self._one_object is None else b"".join(self._one_object)
                if rest.strip():
                    self._objects += 1
                    value = self._object(rest)
                    yield from self._answered_by(value)
                    yield from self.parser.event("", value)
                if self._objects == 1 and self.parser.in_one_piece:
                    yield from self.parser.end_marker()
        except HostError as error:
            self._reported(error)
        except BrokenReply as error:
            raise self._garbled(f"{error}; nothing of it was used. Try again") from None
        if not self.parser.finish:
            raise self._garbled(f"{self._incomplete()}; nothing of it was used. Try again")
        self.done = True

    def _decide(self, data: bytes) -> Iterator[Chunk]:
        """Tell by the first two bytes whether this is an object, a page, or events."""
        if _TAG.match(data):
            page = f"answered with a web page, not with a reply ({_quoted(data)})"
            raise self._garbled(f"{page}. {errors.look_at_base_url(self.endpoint)}", may_pass=False)
        if data[:1] == b"{":
            self._lines = Lines()
            yield from self._read_lines(data)
        else:
            self._events = Events()
            yield from self._read_events(data)

    def _read_events(self, data: bytes) -> Iterator[Chunk]:
        assert self._events is not None
        for kind, event in self._events.feed(data):
            if event.strip() == b"[DONE]":
                self.done = True
                yield from self.parser.end_marker()
                return
            if event:
                value = self._event(kind, event)
                if not self._is_named:
                    yield from self._answered_by(value)
                yield from self.parser.event(kind, value)

    def _read_lines(self, data: bytes) -> Iterator[Chunk]:
        assert self._lines is not None
        lines = self._lines.feed(data)
        for n, line in enumerate(lines):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):  # one object over many lines, or something else: the end will tell
                self._one_object = [b"\n".join((*lines[n:], self._lines.end()))]
                return
            self._objects += 1
            yield from self._answered_by(self._checked_object(value, line))
            yield from self.parser.event("", value)

    def _read_last_event(self, kind: str, data: bytes) -> Iterator[Chunk]:
        """Read the event that the end of the stream cut off; a JSON object shows by itself whether it is whole."""
        if data == b"[DONE]":
            yield from self.parser.end_marker()
        elif kind == "error" and data and data[:1] != b"{":
            self._event(kind, data)
        elif data[-1:] == b"}":
            try:
                value = json.loads(data)
            except (ValueError, RecursionError):
                return
            yield from self.parser.event(kind, self._checked_object(value, data))

    def _reported(self, error: HostError) -> None:
        """Raise an error that the host reports in the stream, unless the reply is already whole."""
        self.done = True
        if not self.parser.finish:
            raise errors.from_host_error(error.body, self.endpoint)

    def _incomplete(self) -> str:
        """Return what is wrong with a reply that has no finish reason: it was cut off, or it is something else."""
        if self._events is not None and not self._events.has_fields:
            return f"answered with something that is not a reply ({_quoted(self._start)})"
        return f"cut off its reply after {self._count:,} bytes, without a finish reason"

    def _answered_by(self, value: dict[str, Any]) -> Iterator[Chunk]:
        """Yield a problem if the host says that another model answers than the one that was asked."""
        message = value.get("message")
        name = value.get("model") or (message.get("model") if isinstance(message, dict) else None)
        if self._is_named or not isinstance(name, str) or not name.strip():
            return
        self._is_named = True
        asked, answers = (each.strip().lower().rpartition("/")[2] for each in (self.endpoint.model, name))
        if asked not in answers and answers not in asked:  # a version may be added or left out
            yield Chunk(
                problem=f"the model {mask(name)[:_SHOWN]!r} answered, not {self.endpoint.model!r}, which was asked"
            )

    def _event(self, kind: str, data: bytes) -> dict[str, Any]:
        """Return the object of an event; an error need not be written as one."""
        if kind == "error" and not data.lstrip().startswith(b"{"):
            raise HostError({"message": data.decode("utf-8", "replace").strip().strip('"')})
        return self._object(data)

    def _object(self, data: bytes) -> dict[str, Any]:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            what = f"sent something that is not JSON in its reply ({_quoted(data)}); nothing of it was used. Try again"
            raise self._garbled(what) from None
        return self._checked_object(value, data)

    def _checked_object(self, value: Any, data: bytes) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        what = f"sent something other than an object in its reply ({_quoted(data)}); nothing of it was used. Try again"
        raise self._garbled(what)

    def _garbled(self, what: str, *, may_pass: bool = True) -> ModelGarbled:
        error = errors.make(ModelGarbled, self.endpoint, what)
        error.transient = may_pass
        return error


def _quoted(data: bytes) -> str:
    text = " ".join(data[: _SHOWN * 4].decode("utf-8", "replace").split())
    return repr(mask(text)[:_SHOWN])
