"""Text for a terminal: everything is inert, and only this module writes escapes: to dim a line, and to draw again."""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple, TextIO

from agentkit.inert import for_terminal

TOP, LINE_END, REST = "\x1b[H", "\x1b[K\n", "\x1b[J"
DIM, PLAIN = "\x1b[2m", "\x1b[0m"
INDENT = "  "
"""What stands before each line that a model or a tool wrote, so that none looks like a line of agentkit."""


class Marks(NamedTuple):
    """What stands before a line about a step."""

    call: str = "🔧"
    result: str = "→"
    error: str = "❌"
    done: str = "✅"


ASCII = Marks("*", "->", "x", "=")


class Screen:
    """A stream whose text is inert. `is_terminal` tells whether a person may be looking.

    In a terminal that has it, unless the variable NO_COLOR is set, text can be dimmed.
    """

    def __init__(self, stream: TextIO, *, dims: bool = False) -> None:
        self.stream = stream
        self.dims = dims
        self.is_terminal = stream.isatty()
        self._is_at_start = True
        try:
            "".join(Marks()).encode(getattr(stream, "encoding", None) or "ascii")
        except (UnicodeError, LookupError):
            self.marks = ASCII
        else:
            self.marks = Marks()

    def write(self, text: str, *, dim: bool = False) -> None:
        """Write a text as it comes, in lines that are indented; the last one may go on later."""
        if not text:
            return
        shown = for_terminal(text, lines=True).replace("\n", f"\n{INDENT}")
        self._put(shown if not self._is_at_start else INDENT + shown, dim)
        self._is_at_start = False

    def line(self, text: str = "", *, dim: bool = False) -> None:
        """Write one line of agentkit's own; a line that was not ended yet is ended first."""
        self.end_line()
        self._put(for_terminal(text), dim)
        self._put("\n")

    def lines(self, text: str) -> None:
        """Write lines that are inert, or made inert, without an indent."""
        self.end_line()
        self._put(f"{for_terminal(text, lines=True)}\n")

    def draw(self, lines: list[str]) -> None:
        """Show some lines from the top of a terminal on, in place of what was there."""
        shown = "".join(f"{for_terminal(line)}{LINE_END}" for line in lines)
        self.stream.write(f"{TOP}{shown}{REST}")
        self.stream.flush()

    def end_line(self) -> None:
        """End the line that is being written, if there is one."""
        if not self._is_at_start:
            self._put("\n")
            self._is_at_start = True

    def _put(self, text: str, dim: bool = False) -> None:
        self.stream.write(f"{DIM}{text}{PLAIN}" if dim and self.dims and text else text)
        self.stream.flush()


def screen_of(name: str) -> Screen:
    """Return a screen for "stdout" or "stderr"."""
    stream: Any = getattr(sys, name)
    terminal: Any = getattr(sys, f"__{name}__")
    if not stream.isatty() or terminal is None:
        return Screen(stream)
    return Screen(terminal, dims=not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb")
