"""The files that a run is exported to: their endings, and how they are written."""

from __future__ import annotations

import os

from agentkit.core import outside
from agentkit.core.private_files import write_private
from agentkit.errors import Unknown, UsageError

FORMATS = {
    "notebook": (".ipynb",),
    "html": (".html", ".htm"),
    "markdown": (".md", ".markdown"),
    "json": (".json",),
    "python": (".py",),
}
"""The formats of files, and the endings of their names; `agentkit.export` has a function `to_<format>` for each."""

Path = str | os.PathLike[str]


def format_of(path: Path) -> str:
    """Return the format that the ending of a file name means. Raises `Unknown`."""
    target = outside.path_of(path, "a file")
    for name, endings in FORMATS.items():
        if target.suffix.lower() in endings:
            return name
    known = [endings[0] for endings in FORMATS.values()]
    raise Unknown("format", target.suffix or target.name, known, f"the name of the file must end in {_any(known)}")


def write(path: Path, format: str, text: str, *, overwrite: bool = False) -> None:
    """Write an export to a file that only its owner can read.

    Raises `UsageError` if the name of the file has the ending of another format, or if the file exists already, unless
    it may `overwrite` it. A device or a pipe may have any name.
    """
    target, endings = outside.path_of(path, "a file"), FORMATS[format]
    if not target.exists() or target.is_file():
        if target.suffix.lower() not in endings:
            raise UsageError(
                f"the name of a file in the format {format} must end in {_any(endings)}, unlike {str(target)!r}"
            )
        if target.exists() and not overwrite:
            raise UsageError(f"{str(target)!r} already exists: choose another name, or pass overwrite=True")
    write_private(path, text)


def _any(endings: tuple[str, ...] | list[str]) -> str:
    *others, last = endings
    return f"{', '.join(others)} or {last}" if others else last
