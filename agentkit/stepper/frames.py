"""The lanes and frames of a stepper: the generators in progress, how they delegate, and where they are now."""

from __future__ import annotations

import inspect
import linecache
import tokenize
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentkit.core.steps import After, All, Answer, Scope, Step
from agentkit.core.text import one_line
from agentkit.errors import UsageError
from agentkit.inert import inert


class Frame:
    """A generator of an engine: its path, the number of steps it has asked for, and the memories of the arounds.

    `scopes` are the scopes that it runs in, outermost first, each with the path of the frame directly inside it.
    """

    __slots__ = ("children", "generator", "index", "memories", "path", "scopes")

    def __init__(self, engine: Any, path: str, scopes: tuple[tuple[str, Scope], ...]) -> None:
        self.path = path
        self.index = 0
        self.children = 0
        self.memories: dict[int, dict[str, Any]] = {}
        self.replace(engine, scopes)

    def replace(self, engine: Any, scopes: tuple[tuple[str, Scope], ...] = ()) -> None:
        """Run another engine in this frame from now on."""
        while type(engine) is Scope:
            scopes = (*scopes, (self.path, engine))
            engine = engine.engine
        self.generator = engine
        self.scopes = scopes


class Lane:
    """A sequence of steps: the whole run is a lane, and each part of an `All` is another lane inside it.

    `engine` is the generator that results are sent to. `wrapped` tells whether arounds see its steps. `within` is the
    position of the around that opened the lane (-1 for an engine), and `asker` the position of the around (or engine)
    that asked for the pending step. `proposed` is the answer that the outermost engine has returned, until it is
    accepted.
    """

    __slots__ = (
        *("around", "asker", "batch", "done", "engine", "frames", "number", "parent", "path", "pending", "proposed"),
        *("result", "within", "wrapped"),
    )

    def __init__(
        self,
        engine: Any,
        path: str,
        parent: Lane | None = None,
        number: int = 0,
        *,
        wrapped: bool = True,
        within: int = -1,
    ) -> None:
        self.engine = engine
        self.path = path
        self.parent = parent
        self.number = number
        self.wrapped = wrapped
        self.within = self.asker = within
        self.frames: list[Frame] = [Frame(engine, path, parent.frames[-1].scopes if parent else ())]
        self.around: list[tuple[int, Any, Any]] = []
        self.pending: Any = None
        self.batch: Batch | None = None
        self.proposed: Answer | None = None
        self.done = False
        self.result: Any = None

    def follow(self) -> None:
        """Update the list of frames: which generator delegates to which with `yield from`."""
        frames, depth = self.frames, 0
        inner = frames[0].generator.gi_yieldfrom
        while generator := _without_scopes(inner):
            depth += 1
            if len(frames) <= depth or frames[depth].generator is not generator:
                parent = frames[depth - 1]
                parent.children += 1
                frames[depth:] = [Frame(inner, f"{parent.path}.{parent.children}", parent.scopes)]
            inner = generator.gi_yieldfrom
        del frames[depth + 1 :]


def _without_scopes(inner: Any) -> Any:
    """Return the generator in a chain of scopes; None if there is none."""
    while type(inner) is Scope:
        inner = inner.engine
    return inner if hasattr(inner, "gi_yieldfrom") else None


@dataclass(slots=True)
class Batch:
    """The parts of an `All` that are running in a lane; `place` is the beginning of the paths of their lanes."""

    step: All
    place: str
    lanes: dict[int, Lane] = field(default_factory=dict)
    results: dict[int, Any] = field(default_factory=dict)
    is_starting: bool = False

    @property
    def is_done(self) -> bool:
        """Whether every part has a result."""
        return len(self.results) == len(self.step.parts)

    def path(self, number: int) -> str:
        """Return the path of a lane: its number, and after "<" those of the lanes whose results it was started with."""
        needs = sorted(self.needs(number))
        return f"{self.place}{number}{'<' if needs else ''}{','.join(map(str, needs))}]"

    def needs(self, number: int) -> set[int]:
        """Return the parts whose results this part needs, directly or indirectly."""
        found, waiting = set[int](), [number]
        while waiting:
            part = self.step.parts[waiting.pop()]
            new = set(part.needs) - found if type(part) is After else set()
            found |= new
            waiting += new
        return found

    def startable(self) -> Iterator[int]:
        """Yield the parts that may start now, in order, until there are none left."""
        if self.step.limit and sum(not lane.done for lane in self.lanes.values()) >= self.step.limit:
            return
        for number, part in enumerate(self.step.parts):
            if number in self.lanes or number in self.results:
                continue
            if type(part) is not After or all(need in self.results for need in part.needs):
                yield number


