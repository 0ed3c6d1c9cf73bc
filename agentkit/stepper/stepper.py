"""The stepper: it runs an engine up to its pending steps, and continues it when their results arrive.

Rule 1: nothing here performs anything: no I/O, no clock, no thread. Rule 2: a step is identified by its frame path and
index, never by the order in which steps were completed. Rule 3: everything that was sent to an engine can be sent
again; a stepper is never copied, but built again and replayed.

Paths: the frame of the engine itself is "", the n-th generator that it delegates to with `yield from` is ".n", and lane
k of the `All` with index i is "[i.k]"; so "[3.0].1" is the first sub-generator in lane 0 of step 3. The path of a lane
that was started with the results of other lanes names them, as in "[3.2<0,1]".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentkit.around.base import Around
from agentkit.core.messages import EMPTY, Chat, Message, Reply
from agentkit.core.steps import Act, After, Answer, Conclude, End, Engine, Scope, Step, merged_tags, problem, replace
from agentkit.core.text import error_line
from agentkit.errors import EngineError, Finish, OutputValidationError
from agentkit.inert import inert
from agentkit.stepper.frames import Batch, Frame, FrameInfo, Lane, all_lanes, frames_of, leaves, raised_at, single

Recorded = Mapping[tuple[str, int], Any]
"""Entries, or any objects with `step` and `result`, by frame path and index."""

KINDS = ("think", "act", "ask", "all", "conclude")


@dataclass(slots=True, eq=False)
class Pending:
    """A step that waits to be performed, its position in the engine, and the scopes that it is in.

    If hooks have changed the step, `step` is what will be performed, and `original` is what the engine asked for.
    """

    lane: Lane
    path: str
    index: int
    step: Step
    scopes: tuple[tuple[str, Scope], ...] = ()
    original: Step | None = None

    @property
    def proposed(self) -> Step:
        """The step that the engine asked for."""
        return self.original or self.step

    @inert
    def __repr__(self) -> str:
        return f"Pending({self.step.kind} ({self.step.role}){f' at {self.path}' if self.path else ''})"


@dataclass(slots=True)
class _Given:
    """The result that an around returns instead of having a step performed."""

    result: Any


class Stepper:
    """An engine that waits at its pending steps; `feed` sends it a result and continues to the next steps.

    When the engine returns its `Answer`, a `Conclude` is pending; if its result is None, `answer` is set. If its result
    is a message, the engine is started again by `begin_again(chat)` with the whole chat. If the engine or an around
    raises or violates the protocol, `error` is an `EngineError` (or the `OutputValidationError` that was raised), and
    nothing is pending any more. A KeyboardInterrupt for which `pressed(error)` is true came from a person and passes
    through; after that the stepper cannot be used any more, and a new one has to be replayed.
    """

    def __init__(
        self,
        engine: Engine,
        arounds: tuple[Around, ...] = (),
        *,
        begin_again: Callable[[Chat], Engine] | None = None,
        pressed: Callable[[BaseException], bool] = lambda error: False,
    ) -> None:
        self.answer: Answer | None = None
        self.error: EngineError | OutputValidationError | None = None
        self.diverged = ""
        self._begin_again = begin_again
        self._pressed = pressed
        self._stack = arounds
        seen_by = {id(around): getattr(around, "kinds", KINDS) for around in arounds}
        kinds = {**{kind: (kind,) for kind in KINDS}, "calls": ("act", "all")}
        self._arounds = {
            name: tuple((i, around) for i, around in enumerate(arounds) if set(wanted) & set(seen_by[id(around)]))
            for name, wanted in kinds.items()
        }
        self.parts: dict[str, int] = {}
        self.root = Lane(engine, "")
        self._advance(self.root, None)

    @property
    def pending(self) -> list[Pending]:
        """The steps that can be performed now, the lowest lane first."""
        root = self.root
        if self.error:
            return []
        if root.batch is None:
            return [root.pending] if root.pending else []
        return [lane.pending for lane in leaves(root) if lane.pending]

    def feed(self, pending: Pending, result: Any) -> None:
        """Send the result of a pending step to its engine and continue; after the end, results are ignored."""
        lane = pending.lane
        if self.answer is not None:
            return
        if lane.pending is not pending:
            raise EngineError("this step is not pending any more")
        lane.pending = None
        if type(result) is End:
            self._end_at(lane, result)
        else:
            self._advance(lane, result)

    def replay(self, recorded: Recorded) -> list[tuple[Pending, Any]]:
        """Feed recorded results until the pending steps have none; return the steps that were replayed.

        A lane stops at the first step whose identity differs from the recorded one; `diverged` then says which.
        """
        done: list[tuple[Pending, Any]] = []
        differing: set[tuple[str, int]] = set()
        while due := [
            (pending, entry)
            for pending in self.pending
            if (entry := recorded.get((pending.path, pending.index))) and (pending.path, pending.index) not in differing
        ]:
            for pending, entry in due:
                if pending.lane.pending is not pending:
                    continue  # a result in a parallel lane has ended this lane
                if not is_same(pending.step, entry):
                    self.diverged = difference(pending, entry)
                    differing.add((pending.path, pending.index))
                    continue
                done.append((pending, entry))
                self.feed(pending, entry.result)
        return done

    def where(self) -> list[FrameInfo]:
        """Return where each lane is: its engine frames, innermost last, then the arounds that are in progress."""
        return [frame for lane in all_lanes(self.root) for frame in frames_of(lane, self._stack)]

    def frames_to(self, pending: Pending) -> list[FrameInfo]:
        """Return the frames that led to a pending step: those of its lane, and of the lanes that it was opened in."""
        lanes: list[Lane] = []
        lane: Lane | None = pending.lane
        while lane is not None:
            lanes.insert(0, lane)
            lane = lane.parent
        return [frame for lane in lanes for frame in frames_of(lane, self._stack)]

    def close(self) -> None:
        """Close the generators; errors that they raise are ignored."""
        self._close(self.root)

    def _close(self, lane: Lane) -> None:
        for inner in reversed(list(all_lanes(lane))):
            for generator in (*(held for _, held, _ in reversed(inner.around)), inner.engine):
                try:
                    generator.close()
                except BaseException as error:
                    if isinstance(error, KeyboardInterrupt) and self._pressed(error):
                        raise

    # -- moving on -----------------------------------------------------------------------------------------------------

    def _advance(self, lane: Lane, value: Any) -> None:
        """Send `value` to the generator that waits for it, until a step is pending or the lane has ended."""
        try:
            while asked := self._send(lane, value):
                position, step = asked
                lane.asker = position if position > lane.within else lane.within
                frame = lane.frames[-1]
                if lane.wrapped:
                    step = self._wrap(lane, frame, lane.asker, step)
                    if type(step) is _Given:
                        value = step.result
                        continue
                if step.kind != "all":
                    lane.pending = Pending(lane, frame.path, frame.index, step, frame.scopes)
                    frame.index += 1
                    return
                batch = lane.batch = Batch(step, f"{frame.path}[{frame.index}.")
                frame.index += 1
                self.parts[batch.place] = len(step.parts)
                if not self._start_parts(lane, batch):
                    return
                value = self._join(lane, batch)
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
        """Send a result to the innermost around that waits, or to the engine; return its position and its next step."""
        while lane.around:
            position, generator, wrapped = lane.around[-1]
            try:
                step = generator.send(value)
            except StopIteration as end:
                lane.around.pop()
                value = _checked_result(generator, wrapped, end.value)
                continue
            except BaseException as error:
                raise self._error_of(generator, error) from error
            if type(step) is not Conclude and (wrong := problem(step)):
                raise EngineError(wrong)
            return position, step
        if lane.proposed is not None:
            if not value:
                self._end(lane.proposed)
                return None
            self._restart(lane, lane.proposed, value)
            value = None
        try:
            step = lane.engine.send(value)
        except StopIteration as end:
            return self._returned(lane, end.value)
        frames = lane.frames
        if frames[0].generator.gi_yieldfrom is not None or len(frames) > 1:
            lane.follow()
        if wrong := problem(step):
            raise EngineError(wrong)
        scopes = frames[-1].scopes
        return -1, _with_tags(step, scopes) if scopes else step

    def _returned(self, lane: Lane, value: Any) -> tuple[int, Any] | None:
        """Propose the answer of the outermost engine; store the result of any other, which may start or join lanes."""
        del lane.frames[1:]
        if lane.parent is not None:
            self._finish(lane, value)
            return None
        if type(value) is not Answer or not isinstance(value.text, str):
            raise EngineError(f"an engine must return Answer(text, chat) with a str as text, not {value!r:.200}")
        if not value.propose:
            self._end(value)
            return None
        lane.proposed = value
        return -1, Conclude(value.text, "answer", value.tags, value.interrupted)

    def _restart(self, lane: Lane, answer: Answer, more: Any) -> None:
        """Start the engine again with the chat that led to its answer, and the message that came back."""
        if self._begin_again is None:
            raise EngineError("a message came back for the answer, but this stepper cannot start its engine again")
        lane.proposed = None
        lane.engine = self._begin_again(answer.chat + more)
        lane.frames[0].replace(lane.engine)

    def _wrap(self, lane: Lane, frame: Frame, position: int, step: Any) -> Any:
        """Pass a step through the arounds inside the one at `position`; return what comes out, or a `_Given`."""
        kind = "calls" if step.kind == "all" and step.calls else step.kind
        for i, around in self._arounds[kind]:
            if i > position:
                holder = lane.frames[0] if getattr(around, "nested", False) else frame
                memory = holder.memories.get(i)
                if memory is None:
                    memory = holder.memories[i] = {}
                generator = self._begun(around, step, memory)
                try:
                    wrapped, step = step, next(generator)
                except StopIteration as end:
                    return _Given(_checked_result(generator, step, end.value))
                except BaseException as error:
                    raise self._error_of(generator, error) from error
                lane.around.append((i, generator, wrapped))
                if type(step) is not Conclude and (wrong := problem(step)):
                    raise EngineError(wrong)
                if step.kind != wrapped.kind:
                    lane.asker = i
                    return self._wrap(lane, frame, i, step)
        return step

    def _begun(self, around: Around, step: Any, memory: dict[str, Any]) -> Any:
        """Return the generator of an around for a step."""
        try:
            generator = around(step, memory)
        except BaseException as error:
            raise self._error_of(around, error) from error
        if hasattr(generator, "send"):
            return generator
        raise EngineError(
            f"the around {_name_of(around)} is not a generator function; it takes (step, memory), yields the step, and "
            "returns the result: `return (yield step)`"
        )

    def _error_of(self, around: Any, error: BaseException) -> BaseException:
        """Return the error to raise for one that an around raised; one that was not meant names the around."""
        is_meant = isinstance(error, Finish | EngineError | OutputValidationError)
        if is_meant or (isinstance(error, KeyboardInterrupt) and self._pressed(error)):
            return error
        return EngineError(f"the around {_name_of(around)} raised {error_line(error)}{raised_at(error)}")

    # -- lanes ---------------------------------------------------------------------------------------------------------

    def _start_parts(self, lane: Lane, batch: Batch) -> bool:
        """Start the parts of an `All` that can start; return whether all of them have their results."""
        if batch.is_starting:
            return False
        batch.is_starting = True
        wrapped = lane.wrapped and not batch.step.calls
        while (number := next(batch.startable(), None)) is not None:
            part = batch.step.parts[number]
            if type(part) is After:
                part = part.begin(*(batch.results[need] for need in part.needs))
                if not hasattr(part, "send") and not isinstance(part, Step):
                    batch.results[number] = part
                    continue
            engine = part if hasattr(part, "send") else single(part)
            inner = Lane(engine, batch.path(number), lane, number, wrapped=wrapped, within=lane.asker)
            batch.lanes[number] = inner
            for i, memory in lane.frames[0].memories.items():
                if wrapped and getattr(self._stack[i], "nested", False):
                    before = [batch.lanes[need] for need in sorted(batch.needs(number)) if need in batch.lanes]
                    inner.frames[0].memories[i] = {
                        "outer": memory,
                        "before": [lane.frames[0].memories.setdefault(i, {}) for lane in before],
                    }
            self._advance(inner, None)
            if self.error or self.answer is not None:
                break
        batch.is_starting = False
        return batch.is_done

    def _finish(self, lane: Lane, value: Any) -> None:
        """Store the result of a lane, start the parts that waited for it, and after the last part continue."""
        lane.done, lane.result = True, value
        parent = lane.parent
        assert parent is not None and parent.batch is not None
        batch = parent.batch
        batch.results[lane.number] = value
        if self._start_parts(parent, batch):
            self._advance(parent, self._join(parent, batch))

    def _join(self, lane: Lane, batch: Batch) -> tuple[Any, ...]:
        """Return the results of an `All`, in order, and give the arounds the memories of its lanes."""
        lane.batch = None
        lanes = [batch.lanes[number] for number in sorted(batch.lanes)]
        for i, memory in lane.frames[0].memories.items():
            if getattr(self._stack[i], "nested", False) and not batch.step.calls:
                memory["lanes"] = [inner.frames[0].memories.setdefault(i, {}) for inner in lanes]
        return tuple(batch.results[number] for number in range(len(batch.step.parts)))

    # -- ends ----------------------------------------------------------------------------------------------------------

    def _end(self, answer: Answer) -> None:
        self.answer = answer
        self.root.pending, self.root.batch, self.root.done = None, None, True

    def _end_at(self, lane: Lane, end: End) -> None:
        """End the whole run, or the scope that a gate has named; the engine around that scope continues."""
        answer = Answer(end.answer, EMPTY, end.reason)
        if not end.scope:
            self._end(answer)
            return
        while not (scopes := _own_scopes(lane, end.scope)):
            assert lane.parent is not None, f"there is no scope {end.scope!r} around this step"
            lane = lane.parent
        for inner in list(all_lanes(lane))[1:]:
            self._close(inner)
        for _, generator, _ in reversed(lane.around):
            generator.close()
        lane.around, lane.batch, lane.pending = [], None, None
        scopes[-1].answer = answer
        self._advance(lane, None)


_RESULTS: dict[str, tuple[Any, str]] = {
    "think": (Reply, "the Reply"),
    "act": (Message, "the tool's Message"),
    "all": ((tuple, list), "the tuple of results"),
    "ask": (str, "the text of the answer"),
    "conclude": ((Message, type(None)), "None or a Message"),
}
"""The type of the result of each kind of step, and its name."""


def _checked_result(around: Any, step: Any, result: Any) -> Any:
    """Return the result that an around returned for a step. Raises `EngineError` if it is of another type."""
    expected, name = _RESULTS[step.kind]
    if isinstance(result, expected):
        return result
    forgot = "; it forgot to return what its yield was sent" if result is None else ""
    raise EngineError(
        f"the around {_name_of(around)} returned {result!r:.200} for a {type(step).__name__}, not {name}{forgot}: "
        "`return (yield step)`"
    )


def _name_of(around: Any) -> str:
    return getattr(around, "__name__", None) or type(around).__name__


def _own_scopes(lane: Lane, path: str) -> list[Scope]:
    """Return the scopes with this path among those of a lane's own frames."""
    inherited = len(lane.parent.frames[-1].scopes) if lane.parent else 0
    return [scope for place, scope in lane.frames[-1].scopes[inherited:] if place == path]


