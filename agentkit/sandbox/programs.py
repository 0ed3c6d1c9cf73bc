"""Programs that run confined: which walls this system has, and one way to run a program behind them."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from agentkit.core import secrets
from agentkit.core.checked_arguments import checked
from agentkit.errors import ToolError, UsageError
from agentkit.inert import inert
from agentkit.sandbox import bubblewrap, landlock

Level = Literal["auto", "strict", "bubblewrap", "landlock", "plain"]

HOLDS: dict[str, frozenset[str]] = {
    "bubblewrap": frozenset({"files", "network"}),
    "landlock": frozenset({"files"}),
    "plain": frozenset(),
}
"""The walls, strongest first, and what each of them holds back."""

SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime"),
    *("/nix/store", "/opt/homebrew"),
)
"""What every program may read: programs and their libraries."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl", "/etc/pki", "/etc/ca-certificates")
"""What a program that uses the network may read, too."""
PATH = "/usr/local/bin:/usr/bin:/bin"

KEPT_OUTPUT = 30_000
"""The number of bytes of the output that are kept: half of them from the beginning, half from the end."""
MAX_OUTPUT = 20_000_000
"""The number of bytes after which a program that goes on printing is ended."""
_SECONDS_TO_END = 10.0


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that has ended: `code` is its exit code, or minus the number of the signal that ended it.

    `ended` says why it was ended before its own end, "" if it was not; `code` is None then. `output` is what it printed
    to both streams, `walls` says what held it.
    """

    code: int | None
    output: str
    ended: str
    walls: str

    @property
    def text(self) -> str:
        """What a model reads: how the program ended, behind which walls, and what it printed."""
        if self.ended:
            how = self.ended
        elif self.code is not None and self.code < 0:
            how = f"ended by {_signal_name(-self.code)}"
        else:
            how = f"exit code {self.code}"
        return f"[{how}; sandbox: {self.walls}]\n{self.output or '(no output)'}"


class Sandbox:
    """Walls around programs: what they may read, write and reach, and for how long they may run.

    A program reads and writes in `folder`, reads what is below `read`, and writes what is below `write`; without `net`
    it has no network. How far that is held depends on the system: "auto" takes the strongest walls that there are, and
    each result says which; "strict" refuses to go below what was asked; a name takes these walls or none. Everywhere,
    a program has a minimal environment (`environment` is added to it), limits, and a home and temporary folder of its
    own, and it is ended with everything that it started.

    `seconds` limits the time, `cpu_seconds` that of the processor, `memory` the address space and `file_size` each file
    in bytes. Raises `UsageError` if there are no such walls here.
    """

    @checked
    def __init__(
        self,
        level: Level = "auto",
        *,
        folder: str | os.PathLike[str] = ".",
        read: Iterable[str | os.PathLike[str]] = (),
        write: Iterable[str | os.PathLike[str]] = (),
        net: bool = False,
        environment: Mapping[str, str] | None = None,
        seconds: float = 60.0,
        cpu_seconds: int = 60,
        memory: int = 4_000_000_000,
        file_size: int = 500_000_000,
    ) -> None:
        if level not in get_args(Level):
            raise UsageError(f"the level of a sandbox is one of {', '.join(get_args(Level))}, not {level!r}")
        if os.name != "posix":
            raise UsageError("programs can be held only on Linux and, with fewer walls, on macOS; not on this system")
        self.folder = os.path.realpath(os.path.expanduser(folder))
        if not os.path.isdir(self.folder):
            raise UsageError(f"there is no folder {str(folder)!r} for programs to work in")
        writable = [self.folder, *(os.path.realpath(os.path.expanduser(path)) for path in write)]
        self.write = _outermost(writable, writable)
        self.read = _outermost([os.path.realpath(os.path.expanduser(path)) for path in read], writable)
        self.net = net
        secrets.learn_named(environment or {})
        self.environment = {"PATH": PATH, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **(environment or {})}
        self.seconds = seconds
        self.limits = {"CPU": cpu_seconds, "AS": memory, "FSIZE": file_size, "NOFILE": 1024, "CORE": 0}
        self.level = self._choose(level)

    def _choose(self, level: str) -> str:
        found = available()
        if level in HOLDS:
            if level not in found:
                raise UsageError(f"there is no {level} on this system; it has: {', '.join(found)}")
            return level
        needed = {"files"} if self.net else {"files", "network"}
        if level == "strict" and not needed <= HOLDS[found[0]]:
            open_ = " and ".join(sorted(needed - HOLDS[found[0]]))
            raise UsageError(
                f"the strongest walls of this system ({found[0]}) do not hold the {open_}; "
                'install bubblewrap, or take Sandbox("auto"), which holds what it can'
            )
        return found[0]

    @property
    def holds_files(self) -> bool:
        """Whether programs can read and write only where they may."""
        return "files" in HOLDS[self.level]

    @property
    def walls(self) -> str:
        """What holds a program, in words."""
        if self.level == "bubblewrap":
            return f"bubblewrap, files and processes are held, {'the network is open' if self.net else 'no network'}"
        if self.level == "landlock":
            tcp = "no TCP, but UDP is open" if landlock.version() >= 4 else "the network is open"
            return f"landlock, files are held, {'the network is open' if self.net else tcp}"
        return "none, only limits: files and the network are open"

    @inert
    def __repr__(self) -> str:
        return f"<Sandbox {self.walls}; {self.folder}>"

    def which(self, name: str) -> str | None:
        """Return the path of a program that the sandbox's own PATH leads to; None if there is none of this name."""
        return shutil.which(name, path=self.environment["PATH"]) if name and "/" not in name else None

    def run(self, command: list[str], *, text: str = "") -> Finished:
        """Run a program, with a text as its input, and return how it ended; its first word is an absolute path.

        Raises `ToolError` if it cannot be started.
        """
        return Program(self, command, text).run()


