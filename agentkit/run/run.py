"""A run: what a person holds. An ordinary Python object that is stepped, paused, edited, injected into, undone and forked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from agentkit import export
from agentkit.core.usage import Usage
from agentkit.gates.base import Breakpoint, Verdict
from agentkit.journal.entries import Entry
from agentkit.models import dialects
from agentkit.run import decisions, edits, show, stepping
from agentkit.run.result import Branches, Receipt, Result, result_of
from agentkit.runtime.control import Control
from agentkit.runtime.scheduler import Desk
from agentkit.stepper.places import Place
from agentkit.stepper.stepper import Pending
from agentkit.trace.events import Event

if TYPE_CHECKING:
    import os

    from agentkit.agent.agent import Agent

    Path = str | os.PathLike[str]


class Run:
    """One run of an agent, held at its pending step.

    `next(run)` performs one step in this thread, `for entry in run` all of them; `play()` goes on in the background and
    `await run` or `run.wait()` wait for it. `run[3]` is the third entry of the trace; `edit`, `inject`, `undo`, `fork`
    change what comes next, and nothing that was recorded is ever lost.
    """

    def __init__(self, agent: Agent, desk: Desk, control: Control, task: Any, missing: tuple[str, ...] = ()) -> None:
        self.agent = agent
        self.desk = desk
        self.control = control
        self.task = task
        self.missing = missing
        self.id = desk.history.run
        self.forecast = ""
        self.saved_status = "paused"
        control.tell = self._told
        self.interrupted = ""

    # -- what it is --------------------------------------------------------------------------------------------------

    @property
    def status(self) -> str:
        """One of readonly, done, running, waiting, failed, stopped, paused."""
        return "running" if self.control.running else self.standing

    @property
    def standing(self) -> str:
        """The status, whoever may be driving just now."""
        if self.missing:
            return "readonly"
        if self.answer is not None and not self.desk.history.behind.waiting:
            return "done"
        if self.desk.waiting and self.desk.waiting.keys() >= set(self.pending):
            return "waiting"
        if self.desk.error:
            return "failed"
        return "stopped" if self.interrupted else "paused"

    @property
    def entries(self) -> list[Entry]:
        """The trace: entry 0 is the task, then one entry per performed step, on the way to where the run stands."""
        return self.control.settled.history.visible

    @property
    def pending(self) -> list[Pending]:
        """The steps that could be performed now."""
        return self.control.settled.history.pending

    @property
    def waiting(self) -> list[tuple[Pending, Verdict]]:
        """The steps that wait for a person, each with the reason."""
        return list(self.control.settled.waiting.items())

    @property
    def answer(self) -> str | None:
        """The final answer, once there is one."""
        answer = self.control.settled.history.stepper.answer
        return answer.text if answer else None

    @property
    def usage(self) -> Usage:
        """Tokens, calls and money so far; what an undo leaves behind was spent all the same."""
        return self.desk.usage

    @property
    def result(self) -> Result:
        """How the run stands now, as a value."""
        return result_of(self)

    @property
    def hold(self) -> str:
        """Why the run does not go on by itself: a breakpoint, an error; empty when nothing is in the way."""
        return self.control.settled.hold

    @property
    def dialect(self) -> str:
        """The dialect in which the model is asked; may be set at any time, from the next step on."""
        return self.desk.host.dialect_for(self.desk.host.model).name

    @dialect.setter
    def dialect(self, name: str | None) -> None:
        self.desk.host.dialect = dialects.get(name) if name else None

    def where(self) -> list[Place]:
        """Say where the engine stands: function, file, line, source line and local variables of each frame of each lane."""
        return self.control.settled.history.stepper.where()

    def request(self, entry: int | Entry | None = None) -> dict[str, Any]:
        """Rebuild the exact request of a model call, as it was sent; without an entry that of the call which is pending."""
        return edits.request(self, None if entry is None else self._entry(entry))

    def events(self, after: int = 0) -> Iterator[Event]:
        """Give the kept events with a cursor above `after`, in order, and `resume_done` at the end."""
        return edits.events(self, after)

    def on_event(self, listener: Callable[[Event], Any]) -> Callable[[Event], Any]:
        """Call `listener` for each event as it happens, in the thread that drives the run; it should only enqueue."""
        self.desk.listen(listener)
        return listener

    def __getitem__(self, index: int) -> Entry:
        try:
            return self.entries[index]
        except IndexError:
            raise IndexError(f"there is no entry {index}; the trace has entries 0 to {len(self) - 1}") from None

    def __len__(self) -> int:
        return len(self.entries)

    # -- stepping ----------------------------------------------------------------------------------------------------

    def __next__(self) -> Entry:
        """Perform one step in this thread and give its entry; a run that plays in the background is paused first.

        Raises `StopIteration` when the run is over, `Undecided` when the step waits for a person, and whatever a model
        raised: the step then stays pending and can be tried again.
        """
        return stepping.one(self)

    def __iter__(self) -> Iterator[Entry]:
        """Give one entry after the other, until the run ends, is paused by the loop's own body, or meets a breakpoint."""
        return stepping.each(self)

    def step(self) -> Entry:
        """Perform one step and give its entry; the same as `next(run)`, with `Ended` instead of `StopIteration`."""
        return stepping.step(self)

    def step_over(self) -> list[Entry]:
        """Perform what is pending now, parallel calls side by side, or a nested engine to its end, and give the entries."""
        return stepping.over(self)

    def drive(self, timeout: float | None = None) -> Result:
        """Perform steps in this thread until the run ends, pauses, or waits for a person; give how it stands."""
        return stepping.to_the_end(self, timeout)

    def play(self, until: Callable[[], str] = str, pace: float | None = None) -> Run:
        """Go on in the background; returns at once. `until()` may give a reason to pause, `pace` are seconds between two steps."""
        stepping.play(self, until, pace)
        return self

    def pause(self) -> Run:
        """Pause at the next boundary: what is under way ends first and is recorded. Returns at once; `wait()` to be sure."""
        self.control.pause()
        return self

    def stop(self, reason: str = "stopped") -> Run:
        """Stop now: cancel what can be cancelled. The run keeps all it has, and `play()` goes on from there."""
        self.control.stop(reason)
        self.interrupted = reason
        return self

    def wait(self, timeout: float | None = None) -> Result:
        """Wait for the background task; an interrupt pauses the run. After `timeout` seconds the run is stopped."""
        return stepping.wait(self, timeout)

    def __await__(self) -> Generator[Any, None, Result]:
        """Play the run, if it is not playing, and wait for it without holding the event loop."""
        return stepping.awaited(self).__await__()

    def __aiter__(self) -> AsyncIterator[Entry]:
        """Give one entry after the other without holding the event loop; leaving the loop cancels what is under way."""
        return stepping.entries(self)

    def close(self) -> None:
        """Let the run go in its journal, so that it can be resumed or deleted elsewhere; this object is read-only from here on.

        Raises `JournalError` where the journal still refuses what it has refused before: that would be lost.
        """
        self.wait()
        if self.desk.history.behind.waiting:
            self.control.do(str)
        self.control.lease.drop()
        self.control.sealed = "this run was closed, or resumed as another object; resume it to change it"
        self.missing = (*self.missing, "its hold on the journal (it was closed, or resumed as another object)")

    # -- changing what comes next ------------------------------------------------------------------------------------

    def edit(
        self, entry: int | Entry | Pending | None = None, *, reason: str = "", author: str = "human", **change: Any
    ) -> Entry:
        """Put something else in the place of a recorded result, or of a pending step; the original is kept.

        For a thought: `text=`, `answer=`, `calls=`, `arguments=` (of its only call); for an action: `text=` (the observation),
        `arguments=` (edits the thought that asked for it). A pending step is one of `run.pending`; None is the first of them.
        """
        return edits.edit(self, entry, change, reason, author)

    def inject(self, text: str, to: str = "") -> Receipt:
        """Say something to the model; it arrives with its next request. Safe at any time, also from a tool."""
        return edits.inject(self, text, to)

    def undo(self) -> Run:
        """Go back to before the last edit, move or step; nothing is deleted, `redo()` takes it back."""
        edits.undo(self)
        return self

    def redo(self) -> Run:
        """Take the last undo back."""
        edits.redo(self)
        return self

    def rewind(self, to: int | Entry) -> Run:
        """Go back, or over to another branch: `to` becomes the last performed step."""
        edits.rewind(self, to)
        return self

    def fork(self, at: int | Entry | None = None, **changes: Any) -> Run:
        """Begin a second run over the same tree after entry `at`; changes are those of `Agent.using`.

        Nothing is performed; `forecast` says what is re-used and what would run.
        """
        return edits.fork(self, at, changes)

    def branches(self) -> Branches:
        """All lines of the tree that this run's entries lie in, the present one first."""
        return Branches(edits.branches(self))

    def break_at(self, **condition: Any) -> Breakpoint:
        """Set a breakpoint: `tool=`, `role=`, `line=`, `error=True`, `repeat=True` or `when=predicate`."""
        return edits.break_at(self, condition)

    # -- decisions ---------------------------------------------------------------------------------------------------

    def approve(self, which: int = 0, *, arguments: dict[str, Any] | None = None, remember: bool = False) -> Run:
        """Let a waiting call pass, with other `arguments` if given; `remember` lets that tool pass from now on."""
        decisions.approve(self, which, arguments, remember)
        return self

    def reject(self, comment: str = "", which: int = 0) -> Entry:
        """Refuse a waiting call; the model is told so, with the comment."""
        return decisions.reject(self, comment, which)

    def respond(self, value: Any, which: int = 0) -> Entry:
        """Answer a waiting question, or a pending call in the tool's place."""
        return decisions.respond(self, value, which)

    # -- out and back ------------------------------------------------------------------------------------------------

    def to_notebook(self, path: Path | None = None) -> Any:
        """Write the trace as a notebook whose cells run again on the recording; `path` is a file to write, too."""
        return export.to_notebook(self, path)

    def to_markdown(self, path: Path | None = None) -> str:
        """Write the trace as Markdown; with `path` also as a file."""
        return export.to_markdown(self, path)

    def to_html(self, path: Path | None = None) -> str:
        """Write the trace as one self-contained page; with `path` also as a file."""
        return export.to_html(self, path)

    def to_json(self) -> dict[str, Any]:
        """Give all that is recorded, branches and edits included, as JSON data."""
        return export.to_json(self)

    def to_frame(self) -> Any:
        """Give the trace as a pandas table, one row per entry."""
        return export.to_frame(self)

    def _entry(self, entry: int | Entry) -> Entry:
        return edits.own(self, entry)

    def _told(self, doing: str) -> None:
        """Hear from the control that somebody begins to drive ("running"), or that the run is at rest again ("")."""
        if not doing and self.control.stopping not in ("", "pause") and self.answer is None:
            self.interrupted = self.control.stopping
        edits.save_status(self, doing or self.standing)

    __repr__ = show.run
    from_json: ClassVar[Callable[..., Run]]
    from_notebook: ClassVar[Callable[..., Run]]
    widget: ClassVar[Callable[..., Any]]
    freeze: ClassVar[Callable[..., None]]
