"""A folder that no path leads out of.

A path is walked one component at a time, from the handle of one folder to the next, and the kernel is never asked to
follow a link or to go up: links are read and spliced into the path here, and `..` goes back to the handle from which
its folder was opened. So what was checked is what is opened, even if somebody swaps a folder for a link in between.

A hard link is the file itself: one that somebody put into the folder can be read, and nothing tells where else it is.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import functools
import os
import secrets
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agentkit.errors import ToolError, UsageError
from agentkit.inert import inert

HIDDEN = (".git", ".env", ".env.*", ".ssh", ".aws", ".gnupg", ".netrc")
"""What is hidden by default: files whose change makes other programs run code, and files that hold secrets."""

MAX_DEPTH = 100
"""How many folders may be open at once during a walk."""
MAX_LINKS = 40
"""How many links a path may lead through, as in Linux."""
MAX_TRIES = 10
"""How often a path is walked again because something was swapped while it was opened."""
_MAX_SHOWN = 200

_HERE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = _HERE | getattr(os, "O_DIRECTORY", 0)
_FILE = _HERE | getattr(os, "O_NONBLOCK", 0)  # a pipe without a writer would block
_NO_LINK = (errno.ELOOP, errno.EMLINK, getattr(errno, "EFTYPE", errno.ELOOP))
"""What a kernel answers if a link is opened with O_NOFOLLOW."""


class AccessDenied(ToolError):
    """A path that leads out of the folder, or to what is hidden in it."""


class NoSuchFile(ToolError):
    """There is nothing at a path."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One name in a folder: its `kind` is "file", "folder", "link" or "other", and `size` is in bytes."""

    name: str
    kind: str
    size: int