def leaves(lane: Lane) -> Iterator[Lane]:
    """Yield the lanes that have no lanes inside them, in order; another thread may be changing them."""
    batch = lane.batch
    if batch is None:
        yield lane
        return
    for _, inner in sorted(batch.lanes.items()):
        yield from leaves(inner)


def all_lanes(lane: Lane) -> Iterator[Lane]:
    """Yield a lane and all lanes inside it; another thread may be changing them."""
    yield lane
    batch = lane.batch
    if batch is not None:
        for _, inner in sorted(batch.lanes.items()):
            yield from all_lanes(inner)


def single(step: Step) -> Generator[Step, Any, Any]:
    """Return a generator for a single step, which is performed as a part of an `All`."""
    return (yield step)


# -- where an engine is now --------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class FrameInfo:
    """A frame in `run.where()`: a function that is in progress, its current line and its local variables.

    `does` is what an around says about itself, or "". `path` is the path of an engine's frame, which no other one of
    the run has.
    """

    function: str
    file: str
    line: int
    source: str
    locals: dict[str, Any]
    lane: str
    around: bool = False
    does: str = ""
    path: str = ""

    @inert
    def __repr__(self) -> str:
        kind = "around" if self.around else "engine"
        lane = f" lane {self.lane}" if self.lane else ""
        return f"{kind}{lane} {self.function}, line {self.line}: {self.source}"


def frames_of(lane: Lane, arounds: Sequence[Any]) -> Iterator[FrameInfo]:
    """Yield the frames of one lane, innermost last, then its arounds with the engines that they run."""
    if lane.done:
        return
    generators: list[tuple[Any, Any, str]] = [(frame.generator, None, frame.path) for frame in lane.frames]
    for position, outer, _ in lane.around:
        generators += [(inner, arounds[position] if inner is outer else None, "") for inner in _delegates(outer)]
    for generator, around, path in generators:
        frame = generator.gi_frame
        if frame is None or frame.f_code is single.__code__:
            continue
        code = frame.f_code
        source = linecache.getline(code.co_filename, frame.f_lineno).strip()
        yield FrameInfo(
            code.co_name,
            code.co_filename,
            frame.f_lineno,
            source,
            dict(frame.f_locals),
            lane.path,
            around is not None,
            getattr(around, "does", ""),
            path,
        )


def _delegates(generator: Any) -> Iterator[Any]:
    """Yield a generator and the generators that it delegates to."""
    while generator := _without_scopes(generator):
        yield generator
        generator = generator.gi_yieldfrom


def raised_at(error: BaseException) -> str:
    """Return the line of the engine or around that raised an error, as ", at: …"; "" if the source is not available."""
    traceback, source = error.__traceback__, ""
    while traceback:
        code = traceback.tb_frame.f_code
        if code.co_flags & inspect.CO_GENERATOR and not code.co_name.startswith("<"):
            source = linecache.getline(code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return f", at: {one_line(source, 120)}" if source.strip() else ""


def next_yield(files: Sequence[str], line: int) -> int:
    """Return the line at which a breakpoint on `line` pauses: an engine can only be paused where it yields.

    If one of the files yields at `line`, that is the line; otherwise it is the next line of the first file that does.
    Raises `UsageError` if there is no `yield` at or after `line`. A file that cannot be read is not checked.
    """
    if any(line in _yield_lines(file) for file in files):
        return line
    lines = _yield_lines(files[0])
    if lines and line > max(lines):
        raise UsageError(
            f"{files[0]} has no yield at or after line {line}; an engine can only be paused where it yields"
        )
    return min((number for number in lines if number >= line), default=line)


def _yield_lines(file: str) -> set[int]:
    """Return the lines with a `yield`, found by tokens: CPython 3.11 cannot parse in two threads at the same time."""
    source = iter(linecache.getlines(file))
    try:
        tokens = list(tokenize.generate_tokens(source.__next__))
    except (SyntaxError, tokenize.TokenError):
        return set()
    return {token.start[0] for token in tokens if token[:2] == (tokenize.NAME, "yield")}