def _with_tags(step: Step, scopes: Iterable[tuple[str, Scope]]) -> Step:
    tags = dict(step.tags)
    for _, scope in reversed(list(scopes)):
        tags = merged_tags(tags, scope.tags)
    return replace(step, tags=tags) if tags else step


def is_same(step: Step, entry: Any) -> bool:
    """Return whether a step has the same identity as a recorded one: kind, role, and for an Act the call."""
    recorded = entry.step
    if recorded is None or step.kind != recorded.kind or step.role != recorded.role:
        return False
    return type(step) is not Act or step.call == recorded.call


def is_at(pending: Pending, other: Any) -> bool:
    """Return whether a pending step is the one that was pending, or was recorded, at the same position."""
    return (pending.path, pending.index) == (other.path, other.index) and is_same(pending.step, other)


def step_at(located: Any) -> str:
    """Return the kind, the role and the position of a pending step or an entry, in a few words."""
    kind, role = getattr(located.step, "kind", None), getattr(located.step, "role", None)
    return f"{kind} ({role}) at {located.path or 'the engine'} step {located.index}"


def difference(pending: Pending, entry: Any) -> str:
    """Return how a pending step differs from the one that was recorded at its position."""
    then = entry.step
    recorded = f"{getattr(then, 'kind', None)} ({getattr(then, 'role', None)})"
    return f"the engine now asks for {step_at(pending)}, but {recorded} was recorded there"
