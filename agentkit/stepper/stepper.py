"""One engine, held at its pending steps.

Rule 1: nothing here performs anything: no I/O, no clock, no thread.
Rule 2: where a step stands is said by its frame path and index, never by the order in which things completed.
Rule 3: whatever an engine was sent once it can be sent again; a stepper is never copied, it is built anew and replayed.

Paths: the engine's own frame is "", the n-th generator that it delegates to with `yield from` is ".n", and lane k of the
parallel step with index i is "[i.k]"; so "[3.0].1" is the first sub-generator within lane 0 of step 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from agentkit.around.base import Around
from agentkit.core.messages import EMPTY
from agentkit.core.steps import Act, Answer, Engine, Step, problem
from agentkit.core.text import error_line
from agentkit.errors import EngineError, Finish, OutputValidationError
from agentkit.stepper.lanes import Frame, Lane
from agentkit.stepper.places import Place, places, raised_at, single

Recorded = dict[tuple[str, int], Any]
"""Entries by frame path and index: anything with `kind`, `step` and `result`."""

KINDS = ("think", "act", "ask", "all", "conclude")


@dataclass(slots=True, eq=False)
class Pending:
    """A step that waits to be performed: where it stands, and in which lane. `opens` is true for a parallel step."""

    lane: Lane
    path: str
    index: int
    step: Step
    opens: bool = False
    joins: bool = False

    def __repr__(self) -> str:
        return f"Pending({self.step.kind} ({self.step.role}){f' at {self.path}' if self.path else ''})"


@dataclass(slots=True)
class Given:
    """The result that an around gave in the place of a step, which is performed by nobody then."""

    result: Any


class Stepper:
    """Hold an engine at its pending steps; `feed` sends a result in and moves on to the next ones.

    At the end `answer` holds the engine's `Answer`; when the engine or an around raised or broke the protocol, `error`
    holds an `EngineError` (or its `OutputValidationError`) and nothing is pending any more. A KeyboardInterrupt for which
    `pressed(error)` is true is a person's and passes through; the stepper is of no use then, and a new one is to be
    replayed in its place.
    """

    def __init__(
        self,
        engine: Engine,
        arounds: tuple[Around, ...] = (),
        pressed: Callable[[BaseException], bool] = lambda error: False,
    ) -> None:
        self.answer: Answer | None = None
        self.error: EngineError | OutputValidationError | None = None
        self.diverged = ""
        self._pressed = pressed
        self._arounds = {
            kind: tuple((i, around) for i, around in enumerate(arounds) if kind in getattr(around, "kinds", KINDS))
            for kind in KINDS
        }
        self.root = Lane(engine, "", None, wrapped=True)
        self._advance(self.root, None)

    @property
    def pending(self) -> list[Pending]:
        """All steps that could be performed now, the lowest lane first."""
        root = self.root
        if self.error:
            return []
        if not root.branches:
            return [root.pending] if root.pending else []
        return [lane.pending for lane in _leaves(root) if lane.pending]

    def feed(self, pending: Pending, result: Any) -> None:
        """Send the result of a pending step to its engine and move on; what comes back after the end is heard by nobody."""
        lane = pending.lane
        if self.answer is not None:
            return
        if lane.pending is not pending:
            raise EngineError("this step is not pending any more")
        lane.pending = None
        lane.branches = []
        self._advance(lane, result)

    def open(self, pending: Pending) -> None:
        """Start the lanes of a parallel step."""
        lane, step = pending.lane, pending.step
        parts = tuple(Act((call,), step.role, step.tags) for call in step.calls) if type(step) is Act else step.parts  # type: ignore[union-attr]
        wrapped = type(step) is not Act
        lane.pending = None
        engines: list[Any] = [part if hasattr(part, "send") else single(part) for part in parts]
        place = f"{pending.path}[{pending.index}."
        lane.branches = [
            Lane(e, f"{place}{k}]", lane, wrapped=wrapped, within=lane.asker) for k, e in enumerate(engines)
        ]
        for i, around in self._arounds["all"] if wrapped else ():
            if getattr(around, "nested", False):
                own = lane.frames[0].memories.setdefault(i, {})
                own["lanes"] = [branch.frames[0].memories.setdefault(i, {"outer": own}) for branch in lane.branches]
        joint = Pending(lane, pending.path, pending.index, step, joins=True)
        for branch in lane.branches:
            branch.pending = None
            self._advance(branch, None)
        if all(branch.done for branch in lane.branches):
            lane.pending = joint
        else:
            lane.joint = joint

    def join(self, pending: Pending) -> Any:
        """Give the result of a parallel step all of whose lanes are done, to be fed."""
        results = [branch.result for branch in pending.lane.branches]
        if type(pending.step) is Act:
            return tuple(message for result in results for message in result)
        return tuple(results)

    def replay(self, recorded: Recorded) -> list[tuple[Pending, Any]]:
        """Feed recorded results until only steps are pending that have none; give the steps that were replayed.

        A lane stops at the first step whose identity is not the recorded one; `diverged` then says where.
        """
        done: list[tuple[Pending, Any]] = []
        while due := [(p, e) for p in self.pending if (e := recorded.get((p.path, ~p.index if p.joins else p.index)))]:
            for pending, entry in due:
                if not same(pending.step, entry):
                    self.diverged = _difference(pending, entry)
                    del recorded[pending.path, ~pending.index if pending.joins else pending.index]
                    continue
                done.append((pending, entry))
                if pending.opens:
                    self.open(pending)
                else:
                    self.feed(pending, self.join(pending) if pending.joins else entry.result)
        return done

    def where(self) -> list[Place]:
        """Say where each lane stands: its engine frames, innermost last, then the arounds in the middle of something."""
        return [place for lane in _leaves(self.root, inner=True) for place in places(lane)]

    def close(self) -> None:
        """Let the generators go; what one of them raises at its end matters to nobody."""
        for lane in _leaves(self.root, inner=True):
            for _, generator in lane.around:
                self._close(generator)
            self._close(lane.frames[0].generator)

    def _close(self, generator: Any) -> None:
        try:
            generator.close()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and self._pressed(error):
                raise

    def _advance(self, lane: Lane, value: Any) -> None:
        """Send `value` to whoever waits for it in this lane, until a step is pending or the lane is done."""
        try:
            while asked := self._send(lane, value):
                position, step = asked
                lane.asker = position if position > lane.within else lane.within
                frame = lane.frames[-1]
                if wrong := problem(step):
                    raise EngineError(wrong)
                kind = step.kind
                if kind == "conclude" and (len(lane.frames) > 1 or lane.parent is not None):
                    value = None  # only the outermost engine's answer is up for discussion
                    continue
                if lane.wrapped:
                    step = self._wrap(lane, frame, lane.asker, step)
                if type(step) is Given:
                    value = step.result
                    continue
                opens = step.kind == "all" or (step.kind == "act" and len(step.calls) != 1)
                lane.pending = Pending(lane, frame.path, frame.index, step, opens)
                frame.index += 1
                return
        except Finish as finish:
            self._end(Answer(finish.answer, EMPTY, finish.reason))
        except (EngineError, OutputValidationError) as error:
            self.error = error
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and self._pressed(error):
                raise
            name = getattr(lane.frames[-1].generator, "__name__", "the engine")
            self.error = EngineError(f"{name} raised {error_line(error)}{raised_at(error)}")
            self.error.__cause__ = error

    def _send(self, lane: Lane, value: Any) -> tuple[int, Any] | None:
        """Send a result to the innermost around that waits, else to the engine; give who asks for which step next."""
        while lane.around:
            position, generator = lane.around[-1]
            try:
                return position, generator.send(value)
            except StopIteration as end:
                lane.around.pop()
                value = end.value
        engine = lane.frames[0].generator
        try:
            step = engine.send(value)
        except StopIteration as end:
            self._finish(lane, end.value)
            return None
        if engine.gi_yieldfrom is not None or len(lane.frames) > 1:
            _follow(lane)
        return -1, step

    def _wrap(self, lane: Lane, frame: Frame, position: int, step: Any) -> Any:
        """Pass a step through the arounds inside of the one at `position`; give the step that comes out, or a `Given`."""
        for i, around in self._arounds[step.kind]:
            if i > position:
                holder = lane.frames[0] if getattr(around, "nested", False) else frame
                memory = holder.memories.get(i)
                if memory is None:
                    memory = holder.memories[i] = {}
                generator = around(step, memory)
                try:
                    before, step = step.kind, next(generator)
                except StopIteration as end:
                    return Given(end.value)
                lane.around.append((i, generator))
                if step.kind != before:
                    lane.asker = i
                    return self._wrap(lane, frame, i, step)
        return step

    def _finish(self, lane: Lane, value: Any) -> None:
        lane.done, lane.result = True, value
        if lane.parent is None:
            if type(value) is not Answer or not isinstance(value.text, str):
                raise EngineError(
                    f"an engine returns an Answer with a text, as in Answer(text, chat), not {value!r:.200}"
                )
            self.answer = value
        elif lane.parent.joint is not None and all(branch.done for branch in lane.parent.branches):
            lane.parent.pending, lane.parent.joint = lane.parent.joint, None

    def _end(self, answer: Answer) -> None:
        self.answer = answer
        self.root.pending, self.root.branches, self.root.done = None, [], True


def same(step: Step, entry: Any) -> bool:
    """Say whether a step has the identity of a recorded one: kind and role, and for an Act its calls."""
    recorded = entry.step
    if recorded is None or step.kind != recorded.kind or step.role != recorded.role:
        return False
    return type(step) is not Act or step.calls == recorded.calls


def is_at(pending: Pending, one: Any) -> bool:
    """Say whether a pending step is the one that stood pending, or was recorded, at the same place."""
    return (pending.path, pending.index) == (one.path, one.index) and same(pending.step, one)


def _difference(pending: Pending, entry: Any) -> str:
    now, then = pending.step, entry.step
    return (
        f"the engine now asks for {now.kind} ({now.role}) at {pending.path or 'the engine'} step {pending.index}, "
        f"where {getattr(then, 'kind', None)} ({getattr(then, 'role', None)}) was recorded"
    )


def _follow(lane: Lane) -> None:
    """Bring the list of frames up to date with who delegates to whom by `yield from`."""
    frames, depth = lane.frames, 0
    inner = frames[0].generator.gi_yieldfrom
    while hasattr(inner, "gi_yieldfrom"):
        depth += 1
        if len(frames) <= depth or frames[depth].generator is not inner:
            parent = frames[depth - 1]
            parent.children += 1
            frames[depth:] = [Frame(inner, f"{parent.path}.{parent.children}")]
        inner = inner.gi_yieldfrom
    del frames[depth + 1 :]


def _leaves(lane: Lane, *, inner: bool = False) -> Iterator[Lane]:
    if inner or not lane.branches or lane.pending:
        yield lane
    for branch in lane.branches if not lane.pending or inner else ():
        yield from _leaves(branch, inner=inner)
