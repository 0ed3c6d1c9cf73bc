"""Read files and JSON that somebody else wrote: regular files only, and with a limit on memory.

A small text can contain many values: `[0],` takes 4 bytes in a file and about 30 in memory, and a compressed text may
be a thousand times as long as its file. So the memory that a text will need is estimated before it is parsed.
"""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any, BinaryIO

from agentkit.errors import UsageError

FACTOR = 48
"""Reading a file may need this many times its size in memory; a file under `SMALLEST` bytes counts as that large."""
SMALLEST = 2 << 20

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_COPIES = 2  # the parsed data, and the values that are made of it
PER_BYTE = 2 + _COPIES
"""What each byte of a text needs at least: the bytes, the text, and the parsed values."""


def path_of(path: Any, what: str) -> Path:
    """Return a path, with "~" replaced by the user's folder. Raises `UsageError` if no file can have this path."""
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"{what} must be a path, not {path!r:.200}")
    try:
        name = os.fsdecode(path)
        if not name or b"\0" in os.fsencode(name):
            raise ValueError("it is empty" if not name else "it contains a NUL")
        return Path(name).expanduser()
    except (ValueError, RuntimeError) as error:
        raise UsageError(f"{what} cannot be {path!r:.200}: {error}") from None


def open_file(path: Path) -> BinaryIO:
    """Open a regular file for reading; a device or a pipe might never end. Raises `OSError`."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError("it is not a regular file")
    return os.fdopen(file, "rb")


def read_file(path: Path) -> bytes:
    """Return the content of a regular file. Raises `OSError`."""
    with open_file(path) as file:
        return file.read()


def parse_json(content: bytes | str, size: int = 0) -> Any:
    """Return the data of a JSON text that was read from a file of `size` bytes, by default that of the text.

    Raises `ValueError`: not JSON, nested too deeply, or more values than `memory_limit` allows.
    """
    data = content.encode(errors="surrogatepass") if isinstance(content, str) else content
    limit = memory_limit(size or len(data))
    if (needed := memory_needed(data)) > limit:
        raise ValueError(
            f"it would need about {needed >> 20:,} MB of memory, but the limit is {limit >> 20:,} MB: {FACTOR} times "
            f"the size of the file, or of {SMALLEST >> 20} MB if the file is smaller"
        )
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def memory_limit(size: int) -> int:
    """Return how many bytes of memory may be needed to read a file of this size."""
    return FACTOR * max(size, SMALLEST)


def memory_needed(text: bytes) -> int:
    """Return about how many bytes of memory it takes to read a JSON text, by the number of its values."""
    return PER_BYTE * len(text) + _COPIES * values_size(_STRING.sub(b'"', text))


def values_size(text: bytes) -> int:
    """Return about how many bytes the values of a JSON text take, apart from its characters."""
    count = text.count
    return 200 * count(b"{") + 80 * count(b"[") + 30 * count(b",") + 50 * count(b'"')
