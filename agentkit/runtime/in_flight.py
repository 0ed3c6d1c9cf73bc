"""The steps that are being performed: what the two drivers share. Nothing here waits for anything."""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import Any

from agentkit.core.steps import Conclude
from agentkit.errors import ModelError, ToolError
from agentkit.runtime.calls import Halted, Outcome, apart
from agentkit.runtime.performer import Effect
from agentkit.runtime.scheduler import Desk, Work
from agentkit.stepper.stepper import Pending
from agentkit.trace.history import History


class Works:
    """The jobs under way; `move` sends one of them the outcome of its last effect and gives its next effect, if any.

    Leaving its block, for whatever reason, gives up what is still out.
    """

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.busy: dict[Pending, Work] = {}
        self.futures: dict[Work, Future[Any]] = {}

    def __enter__(self) -> Works:
        return self

    def __exit__(self, *error: object) -> None:
        self.desk.wake = str
        for work in list(self.busy.values()):
            self.give_up(work)

    def begin(self, pending: Pending) -> tuple[Work, Effect] | None:
        """Start a step and give its first effect, or None when it needed none, could not be recorded, or the run has just ended."""
        if self.desk.history.stepper.answer is not None:
            return None
        if type(pending.step) is Conclude:
            self.desk.conclude(pending)
            return None
        work = self.desk.begin(pending)
        if work is None:
            return None
        self.busy[pending] = work
        effect = self.move(work, (True, None))
        return (work, effect) if effect else None

    def apart(self, work: Work, effect: Effect) -> Future[Any]:
        """Carry out an effect of a work beside this thread."""
        future = self.futures[work] = apart(effect, self.desk)
        return future

    def is_out(self, work: Work) -> bool:
        """Say whether a work is still waited for."""
        return self.busy.get(work.pending) is work

    def move(self, work: Work, outcome: Outcome | None) -> Effect | None:
        """Send an outcome in. A job that ends is recorded; one that raises has failed, and its step stays pending."""
        came, value = outcome or (False, _cancelled(work))
        try:
            return work.job.send(value) if came else work.job.throw(value)
        except StopIteration as end:
            result = end.value
        except Halted:
            self._end(work)  # a stop: the step stays pending
            return None
        except BaseException as error:
            self._end(work)
            self.desk.fail(error)
            return None
        self._end(work)
        self.desk.save(work, result)
        return None

    def too_late(self, work: Work, error: Exception) -> None:
        """Let a job hear that its effect took too long; what it gives later is noted."""
        self._mark_late(work)
        self.move(work, (False, error))

    def follow(self) -> None:
        """After a person's commands: keep the works whose steps are still to be done, and give the others up."""
        self.desk.mend()
        history = self.desk.history
        places = {(p.path, p.index, p.step.kind, _began(history, p)): p for p in history.pending}
        for pending, work in list(self.busy.items()):
            now = places.get((pending.path, pending.index, pending.step.kind, work.entry.parent))
            if now is None:
                self.give_up(work)
            elif now is not pending:
                del self.busy[pending]
                self.busy[now] = work
                work.pending, work.step = now, now.step if work.step is pending.step else work.step

    def give_up(self, work: Work) -> None:
        """Leave a work that is out marked as begun, cancelled where that can be; what it gives later is noted and not used."""
        self._mark_late(work)
        if future := self.futures.get(work):
            future.cancel()
        self._end(work)

    def _mark_late(self, work: Work) -> None:
        """Let a work be over: what it says from here on is told to nobody, and what it gives is noted."""
        work.entry.ended = time.time()
        if future := self.futures.get(work):
            future.add_done_callback(lambda done: None if done.cancelled() else self.desk.late(work))

    def _end(self, work: Work) -> None:
        del self.busy[work.pending]
        self.futures.pop(work, None)


def _began(history: History, pending: Pending) -> int:
    """Give the entry after which a step began: on this line, or on another one, before a call beside it was edited."""
    note, at = history.uncertain(pending), history.tips[pending.lane.path]
    return int(note.data.get("kept", at)) if note else at


def _cancelled(work: Work) -> Exception:
    """Say that an effect was cancelled, and by nobody here."""
    return (
        ModelError("the call of the model was cancelled")
        if work.step.kind == "think"
        else ToolError("it was cancelled")
    )
