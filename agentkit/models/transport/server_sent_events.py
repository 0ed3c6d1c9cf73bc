"""Cut a stream of bytes into lines, and lines into server-sent events (WHATWG HTML, section 9.2.6)."""

from __future__ import annotations

from collections.abc import Iterator

_BOM = b"\xef\xbb\xbf"


class Lines:
    """Bytes in, whole lines out, without their ends (LF, CR LF or CR); what has no end yet is kept.

    A long line that comes in many pieces is joined once.
    """

    def __init__(self) -> None:
        self._open: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """Take more bytes and give the lines that are whole now."""
        if not data:
            return []
        if b"\n" not in data and b"\r" not in data and not (self._open and self._open[-1].endswith(b"\r")):
            self._open.append(data)
            return []
        whole = b"".join((*self._open, data)).splitlines(keepends=True)
        self._open = []
        if not whole[-1].endswith(b"\n"):  # no end yet, or a CR that an LF may follow
            self._open.append(whole.pop())
        return [line.rstrip(b"\r\n") for line in whole]

    def end(self) -> bytes:
        """Give what is left, at the end of the stream."""
        rest = b"".join(self._open)
        self._open = []
        return rest.rstrip(b"\r")


class Events:
    """Bytes in, server-sent events out, each as its type ("" for a message) and its data; comments are passed over.

    `any` says that there was a line of one: other text has none.
    """

    def __init__(self) -> None:
        self.any = False
        self._lines = Lines()
        self._type = ""
        self._data: list[bytes] = []
        self._first = True

    def feed(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        """Take more bytes and give the events that are whole now."""
        for line in self._lines.feed(data):
            if self._first:
                line, self._first = line.removeprefix(_BOM), False
            if not line:
                if self._data:
                    yield self._type, b"\n".join(self._data)
                self._type, self._data = "", []
            else:
                self._field(line)

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        self.any = self.any or name in (b"", b"data", b"event", b"id", b"retry")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        elif name == b"event":
            self._type = value.removeprefix(b" ").decode("utf-8", "replace")

    def end(self) -> tuple[str, bytes]:
        """Give the event that the end of the stream cut off: its type, and its data as far as they came."""
        if rest := self._lines.end():
            self._field(rest)
        return self._type, b"\n".join(self._data).strip()
