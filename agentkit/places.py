"""Where an engine stands: the functions that are in the middle of something, as a debugger shows them."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


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
        if frame is None:
            continue
        code = frame.f_code
        source = linecache.getline(code.co_filename, frame.f_lineno).strip()
        yield Place(code.co_name, code.co_filename, frame.f_lineno, source, dict(frame.f_locals), lane.path, around)


def _chain(generator: Any) -> Iterator[Any]:
    """Give a generator and those that it delegates to."""
    while hasattr(generator, "gi_yieldfrom"):
        yield generator
        generator = generator.gi_yieldfrom
