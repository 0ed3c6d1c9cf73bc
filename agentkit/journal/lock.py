"""One lock of the operating system per run: its holder may write; when the holder's process dies, the lock is free."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
import weakref
from pathlib import Path
from urllib.parse import quote

from agentkit.errors import JournalError, JournalInUse

_ATTEMPTS = 10
_BYTE = 1 << 30  # on Windows a locked byte cannot be read, so lock one that comes after the text


class RunLock:
    """A lock that holds a run: a lock on the file `<folder>/<run>.lock`, which names the process and the host.

    Raises `JournalInUse` if this process or another one holds the run already.
    """

    def __init__(self, folder: Path, run: str) -> None:
        self.path = _file(folder, run)
        self._file: int | None = None
        while self._file is None:
            file = self._open()
            try:
                _lock_soon(file)
            except OSError as error:
                holder = _read(file)
                os.close(file)
                if isinstance(error, BlockingIOError | PermissionError):
                    raise JournalInUse(_in_use(run, holder)) from None
                raise JournalError(
                    f"cannot lock {self.path} ({error}); keep the journal on a local disk, or set AGENTKIT_HOME to one"
                ) from error
            if _still_there(file, self.path):
                self._file = file
            else:  # its last holder deleted the file after we opened it and before we locked it
                os.close(file)
        _held.add(self)
        with contextlib.suppress(OSError):  # on a full disk the run is held, too, but the file does not name the holder
            os.ftruncate(self._file, 0)
            os.write(self._file, f"{os.getpid()} {socket.gethostname()}\n".encode())

    def _open(self) -> int:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise JournalError(
                f"cannot write {self.path}: {error.strerror}; check its folder, or set AGENTKIT_HOME"
            ) from error

    def release(self) -> None:
        """Release the run, and delete the file."""
        if self._file is not None:
            if sys.platform != "win32":
                with contextlib.suppress(OSError):
                    self.path.unlink()
            self.forget()

    def forget(self) -> None:
        """Close the file without freeing the lock of a parent process that may share it."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = None


def folder_of_locks(path: Path) -> Path:
    """Return the folder in which the locks of a journal's runs are."""
    return path.parent / ("locks" if path.name == "runs.db" else f"{path.name}.locks")


def is_held(folder: Path, run: str) -> bool:
    """Return whether any process holds a run; this works on a read-only disk, too."""
    try:
        file = os.open(_file(folder, run), os.O_RDONLY if sys.platform != "win32" else os.O_RDWR)
    except OSError:
        return False
    try:
        _lock(file, shared=True)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def _lock_soon(file: int) -> None:
    """Lock a file; wait a moment for processes that only ask whether it is locked, because that locks it, too."""
    for _ in range(_ATTEMPTS):
        try:
            return _lock(file)
        except (BlockingIOError, PermissionError):
            time.sleep(0.005)
    _lock(file)


def lock_until_closed(file: int) -> None:
    """Lock an open file until it is closed; wait for another process that has locked it."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(file, _BYTE, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_LOCK, 1)
        os.lseek(file, 0, os.SEEK_SET)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)


def _file(folder: Path, run: str) -> Path:
    return folder / f"{quote(run, safe='')}.lock"


def _lock(file: int, *, shared: bool = False) -> None:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(file, _BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(file, 0, os.SEEK_SET)
    else:
        import fcntl

        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def _still_there(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _read(file: int) -> str:
    os.lseek(file, 0, os.SEEK_SET)
    return os.read(file, 300).decode(errors="replace").strip()


def _in_use(run: str, holder: str) -> str:
    process, _, host = holder.partition(" ")
    if process == str(os.getpid()) and host == socket.gethostname():
        return f"this process ({process}) holds run {run} already; use that Run object, or close it first"
    holder = f"process {process or 'unknown'} on {host or 'this host'}"
    return (
        f"run {run} is held by {holder}; close it there first; agentkit.look({run!r}) and "
        f"agent.fork({run!r}) do not need it"
    )


_held: weakref.WeakSet[RunLock] = weakref.WeakSet()


def _after_fork() -> None:
    for lock in list(_held):
        lock.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
