"""Context files: what a project says to agents, in AGENTS.md or another file, is read once, when a run starts.

The run records what was read, so a replay, a resume or a fork reads nothing again.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from agentkit.core.messages import Message, digest, system
from agentkit.core.outside import path_of
from agentkit.errors import Unknown, UsageError

DEFAULT = "AGENTS.md"
MAX_BYTES = 1 << 20
"""How large a file may be."""
MAX_CHARACTERS = 40_000
"""How much of each file may go to the model."""

Files = bool | str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None


@dataclass(frozen=True, slots=True)
class ContextFile:
    """What was read of a file: all of it, or one section; `name` is its path, from the working folder if possible."""

    name: str
    section: str
    text: str

    @property
    def message(self) -> Message:
        """The system message with which a model is told the text, and where it is from."""
        part = f", section {self.section!r}" if self.section else ""
        return system(f"Notes about this project, from the file {self.name}{part}:\n\n{self.text}")

    @property
    def record(self) -> dict[str, Any]:
        """What a run records about the file, beside the message."""
        about = {"file": self.name, "section": self.section, "characters": len(self.text)}
        return {**about, "digest": digest(self.text.encode())}


def read(files: Files, folder: Path | None = None) -> list[ContextFile]:
    """Return what context files say: those of the option `context` of an agent, in order.

    A name without a folder, such as "AGENTS.md", is looked for in the working folder and in those above it, up to the
    root of the project (the folder with `.git`; without one, only in the working folder). All that are found are
    read, the outermost first, so that the nearest comes last. "AGENTS.md#Testing" is the section under the heading
    "Testing". True stands for "AGENTS.md".

    Raises `UsageError` for a file that is missing, too large, not text, or a link that leads out of the project, and
    `Unknown` for a section that no file has.
    """
    folder = folder or Path.cwd()
    if files is True:
        files = DEFAULT
    if not files:
        return []
    names: Iterable[Any] = [files] if isinstance(files, str | os.PathLike) else files
    return [found for name in names for found in _of_name(os.fspath(name), folder)]


def _of_name(name: str, folder: Path) -> list[ContextFile]:
    """Return what the files of one name say."""
    path, section = _split(name)
    root = project_root(folder)
    if path.parent == Path(".") and not name.startswith("."):
        places = [place for place in (folder, *folder.parents) if place == root or root in place.parents]
        paths = [place / path for place in reversed(places) if os.path.lexists(place / path)]
        where = f"in {folder}" if root == folder else f"from {folder} up to {root}"
    else:
        paths, where = [folder / path] if os.path.lexists(folder / path) else [], f"at {folder / path}"
    if not paths:
        raise UsageError(f"there is no context file {str(path)!r} {where}; name another one, or leave out context")
    texts = {file: _text(file) for file in paths}
    if section:
        texts = {file: part for file, text in texts.items() if (part := section_of(text, section)) is not None}
    if not texts:
        known = [title for file in paths for _, title, _, _ in _headings(_text(file))]
        raise Unknown(f"section of {path.name}", section, known)
    for file, text in texts.items():
        if len(text) > MAX_CHARACTERS:
            titles = ", ".join(title for _, title, _, _ in _headings(text)[:10])
            raise UsageError(
                f"{file} has {len(text):,} characters for the model, and the limit is {MAX_CHARACTERS:,}; name one of "
                f"its sections, as in '{path.name}#Testing'{f' (it has: {titles})' if titles else ''}"
            )
    return [ContextFile(_shown(file, folder), section, text) for file, text in texts.items()]


def _split(name: str) -> tuple[Path, str]:
    """Return the path and the section of a name."""
    before, mark, after = name.rpartition("#")
    path, section = (before, after.strip()) if mark and before else (name, "")
    return path_of(path, "a context file"), section


def _shown(file: Path, folder: Path) -> str:
    """Return the path of a file from the working folder: `../AGENTS.md`."""
    return Path(os.path.relpath(file, folder)).as_posix()


def project_root(folder: Path) -> Path:
    """Return the folder of the project that a folder is in: the nearest one with `.git`, or the folder itself."""
    return next((place for place in (folder, *folder.parents) if os.path.lexists(place / ".git")), folder)


def _text(file: Path) -> str:
    """Return the text of a file. Raises `UsageError`."""
    try:
        real, root = file.resolve(strict=True), project_root(file.parent).resolve()
        if not real.is_relative_to(root):
            raise UsageError(f"{file} leads to {real}, outside of {root}; name that file itself, or copy it")
        if real.is_dir():
            raise UsageError(f"{file} is a folder, and a context file is a text; name a file in it")
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(real, flags), "rb") as opened:
            about = os.fstat(opened.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise UsageError(f"{file} is not a file; a context file is a text")
            if about.st_size > MAX_BYTES:
                size = f"{about.st_size / MAX_BYTES:,.1f} MB"
                raise UsageError(f"{file} has {size}, and a context file has at most {MAX_BYTES >> 20} MB")
            data = opened.read(MAX_BYTES)
    except (OSError, RuntimeError) as error:
        raise UsageError(f"the context file {file} cannot be read: {error}") from None
    try:
        if b"\0" in data:
            raise ValueError("it has bytes that no text has")
        text = data.decode("utf-8-sig")
    except ValueError as error:
        raise UsageError(f"{file} is not a text in UTF-8: {error}") from None
    return "\n".join(text.splitlines()).strip()


def section_of(text: str, title: str) -> str | None:
    """Return the section under a heading, with its subsections; None if there is no such heading.

    The heading is named as it is written, or as in a link to it ("build-and-test").
    """
    wanted = {_folded(title), _slug(title)}
    for level, heading, start, _ in (headings := _headings(text)):
        if _folded(heading) in wanted or _slug(heading) in wanted:
            ends = [begin for other, _, begin, _ in headings if begin > start and other <= level]
            return "\n".join(text.split("\n")[start : ends[0] if ends else None]).strip()
    return None


def _headings(text: str) -> list[tuple[int, str, int, int]]:
    """Return the level, the text, and the first and last line of each heading of a Markdown text."""
    return list(_read_headings(text))


def _read_headings(text: str) -> Iterator[tuple[int, str, int, int]]:
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").disable("inline").parse(text)
    for token, content in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map is not None:
            yield int(token.tag[1]), content.content, *token.map  # type: ignore[misc]


def _folded(title: str) -> str:
    return " ".join(title.split()).casefold()


def _slug(title: str) -> str:
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", title.casefold()).strip())
