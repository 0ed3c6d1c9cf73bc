"""The real program in a real pseudo-terminal, in which somebody types."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pexpect

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[=>]|\x1b\][^\x07]*\x07")
"""The escapes of prompt_toolkit and of agentkit itself."""


class Terminal:
    """A program in a terminal. `screen` is what it wrote, without escapes; `raw` everything."""

    def __init__(self, *arguments: str, columns: int = 100, folder: Path | None = None, **environment: str) -> None:
        env = {**os.environ, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", **environment}
        self.process: Any = pexpect.spawn(
            sys.executable,
            ["-m", "agentkit", *arguments],
            env={name: value for name, value in env.items() if value},
            cwd=folder,
            encoding="utf-8",
            codec_errors="surrogateescape",
            dimensions=(40, columns),
            timeout=60,
        )
        self.process.delaybeforesend = None
        self.raw = ""
        self._seen = 0

    @property
    def screen(self) -> str:
        return ESCAPES.sub("", self.raw).replace("\r\n", "\n").replace("\r", "").replace("\x08", "")

    def until(self, text: str, timeout: float = 25.0) -> str:
        """Return what is written up to a text that was not waited for yet. Raises `AssertionError` after a minute."""
        end = time.monotonic() + timeout
        while (at := self.screen.find(text, self._seen)) < 0:
            assert time.monotonic() < end, f"no {text!r} in {self.screen[self._seen :]!r}"
            assert self._read(), f"the program ended before {text!r}: {self.screen[self._seen :]!r}"
        found = self.screen[self._seen : at + len(text)]
        self._seen = at + len(text)
        return found

    def _read(self) -> bool:
        try:
            self.raw += self.process.read_nonblocking(65536, 0.2)
        except pexpect.TIMEOUT:
            pass
        except pexpect.EOF:
            return False
        return True

    def type(self, line: str) -> None:
        """Type a line, and Enter."""
        self.process.send(f"{line}\r")

    def ctrl(self, letter: str) -> None:
        self.process.sendcontrol(letter)

    def end(self, timeout: float = 25.0) -> int:
        """Wait for the end, and return the exit code, or the negative number of a signal."""
        end = time.monotonic() + timeout
        while self._read():
            assert time.monotonic() < end, f"it does not end: {self.screen[-1000:]!r}"
        self.process.close()
        assert "Traceback" not in self.screen, self.screen
        return int(self.process.exitstatus if self.process.signalstatus is None else -self.process.signalstatus)

    def kill(self) -> None:
        self.process.kill(signal.SIGKILL)
        self.process.close()