class Program:
    """A program to run in a sandbox. `end` ends it, from any thread, with everything that it started."""

    def __init__(self, sandbox: Sandbox, command: list[str], text: str = "") -> None:
        if not command or not os.path.isabs(command[0]) or any("\0" in word for word in command):
            raise ToolError("a program is run by its absolute path, without null characters")
        self._sandbox, self._command, self._text = sandbox, command, text
        self._lock = threading.Lock()
        self._is_over = False
        self._control = -1

    def run(self) -> Finished:
        """Run the program and return how it ended. Raises `ToolError` if it cannot be started."""
        if self._is_over:
            raise ToolError("the program was ended before it was started")
        with tempfile.TemporaryDirectory(prefix="agentkit-", ignore_cleanup_errors=True) as home:
            reports, status = os.pipe()
            try:
                process = self._start(home, status)
                assert process.stdout is not None
                with process.stdout:
                    try:
                        kept, ended = self._read(process.stdout.fileno(), reports)
                    finally:
                        self.end()
                        _wait(process)
                report = _report(reports)
            finally:
                os.close(reports)
        if "error" in report:
            raise ToolError(f"the program cannot be started: {report['error']}")
        code = report.get("ended")
        if not isinstance(code, int) and not ended:
            ended = "ended from outside"
        output = kept.decode("utf-8", "replace")
        return Finished(code if isinstance(code, int) and not ended else None, output, ended, self._sandbox.walls)

    def end(self) -> None:
        """End the program and everything that it started, or let it not start."""
        with self._lock:
            self._is_over = True
            if self._control >= 0:
                with contextlib.suppress(OSError):
                    os.write(self._control, b"end")  # a process that was forked may hold the pipe open, too
                os.close(self._control)
                self._control = -1

    def _start(self, home: str, status: int) -> subprocess.Popen[bytes]:
        """Start the launcher, which reports to the handle `status`; that is closed here."""
        control, own_end = os.pipe()
        with self._lock:
            self._control = own_end
        if self._is_over:
            self.end()
        order = {"control": control, "status": status, **self._order(home)}
        launcher = str(Path(__file__).with_name("launch.py"))
        try:
            with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as orders:
                file.write(self._text.encode("utf-8", "replace"))
                file.seek(0)
                orders.write(json.dumps(order).encode())
                orders.seek(0)
                return subprocess.Popen(
                    [sys.executable, "-I", "-S", launcher, str(orders.fileno())],
                    stdin=file,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    pass_fds=(control, status, orders.fileno()),
                    env={"PATH": PATH},
                    cwd="/",
                    start_new_session=True,
                )
        except (OSError, ValueError) as error:
            self.end()
            raise ToolError(f"the program cannot be started: {error}") from None
        finally:
            os.close(control)
            os.close(status)

    def _order(self, home: str) -> dict[str, object]:
        """Return what the launcher does: the program, its environment and limits, and what holds it."""
        sandbox, command = self._sandbox, self._command
        home = "/tmp/home" if sandbox.level == "bubblewrap" else home
        read = [*SYSTEM, *_interpreter(), *(NETWORK if sandbox.net else ()), *sandbox.read]
        confined = None
        if sandbox.level == "bubblewrap":
            command = bubblewrap.wrapped(
                command, read, sandbox.write, folder=sandbox.folder, home=home, net=sandbox.net
            )
        elif sandbox.level == "landlock":
            confined = {"read": [*read, *DEVICES], "write": [*sandbox.write, home, "/dev/null"], "net": sandbox.net}
        return {
            "command": command,
            "environment": {"HOME": home, "TMPDIR": home, **sandbox.environment},
            "folder": sandbox.folder,
            "limits": sandbox.limits,
            "landlock": confined,
        }

    def _read(self, output: int, reports: int) -> tuple[bytes, str]:
        """Return the output that is kept, and why the program was ended before its end ("" if it was not)."""
        half, total = KEPT_OUTPUT // 2, 0
        first, last, ended, until = bytearray(), bytearray(), "", time.monotonic() + self._sandbox.seconds
        with selectors.DefaultSelector() as waiting:
            for handle in (output, reports):
                waiting.register(handle, selectors.EVENT_READ)
            while waiting.get_map():
                left = until - time.monotonic()
                ready = {key.fd for key, _ in waiting.select(left)} if left > 0 else set()
                if reports in ready:
                    waiting.unregister(reports)
                    until = min(until, time.monotonic() + _SECONDS_TO_END)
                if output in ready:
                    chunk = os.read(output, 65536)
                    total += len(chunk)
                    room = max(0, half - len(first))
                    first += chunk[:room]
                    last = (last + chunk[room:])[-half:]
                    if not chunk:
                        waiting.unregister(output)
                if not ready and (ended or reports not in waiting.get_map()):
                    break  # something that could not be ended holds the output
                if not ended and (not ready or total > MAX_OUTPUT):
                    ended = _TOO_MUCH if ready else f"ended after {self._sandbox.seconds:g} s"
                    self.end()
                    until = time.monotonic() + _SECONDS_TO_END
        left_out = total - len(first) - len(last)
        gap = f"\n[{left_out:,} bytes of the output are not shown]\n".encode() if left_out else b""
        return bytes(first + gap + last), ended


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _report(reports: int) -> dict[str, object]:
    """Return what the launcher reported, after it has ended; empty if it was killed."""
    os.set_blocking(reports, False)
    try:
        report = json.JSONDecoder().raw_decode(os.read(reports, 65536).decode("utf-8", "replace"))[0]
    except (OSError, ValueError):
        return {}
    return report if isinstance(report, dict) else {}


_TOO_MUCH = f"ended because it printed more than {MAX_OUTPUT:,} bytes"


@functools.cache
def available() -> tuple[str, ...]:
    """Return the names of the walls that this system has, the strongest first."""
    found = {"bubblewrap": bubblewrap.program(), "landlock": landlock.version(), "plain": True}
    return tuple(name for name in HOLDS if found[name])


def _outermost(paths: list[str], writable: list[str]) -> tuple[str, ...]:
    """Return the paths that are not below a writable one, where a program could put a link in their place."""
    return tuple(
        path for path in dict.fromkeys(paths) if not any(Path(other) in Path(path).parents for other in writable)
    )


def _interpreter() -> list[str]:
    """Return the folders of this Python, which the launcher and programs in Python need."""
    return [*dict.fromkeys(os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, sys.base_exec_prefix))]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
