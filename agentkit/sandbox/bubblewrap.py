"""Bubblewrap (`bwrap`): a program gets a view of its own of the files, the processes and the network, without root."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Iterable

_PROBE = ("--unshare-all", "--die-with-parent", "--new-session", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")


@functools.cache
def program() -> str:
    """Return the path of bubblewrap if it is installed and works here; "" if not.

    Some systems forbid the namespaces that it needs, so it is tried.
    """
    found = shutil.which("bwrap")
    true = shutil.which("true")
    if not found or not true:
        return ""
    try:
        tried = subprocess.run([found, *_PROBE, "--ro-bind", "/", "/", true], capture_output=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ""
    return found if tried.returncode == 0 else ""


def wrapped(
    command: list[str], read: Iterable[str], write: Iterable[str], *, folder: str, home: str, net: bool
) -> list[str]:
    """Return the command that runs a command within bubblewrap.

    It sees what is below the paths, and can write below those in `write`; nothing else of the files is there. `home` is
    an empty folder in memory.
    """
    binds = [part for path in read for part in ("--ro-bind-try", path, path)]
    binds += [part for path in write for part in ("--bind-try", path, path)]
    return [
        *(program(), *_PROBE, *(("--share-net",) if net else ()), "--cap-drop", "ALL", "--dir", home),
        *binds,
        *("--chdir", folder, "--", *command),
    ]