class Folder:
    """A folder that no path leads out of.

    Paths are relative to it, or absolute and within it. Names that fit a pattern in `hidden`, in any case, cannot be
    listed, read or written at any depth; neither can what the kernel shows as files, such as `/proc`. Raises
    `UsageError` if there is no such folder, or if the system opens no files by the handle of a folder (Windows).
    """

    def __init__(self, path: str | os.PathLike[str], *, hidden: tuple[str, ...] = HIDDEN) -> None:
        if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
            raise UsageError("this system opens no files by the handle of a folder, so no folder can be closed off")
        self.hidden = tuple(_folded(pattern) for pattern in hidden)
        try:
            self.path = Path(os.path.realpath(os.path.expanduser(path)))
            handle = os.open(self.path, _FOLDER)
        except (OSError, ValueError) as error:
            raise UsageError(f"there is no folder {str(path)!r} that can be read: {_reason(error)}") from None
        try:
            if os.fstat(handle).st_dev in _kernel_devices():
                raise UsageError(f"{str(path)!r} is a folder of the kernel, not of files")
        finally:
            os.close(handle)

    @inert
    def __repr__(self) -> str:
        return f"<Folder {self.path}>"

    def read(self, path: str, *, limit: int) -> bytes:
        """Return what is in a file. Raises `ToolError` if it cannot be read, or has more than `limit` bytes."""
        with self._explained(path):
            handle, _ = self._open(path, _FILE)
            return _content(handle, path, limit)

    def write(self, path: str, content: bytes, *, expected: bytes | None = None) -> None:
        """Write a file as a whole: other programs see the old content or the new one. Missing folders are made.

        With `expected`, nothing is written if the file has other content by now. Raises `ToolError` if the file cannot
        be written, or is a link.
        """
        with self._explained(path), self._place(path, make=True) as (parent, name, _):
            mode = None
            with contextlib.suppress(FileNotFoundError):
                info = os.stat(name, dir_fd=parent, follow_symlinks=False)
                if not stat.S_ISREG(info.st_mode):
                    kind = "a folder" if stat.S_ISDIR(info.st_mode) else "not a regular file"
                    raise ToolError(f"{_shown(path)} is {kind}; nothing was written")
                mode = stat.S_IMODE(info.st_mode)
            new = f".{secrets.token_hex(8)}.new"
            handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666, dir_fd=parent)
            try:
                with open(handle, "wb") as file:
                    file.write(content)
                    if mode is not None:
                        os.fchmod(file.fileno(), mode & 0o777)
                if expected is not None and _content_now(name, parent, path, len(expected)) != expected:
                    raise ToolError(f"{_shown(path)} was changed in the meantime; nothing was written. Read it again.")
                os.replace(new, name, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(new, dir_fd=parent)
                raise

    def entries(self, path: str = ".") -> list[Listed]:
        """Return what is in a folder, sorted by name, without what is hidden. Raises `ToolError` if there is none."""
        with self._explained(path):
            handle, _ = self._open(path, _FOLDER)
            try:
                with os.scandir(handle) as entries:
                    return sorted((_listed(entry) for entry in entries if not self._hides(entry.name)), key=_by_name)
            finally:
                os.close(handle)

    def files(self, path: str = ".", *, limit: int) -> Iterator[tuple[str, bytes | None]]:
        """Yield the path and the content of each file below a folder, or of the file itself; links are not followed.

        The content is None if the file has more than `limit` bytes or cannot be read.
        """
        with self._explained(path):
            handle, place = self._open(path, _FILE)
            if not stat.S_ISDIR(os.fstat(handle).st_mode):
                yield place, _content(handle, path, limit)
                return
            try:
                yield from self._below(handle, "" if place == "." else f"{place}/", limit, 0)
            finally:
                os.close(handle)

    def _below(self, folder: int, prefix: str, limit: int, depth: int) -> Iterator[tuple[str, bytes | None]]:
        with os.scandir(folder) as entries:
            listed = sorted((_listed(entry) for entry in entries if not self._hides(entry.name)), key=_by_name)
        for entry in listed:
            if entry.kind not in ("file", "folder") or depth >= MAX_DEPTH:
                continue
            place = prefix + entry.name
            try:
                handle = _checked(os.open(entry.name, _FOLDER if entry.kind == "folder" else _FILE, dir_fd=folder))
                if entry.kind == "file":
                    yield place, _content(handle, place, limit)
                    continue
            except (OSError, ToolError):
                if entry.kind == "file":
                    yield place, None
                continue
            try:
                yield from self._below(handle, f"{place}/", limit, depth + 1)
            finally:
                os.close(handle)

    # -- the walk ------------------------------------------------------------------------------------------------------

    def _open(self, path: str, flags: int) -> tuple[int, str]:
        """Return a handle of what a path leads to, which is not a link, and its path from this folder."""
        for _ in range(MAX_TRIES):
            with self._place(path) as (parent, name, place):
                try:
                    return _checked(os.open(name, flags, dir_fd=parent)), place
                except OSError as error:
                    if error.errno not in _NO_LINK and not (error.errno == errno.ENOTDIR and _is_link(name, parent)):
                        raise
        raise AccessDenied(f"Access denied: {_shown(path)} changes while it is opened.")

    @contextlib.contextmanager
    def _place(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str, str]]:
        """Hold the handle of the folder that a path leads to, with the last name, and the whole path without links.

        The last name is not a link at this moment, so it must be opened without following one. With `make`, folders
        that are missing are made, and a link at the end is refused.
        """
        waiting = [*reversed(self._parts(path))]
        handles = [self._top()]
        names: list[str] = []
        links = 0
        try:
            while waiting:
                part = waiting.pop()
                if part == "..":
                    if not names:
                        raise _outside(path)
                    names.pop()
                    while len(handles) > len(names) + 1:
                        os.close(handles.pop())
                    continue
                if self._hides(part):
                    raise AccessDenied(f"Access denied: {_shown(path)} leads to {part!r}, which is hidden.")
                while len(handles) <= len(names):  # the name before this one is a folder after all
                    handles.append(self._enter(names[len(handles) - 1], handles[-1], make))
                target = _link(part, handles[-1])
                if target is None:
                    names.append(part)
                    if len(names) > MAX_DEPTH:
                        raise ToolError(f"{_shown(path)} is more than {MAX_DEPTH} folders deep")
                    continue
                links += 1
                if make and not waiting:
                    raise ToolError(f"{_shown(path)} is a link; nothing was written. Name the file that it leads to.")
                if os.path.isabs(target):
                    raise _outside(path)
                if links > MAX_LINKS:
                    raise ToolError(f"{_shown(path)} leads through more than {MAX_LINKS} links")
                waiting += reversed(_split(target))
            yield handles[min(len(names), len(handles)) - 1], names[-1] if names else ".", "/".join(names) or "."
        finally:
            for handle in handles:
                os.close(handle)

    def _top(self) -> int:
        try:
            return os.open(self.path, _FOLDER)
        except OSError as error:
            raise ToolError(f"the top folder of these files cannot be opened any more: {_reason(error)}") from None

    def _enter(self, name: str, parent: int, make: bool) -> int:
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o777, dir_fd=parent)
        return _checked(os.open(name, _FOLDER, dir_fd=parent))

    def _parts(self, path: str) -> list[str]:
        """Return the components of a path from this folder. Raises `ToolError` if it is absolute and elsewhere."""
        if not isinstance(path, str) or "\0" in path:
            raise ToolError(f"{path!r:.80} is not a path")
        parts = _split(path)
        if not path.startswith("/"):
            return parts
        own = _split(str(self.path))
        if parts[: len(own)] != own:
            raise _outside(path)
        return parts[len(own) :]

    def _hides(self, name: str) -> bool:
        folded = _folded(name)
        return any(fnmatch.fnmatchcase(folded, pattern) for pattern in self.hidden)

    @contextlib.contextmanager
    def _explained(self, path: str) -> Iterator[None]:
        """Raise errors of the system as a `ToolError` in words that a model understands."""
        try:
            yield
        except (OSError, UnicodeError) as error:
            kind = NoSuchFile if isinstance(error, FileNotFoundError) else ToolError
            raise kind(f"{_shown(path)}: {_reason(error)}") from None


