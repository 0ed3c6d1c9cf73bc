"""The check of an exercise: plain asserts, whose outcome is one line and never a traceback."""

from __future__ import annotations

import linecache
from types import TracebackType

from agentkit.classroom.lines import write_lines
from agentkit.core.secrets import mask
from agentkit.core.text import error_line, error_text, one_line

_WIDTH = 500


class check:
    """The check of an exercise: a context manager around asserts that prints "Exercise 1: solved." or what is missing.

    Whatever is raised inside becomes one line, so that a cell with a check never fails:

        with check("Exercise 1"):
            assert answer == 3, "count the model calls of the second run, too"
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.solved = False

    def __enter__(self) -> check:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self.solved = raised is None
        name = one_line(self.name)
        write_lines(f"{name}: solved." if raised is None else f"{name}: not yet. {_missing(raised, traceback)}")
        return True


def _missing(raised: BaseException, traceback: TracebackType | None) -> str:
    """Return in one sentence what an exercise is missing."""
    if isinstance(raised, NameError) and raised.name:
        return f"There is no `{one_line(raised.name)}` yet: run the cell that makes it, then this cell again."
    if isinstance(raised, AssertionError):
        reason = error_text(raised) or f"This is not true yet: {_source(traceback)}"
    elif isinstance(raised, KeyboardInterrupt):
        reason = "The check was interrupted before its end."
    else:
        reason = error_line(raised)
    line = one_line(reason, _WIDTH, mask)
    return f"{line[:1].upper()}{line[1:]}"


def _source(traceback: TracebackType | None) -> str:
    """Return the source line in which an assert failed."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return ""
    return linecache.getline(traceback.tb_frame.f_code.co_filename, traceback.tb_lineno).strip()
