"""What a stepper holds: lines of steps, and in each the generators that delegate to each other, outermost first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentkit.core.steps import Engine

if TYPE_CHECKING:
    from agentkit.stepper.stepper import Pending


class Frame:
    """One generator of an engine: its path, the number of its steps so far, and the memories of the arounds."""

    __slots__ = ("children", "generator", "index", "memories", "path")

    def __init__(self, generator: Any, path: str) -> None:
        self.generator = generator
        self.path = path
        self.index = 0
        self.children = 0
        self.memories: dict[int, dict[str, Any]] = {}


class Lane:
    """A line of steps: the whole run is one, and each part of a parallel step is one more."""

    __slots__ = (
        "around", "asker", "branches", "done", "frames", "joint", "parent", "path", "pending", "result", "within", "wrapped",
    )  # fmt: skip

    def __init__(self, engine: Engine, path: str, parent: Lane | None, *, wrapped: bool, within: int = -1) -> None:
        self.path = path
        self.parent = parent
        self.frames = [Frame(engine, path)]
        self.around: list[tuple[int, Any]] = []
        self.wrapped = wrapped
        self.within = within  # the around that opened this lane, which does not see its steps; -1 where the engine did
        self.asker = within
        self.pending: Pending | None = None
        self.branches: list[Lane] = []
        self.joint: Pending | None = None
        self.done = False
        self.result: Any = None