def _split(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _link(name: str, parent: int) -> str | None:
    """Return where a link leads; None if it is not a link, or is not there."""
    try:
        return os.readlink(name, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise


def _is_link(name: str, parent: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return True  # it was swapped once more


def _checked(handle: int) -> int:
    """Return a handle. Raises `AccessDenied` if it is that of a file which the kernel makes up."""
    if os.fstat(handle).st_dev in _kernel_devices():
        os.close(handle)
        raise AccessDenied("Access denied: this is a file of the kernel.")
    return handle


@functools.cache
def _kernel_devices() -> frozenset[int]:
    """Return the devices of `/proc` and `/sys`, wherever they are mounted too."""
    devices = set()
    for path in ("/proc", "/sys"):
        with contextlib.suppress(OSError):
            devices.add(os.stat(path).st_dev)
    return frozenset(devices - {os.stat("/").st_dev})


def _content(handle: int, path: str, limit: int) -> bytes:
    """Return what is in a file, and close its handle. Raises `ToolError` if it is not a file, or is too large."""
    info = os.fstat(handle)
    if not stat.S_ISREG(info.st_mode):
        os.close(handle)
        kind = "a folder" if stat.S_ISDIR(info.st_mode) else "a device, a pipe or a socket"
        raise ToolError(f"{_shown(path)} is {kind}, not a file")
    with open(handle, "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ToolError(f"{_shown(path)} has more than {limit:,} bytes, which are not read at once")
    return content


def _content_now(name: str, parent: int, path: str, limit: int) -> bytes | None:
    """Return what is in a file of a folder; None if it is not there, or has more than `limit` bytes."""
    try:
        return _content(os.open(name, _FILE, dir_fd=parent), path, limit)
    except (OSError, ToolError):
        return None


def _listed(entry: os.DirEntry[str]) -> Listed:
    try:
        info = entry.stat(follow_symlinks=False)
    except OSError:
        return Listed(entry.name, "other", 0)
    for is_kind, kind in ((stat.S_ISREG, "file"), (stat.S_ISDIR, "folder"), (stat.S_ISLNK, "link")):
        if is_kind(info.st_mode):
            return Listed(entry.name, kind, info.st_size)
    return Listed(entry.name, "other", 0)


def _by_name(listed: Listed) -> str:
    return listed.name


def _folded(name: str) -> str:
    """Return a name in the form in which file systems that ignore case compare it, without characters that hide."""
    plain = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    return plain.casefold().rstrip(". ") or plain


def _outside(path: str) -> AccessDenied:
    return AccessDenied(f"Access denied: {_shown(path)} is outside of the folder; use a path within it, such as '.'.")


def _shown(path: object) -> str:
    text = str(path)
    return repr(text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…")


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        reasons = {errno.ENOENT: "there is no such file or folder", errno.ENOTDIR: "a part of the path is not a folder"}
        return reasons.get(error.errno, (error.strerror or "it cannot be opened").lower())
    return "it is not a path that this system can have"
