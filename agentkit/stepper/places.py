"""Where an engine stands: the functions that are in the middle of something, as a debugger shows them."""

from __future__ import annotations

import inspect
import linecache
import tokenize
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agentkit.core.text import one_line
from agentkit.errors import UsageError


@dataclass(slots=True, eq=False)
class Place:
    """One frame of `where()`: a function that is in the middle of something, its current line and its local variables."""

    function: str
    file: str
    line: int
    source: str
    locals: dict[str, Any]
    lane: str
    around: bool = False

    def __repr__(self) -> str:
        what = "around" if self.around else "engine"
        lane = f" lane {self.lane}" if self.lane else ""
        return f"{what}{lane} {self.function}, line {self.line}: {self.source}"


def places(lane: Any) -> Iterator[Place]:
    """Give the frames of one lane of a stepper, innermost last, and then its arounds, with the engines that they run."""
    if lane.done:
        return
    held = [(g, g is not outer) for _, outer in lane.around for g in _chain(outer)]
    for generator, inner in [(f.generator, True) for f in lane.frames] + held:
        frame, around = generator.gi_frame, not inner
        if frame is None or frame.f_code is single.__code__:
            continue
        code = frame.f_code
        source = linecache.getline(code.co_filename, frame.f_lineno).strip()
        yield Place(code.co_name, code.co_filename, frame.f_lineno, source, dict(frame.f_locals), lane.path, around)


def raised_at(error: BaseException) -> str:
    """Say at which line of an engine, or of an around, an error was raised; "" where its source is not to be had."""
    steps, at = error.__traceback__, ""
    while steps:
        code = steps.tb_frame.f_code
        if code.co_flags & inspect.CO_GENERATOR and not code.co_name.startswith("<"):
            at = linecache.getline(code.co_filename, steps.tb_lineno)
        steps = steps.tb_next
    return f", at: {one_line(at, 120)}" if at.strip() else ""


def single(step: Any) -> Generator[Any, Any, Any]:
    """Be the engine of one step that is done beside others; nobody wrote it, so it stands nowhere."""
    return (yield step)


def stands(files: Sequence[str], line: int) -> int:
    """Give the line at which a breakpoint on `line` pauses: an engine is only ever held where it yields.

    A line at which any of the files yields is left; else the next one of the first file counts. Raises `UsageError` where
    no `yield` comes any more. A file that cannot be read is not judged.
    """
    if any(line in _yields(file) for file in files):
        return line
    yields = _yields(files[0])
    if yields and line > max(yields):
        where = f"line {line} of {files[0]}"
        raise UsageError(f"no step is asked for from {where} on: an engine is only held where it yields")
    return min((each for each in yields if each >= line), default=line)


def _yields(file: str) -> set[int]:
    """Give the lines with a `yield`, by their tokens: CPython 3.11 makes no two syntax trees at a time in two threads."""
    source = iter(linecache.getlines(file))
    try:
        return {
            token.start[0]
            for token in tokenize.generate_tokens(source.__next__)
            if token[:2] == (tokenize.NAME, "yield")
        }
    except (SyntaxError, tokenize.TokenError):
        return set()


def _chain(generator: Any) -> Iterator[Any]:
    """Give a generator and those that it delegates to."""
    while hasattr(generator, "gi_yieldfrom"):
        yield generator
        generator = generator.gi_yieldfrom
