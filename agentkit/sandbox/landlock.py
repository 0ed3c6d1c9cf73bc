"""Landlock: the Linux kernel holds a process, and all that it starts, to certain files, without root.

The rights, and the versions (ABI) of the kernel that know them, are those of linux/landlock.h and of
https://docs.kernel.org/userspace-api/landlock.html. A process cannot undo it, so it is for a process that is about to
become the program (`launch.py`), never for one that goes on. This module uses only the standard library, because that
process loads it by its path.
"""

from __future__ import annotations

import ctypes
import functools
import os
import stat
import sys
from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_GET_VERSION, _PATH_BENEATH = 1, 1
_SET_NO_NEW_PRIVILEGES = 38

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = 1, 2, 4, 8
_CHANGE_FOLDER = sum(1 << bit for bit in range(4, 13))
"""Remove and make folders, files, links, sockets, pipes and devices."""
_REFER, _TRUNCATE, _CONTROL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_BIND_TCP, _CONNECT_TCP = 1, 2
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2

_READ = _EXECUTE | _READ_FILE | _READ_FOLDER
_OF_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _CONTROL_DEVICE
"""The rights that a rule for something that is not a folder may have."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("handle", ctypes.c_int32))


@functools.cache
def version() -> int:
    """Return the version of Landlock in this kernel; 0 if there is none, or if it is switched off."""
    if not sys.platform.startswith("linux"):
        return 0
    try:
        return max(0, _call(_CREATE_RULESET, None, 0, _GET_VERSION))
    except (OSError, AttributeError):
        return 0


def restrict(read: Iterable[str], write: Iterable[str], *, net: bool) -> None:
    """Hold this process to reading and running what is below some paths, and to writing below others, for good.

    Without `net` it makes no TCP connection (from version 4). From version 6 on, it sends no signal to a process
    outside. Paths that are not there are left out. Raises `OSError` if the kernel does not do it.
    """
    known = version()
    every = _READ | _WRITE_FILE | _CHANGE_FOLDER
    every |= (_REFER if known >= 2 else 0) | (_TRUNCATE if known >= 3 else 0) | (_CONTROL_DEVICE if known >= 5 else 0)
    network = _BIND_TCP | _CONNECT_TCP if known >= 4 and not net else 0
    scoped = _ABSTRACT_SOCKETS | _SIGNALS if known >= 6 else 0
    ruleset = _Ruleset(every, network, scoped)
    size = 24 if known >= 6 else 16 if known >= 4 else 8
    rules = _call(_CREATE_RULESET, ctypes.byref(ruleset), size, 0)
    for rights, paths in ((_READ, read), (every & ~_CONTROL_DEVICE, write)):
        for path in paths:
            _allow(rules, path, rights)
    if _libc().prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS)")
    _call(_RESTRICT_SELF, rules, 0)
    os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            rights &= _OF_FILE
        _call(_ADD_RULE, rules, _PATH_BENEATH, ctypes.byref(_Beneath(rights, handle)), 0)
    finally:
        os.close(handle)


def _call(number: int, *arguments: object) -> int:
    result: int = _libc().syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}: {os.strerror(ctypes.get_errno())}")
    return result


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
