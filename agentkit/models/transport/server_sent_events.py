"""Split a stream of bytes into lines, and lines into server-sent events (WHATWG HTML, section 9.2.6).

One field is read that the specification would skip: llama.cpp (before its pull request 16109) reports an error of a
stream as `error: {…}`, which becomes an event of the type "error".
"""

from __future__ import annotations

from collections.abc import Iterator

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Lines:
    """Bytes in, complete lines out, without their ends (LF, CR LF or CR); the rest is kept.

    A long line that arrives in many pieces is joined once.
    """

    def __init__(self) -> None:
        self._incomplete: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """Take more bytes, and return the lines that are complete now."""
        if not data:
            return []
        ends_with_cr = bool(self._incomplete) and self._incomplete[-1].endswith(b"\r")
        if b"\n" not in data and b"\r" not in data and not ends_with_cr:
            self._incomplete.append(data)
            return []
        lines = b"".join((*self._incomplete, data)).splitlines(keepends=True)
        self._incomplete = []
        if not lines[-1].endswith(b"\n"):  # no end yet, or a CR that an LF may follow
            self._incomplete.append(lines.pop())
        return [line.rstrip(b"\r\n") for line in lines]

    def end(self) -> bytes:
        """Return what is left at the end of the stream."""
        rest = b"".join(self._incomplete)
        self._incomplete = []
        return rest.rstrip(b"\r")


class Events:
    """Bytes in, server-sent events out, each as its type ("" for a message) and its data; comments are skipped.

    `has_fields` tells whether there was any line of an event; other text has none.
    """

    def __init__(self) -> None:
        self.has_fields = False
        self._lines = Lines()
        self._type = ""
        self._data: list[bytes] = []
        self._is_first_line = True

    def feed(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        """Take more bytes, and yield the events that are complete now."""
        for line in self._lines.feed(data):
            if self._is_first_line:
                line, self._is_first_line = line.removeprefix(_BYTE_ORDER_MARK), False
            if not line:
                if self._data:
                    yield self._type, b"\n".join(self._data)
                self._type, self._data = "", []
            else:
                self._add_field(line)

    def end(self) -> tuple[str, bytes]:
        """Return the event that the end of the stream cut off: its type, and its data as far as they arrived."""
        if rest := self._lines.end():
            self._add_field(rest)
        return self._type, b"\n".join(self._data).strip()

    def _add_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        self.has_fields = self.has_fields or name in (b"", b"data", b"event", b"id", b"retry")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        elif name == b"event":
            self._type = value.removeprefix(b" ").decode("utf-8", "replace")
        elif name == b"error":
            self._type, self._data = "error", [value.removeprefix(b" ")]
