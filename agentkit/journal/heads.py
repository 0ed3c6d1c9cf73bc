"""What was synced, kept apart from the database, so that the loss of its last rows is noticed.

SQLite drops the end of a write-ahead log from the first frame on that is damaged, and a log that is cut, deleted or
left behind by a copy is simply shorter: the chain of hashes is intact as far as it goes. So each tree of runs has a
file of one line in the folder `<journal>.heads`: the number, the time and the hash of its last row that was synced.
A tree without that row has lost it.

The line is written after the row is on the disk and before `append` returns. A process that is killed in between
leaves a line that is behind the rows, never one that is ahead of them, so an honest kill causes no alarm, and the row
in question was promised to nobody. The line is not synced itself, except when its file is created: it is shorter than
the unit that disks write, is replaced in place, and may only be older than it should be after a power cut. Rows that
are appended without `sync` are counted with the next row that is synced, or by the journal's `sync`.

This was chosen over a checkpoint before each irreversible call because it also notices rows that were deleted, a file
that was cut, and an older copy put in place of a newer one; and over a count in the database because that would be lost
together with the rows. It costs a few microseconds for each synced row, at any length. If somebody removes both the log
and the heads, one thing is left: the main file says which runs were open (`holder`), because a run is claimed and
released there with a checkpoint. A run that is open and has no head may have lost rows. `loss.py` compares.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from agentkit.core.log import logger
from agentkit.errors import JournalError
from agentkit.journal.chain import START
from agentkit.journal.lock import lock_until_closed

_LENGTH = 120  # of a line in bytes, with its checksum of eight digits


@dataclass(frozen=True, slots=True)
class Head:
    """The last row of a tree that was synced: its number in the tree, its hash, and when it was written."""

    number: int = 0
    hash: bytes = START
    at: float = 0.0


def clock(at: float) -> str:
    """Return a time as people write it, to the second."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


class Heads:
    """The heads of the trees of the journal `path`."""

    def __init__(self, path: Path) -> None:
        self.folder = path.with_name(f"{path.name}.heads")
        self._files: dict[str, str] = {}
        self._lines: dict[str, bytes] = {}  # what this object wrote last, which need not be read again

    def file(self, tree: str) -> str:
        """Return the path of a tree's head."""
        file = self._files.get(tree)
        if file is None:
            file = self._files[tree] = str(self.folder / f"{quote(tree, safe='')}.head")
        return file

    def trees(self) -> list[str]:
        """Return the names of the trees that have a head."""
        with contextlib.suppress(OSError):
            return [unquote(file.removesuffix(".head")) for file in os.listdir(self.folder) if file.endswith(".head")]
        return []

    def get(self, tree: str) -> Head | None:
        """Return the head of a tree; None if it has none, or an empty file. Raises `ValueError` if it is not valid."""
        for attempt in range(4):
            try:
                line = Path(self.file(tree)).read_bytes()
                return _parsed(line) if line else None
            except FileNotFoundError:
                return None
            except OSError as error:
                if error.errno == errno.ENAMETOOLONG:  # no file can have it, and so no run
                    return None
                raise ValueError(error.strerror) from error
            except ValueError:  # another process may be writing it now
                if attempt == 3:
                    raise
                time.sleep(0.002)
        return None

    def peek(self, tree: str) -> int:
        """Return the number in the head of a tree; 0 if it has none, -1 if it cannot be read."""
        try:
            head = self.get(tree)
        except ValueError:
            return -1
        return head.number if head else 0

    def start(self, tree: str) -> None:
        """Make sure that a tree has a head, on the disk. Raises `JournalError`."""
        if not os.path.exists(self.file(tree)):
            self.replace(tree, Head())

    def replace(self, tree: str, head: Head) -> None:
        """Write a head whatever was there before, and sync it. Raises `JournalError`."""
        try:
            self._write(tree, head, force=True)
        except OSError as error:
            raise JournalError(
                f"cannot write {self.file(tree)}: {error.strerror}; check its folder, or set AGENTKIT_HOME"
            ) from error

    def advance(self, tree: str, head: Head) -> None:
        """Write a head unless another process has written a later one meanwhile.

        The row that it names is stored already, so an error is only logged.
        """
        try:
            self._write(tree, head)
        except OSError as error:
            logger.warning(
                "cannot write %s (%s): if row %d is lost, it will not be noticed",
                self.file(tree),
                error.strerror,
                head.number,
            )

    def remove(self, tree: str) -> None:
        """Delete the head of a tree."""
        with contextlib.suppress(OSError):
            os.unlink(self.file(tree))

    def _write(self, tree: str, head: Head, *, force: bool = False) -> None:
        file = self._open(tree)
        try:
            lock_until_closed(file)
            before = os.read(file, _LENGTH)
            if not force and before != self._lines.get(tree) and _number(before) >= head.number:
                return
            os.lseek(file, 0, os.SEEK_SET)
            self._lines[tree] = line = _line(head)
            os.write(file, line)
            if force:
                os.ftruncate(file, _LENGTH)
                os.fsync(file)
                _sync_folder(self.folder)
        finally:
            os.close(file)

    def _open(self, tree: str) -> int:
        how = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
        try:
            return os.open(self.file(tree), how, 0o600)
        except FileNotFoundError:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(self.file(tree), how, 0o600)


def _line(head: Head) -> bytes:
    text = b"agentkit head %10d %b %20.6f " % (head.number, head.hash.hex().encode(), head.at)
    return b"%b%08x\n" % (text, zlib.crc32(text))


def _parsed(line: bytes) -> Head:
    text, sum_ = line[: _LENGTH - 9], line[_LENGTH - 9 :]
    if sum_ != b"%08x\n" % zlib.crc32(text):
        raise ValueError("its line is not valid")
    _, _, number, mark, at = text.split()
    return Head(int(number), bytes.fromhex(mark.decode()), float(at))


def _number(line: bytes) -> int:
    """Return the number in a line; -1 if the line is not valid."""
    try:
        return _parsed(line).number
    except ValueError:
        return -1


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
