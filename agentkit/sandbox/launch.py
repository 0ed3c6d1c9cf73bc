"""The launcher: a small process that starts one program under limits, and ends it with everything that it started.

It is run by its path (`python -I -S launch.py 5`), so that the process of agentkit, which has threads, never forks.
What it has to do is read from the handle, because the words of a command can be seen by every user of the machine. It
becomes the reaper of all its descendants, so that a program that puts itself into the background is found again. It
ends them when the program ends, or when the pipe `control` closes, which also happens if agentkit dies. It reports on
the pipe `status`: how the program ended, or why it was not started. It uses only the standard library.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any

_BECOME_REAPER = 36
_SECONDS_TO_END = 5.0


def main(order: dict[str, Any]) -> None:
    """Start a program, wait for its end, and end what it left behind."""
    control, status = order["control"], order["status"]
    reads, writes = os.pipe()
    for handle in (reads, writes):
        os.set_blocking(handle, False)
    signal.set_wakeup_fd(writes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(_BECOME_REAPER, 1, 0, 0, 0)
    child = os.fork()
    if not child:
        try:
            for handle in (control, reads, writes):
                os.close(handle)
            os.set_inheritable(status, False)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            _become(order)
        except BaseException as error:
            os.write(status, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        finally:
            os._exit(127)
    for handle in (0, 1, 2):
        os.close(handle)  # the output ends when the program and what it started have ended
    waiting = select.poll()  # unlike `select`, it takes any handle: this one's number may be over 1,024
    for handle in (control, reads):
        waiting.register(handle, select.POLLIN)
    ended = None
    while ended is None:
        if any(handle == control for handle, _ in waiting.poll()):
            break
        with contextlib.suppress(BlockingIOError):
            os.read(reads, 4096)
        ended = _reap(child)
    _end_all(child)
    with contextlib.suppress(OSError):
        os.write(status, json.dumps({"ended": ended}).encode())


def _become(order: dict[str, Any]) -> None:
    """Turn this process into the program."""
    os.setpgid(0, 0)
    for name, value in order["limits"].items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    os.chdir(order["folder"])
    if order["landlock"] is not None:
        import runpy

        module = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "landlock.py"))
        module["restrict"](**order["landlock"])
    os.execve(order["command"][0], order["command"], order["environment"])


def _reap(child: int) -> int | None:
    """Take note of the processes that have ended, and return how the program ended, if it has."""
    ended = None
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == child:
                ended = os.waitstatus_to_exitcode(found[1])
    return ended


def _end_all(child: int) -> None:
    """Kill every descendant: those of killed ones become children of this process, and are killed next."""
    until = time.monotonic() + _SECONDS_TO_END
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    while time.monotonic() < until:
        children = _children()
        for process in children:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)


def _children() -> list[int]:
    """Return the processes whose parent this process is; none where the system does not list them."""
    own = os.getpid()
    with contextlib.suppress(OSError), open(f"/proc/{own}/task/{own}/children", encoding="ascii") as file:
        return [int(process) for process in file.read().split()]
    found = []
    with contextlib.suppress(OSError):
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == own:
                    found.append(int(name))
    return found


if __name__ == "__main__":
    with open(int(sys.argv[1]), encoding="utf-8") as file:
        given = json.load(file)
    main(given)
