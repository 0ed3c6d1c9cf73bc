"""Write files that may contain private conversations: only their owner can read them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from agentkit.core import outside
from agentkit.errors import UsageError


def write_private(path: str | os.PathLike[str], text: str, *, errors: str = "strict") -> None:
    """Write a text to a file that only its owner can read; a file that exists already keeps its permissions.

    The whole file is written next to the old one, which it then replaces: a crash leaves one or the other. A device or
    a pipe is written to directly. Raises `UsageError` if no file can have this path.
    """
    target = Path(os.path.realpath(outside.path_of(path, "a file")))  # a link keeps pointing to the file
    data = text.encode("utf-8", errors)
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {str(target.parent)!r} for the file {target.name!r}")
    new = target.with_name(f"{target.name}.{os.getpid()}.new")
    with contextlib.suppress(FileNotFoundError):
        new.unlink()
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb") as file:
        try:
            if target.exists():
                new.chmod(target.stat().st_mode & 0o777)
            file.write(data)
        except BaseException:
            new.unlink()
            raise
    new.replace(target)
