"""The two drivers, side by side: the blocking one and the awaiting one. Nothing else in agentkit comes twice.

Each carries out the effects that the host's jobs yield. `Works` is what they share: which jobs are under way, and what
to do when one of them moves on.
"""

from __future__ import annotations

import functools
import queue
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from agentkit import interrupts
from agentkit.desk import Desk, Work
from agentkit.effects import Outcome, apart, call, late, outcome_of
from agentkit.errors import Control, ToolTimeout
from agentkit.host import Effect
from agentkit.journal.base import Entry
from agentkit.stepper import Pending
from agentkit.steps import Conclude

GRACE = 1.0
"""Seconds that a stop waits for synchronous tools that are still running."""


Back = queue.SimpleQueue[tuple[Work, Outcome | None]]
"""Where the outcomes of effects that run in threads come back."""


class Works:
    """The jobs under way; `move` sends one of them the outcome of its last effect and gives its next effect, if any."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.busy: dict[Pending, Work] = {}

    def begin(self, pending: Pending) -> tuple[Work, Effect] | None:
        """Start a step and give its first effect, or None when it needed none."""
        if type(pending.step) is Conclude:
            self.desk.conclude(pending)
            return None
        work = self.busy[pending] = self.desk.start(pending)
        effect = self.move(work, (True, None))
        return (work, effect) if effect else None

    def move(self, work: Work, outcome: Outcome) -> Effect | None:
        """Send an outcome in. A job that ends is recorded; one that raises has failed, and its step stays pending."""
        came, value = outcome
        try:
            return work.job.send(value) if came else work.job.throw(value)
        except StopIteration as end:
            del self.busy[work.pending]
            self.desk.save(work, end.value)
        except Exception as error:
            del self.busy[work.pending]
            self.desk.fail(error)
        return None

    def give_up(self, futures: dict[Work, Future[Any]]) -> None:
        """Leave what is still running marked as begun; what it gives later is noted and not used."""
        for work in self.busy.values():
            futures[work].add_done_callback(functools.partial(self._late, work))

    def _late(self, work: Work, future: Future[Any]) -> None:
        self.desk.late(work)


def step(desk: Desk, pending: Pending) -> Entry | None:
    """Perform one step in the caller's thread, without time limits: a debugger may sit in the tool for an hour.

    Gives its entry, or None when it failed or could not be saved (`desk.error` says how).
    """
    if type(pending.step) is Conclude:
        return desk.conclude(pending)
    work = desk.start(pending)
    proceed, value = work.job.send, None
    try:
        while True:
            effect = proceed(value)
            try:
                value, proceed = call(effect, desk), work.job.send
            except (Control, KeyboardInterrupt):
                raise
            except BaseException as error:
                value, proceed = error, work.job.throw
    except StopIteration as end:
        result = end.value
    except Exception as error:
        desk.fail(error)
        return None
    return desk.save(work, result)  # out here, so that nothing raised in it is chained to the StopIteration


def blocking(desk: Desk, until: Callable[[], str]) -> None:
    """Perform steps until none may start, or `until()` gives a reason to stop; lanes and parallel calls run in threads."""
    works = Works(desk)
    back: Back = queue.SimpleQueue()
    limits: dict[Work, float] = {}
    futures: dict[Work, Future[Any]] = {}

    def launch(work: Work, effect: Effect) -> None:
        future = futures[work] = apart(effect, desk)
        future.add_done_callback(lambda done: back.put((work, outcome_of(done))))
        if effect.timeout is not None:
            limits[work] = time.monotonic() + effect.timeout

    with interrupts.deferred() as guard:
        while True:
            reason = until()
            due = [] if reason else desk.due(works.busy)
            if len(due) == 1 and not works.busy and _unlimited(desk, due[0]):
                step(desk, due[0])
                if guard.hit:
                    guard.release()
                continue
            for pending in due:
                if begun := works.begin(pending):
                    launch(*begun)
            if not works.busy:
                if not due or reason:
                    return
                continue
            if guard.hit or reason not in ("", "pause"):
                for future in futures.values():
                    future.cancel()
                _abandon(works, back, GRACE)
                works.give_up(futures)
                guard.release()
                return
            _await_one(works, back, limits, launch)


def _await_one(works: Works, back: Back, limits: dict[Work, float], launch: Callable[[Work, Effect], None]) -> None:
    """Wait, 0.1 s at the most, for one effect to come back or to be too late."""
    try:
        work, outcome = back.get(timeout=0.1)
    except queue.Empty:
        now = time.monotonic()
        overdue = [work for work, limit in limits.items() if limit <= now and work.pending in works.busy]
        for work in overdue:
            del limits[work]
            works.move(work, (False, ToolTimeout("tool timed out")))
        return
    if works.busy.get(work.pending) is not work:
        works.desk.late(work)
        return
    limits.pop(work, None)
    if outcome and (following := works.move(work, outcome)):
        launch(work, following)


def _abandon(works: Works, back: Back, grace: float) -> None:
    """Wait a moment for what is still running, record what comes back, and leave the rest marked as begun."""
    end = time.monotonic() + grace
    while works.busy and (left := end - time.monotonic()) > 0:
        try:
            work, outcome = back.get(timeout=left)
        except queue.Empty:
            break
        if outcome is None:
            del works.busy[work.pending]
        elif works.busy.get(work.pending) is work:
            works.move(work, outcome)


def _unlimited(desk: Desk, pending: Pending) -> bool:
    if pending.step.kind != "act":
        return True  # a model limits its own time, and in this thread an interrupt reaches it at once
    tool = desk.host.tools.find(pending.step.calls[0].name)  # type: ignore[union-attr]
    return tool is None or tool.timeout is None


async def awaiting(desk: Desk, until: Callable[[], str]) -> None:
    """The same on an event loop."""
    import asyncio

    works = Works(desk)
    tasks: dict[Any, tuple[Work, Effect]] = {}
    futures: dict[Work, Future[Any]] = {}

    def launch(work: Work, effect: Effect) -> None:
        future = futures[work] = apart(effect, desk)
        tasks[asyncio.ensure_future(_in_time(future, effect))] = (work, effect)

    while True:
        reason = until()
        due = [] if reason else desk.due(works.busy)
        for pending in due:
            if begun := works.begin(pending):
                launch(*begun)
        if not works.busy:
            if not due or reason:
                return
            await asyncio.sleep(0)
            continue
        if reason not in ("", "pause"):
            await _cancel(works, tasks, futures)
            return
        done, _ = await asyncio.wait(tasks, timeout=0.1, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            work, _ = tasks.pop(task)
            if (outcome := outcome_of(task)) and (following := works.move(work, outcome)):
                launch(work, following)


async def _in_time(future: Future[Any], effect: Effect) -> Any:
    """Wait for a future no longer than its effect may take."""
    import asyncio

    waiting = asyncio.wrap_future(future)
    done, _ = await asyncio.wait([waiting], timeout=effect.timeout)
    if not done:
        waiting.cancel()
        raise late(effect)
    return waiting.result()


async def _cancel(works: Works, tasks: dict[Any, tuple[Work, Effect]], futures: dict[Work, Future[Any]]) -> None:
    """Cancel what can be cancelled at once, give threads a moment, record what came back."""
    import asyncio

    for future in futures.values():
        future.cancel()
    await asyncio.wait(tasks, timeout=GRACE)
    for task, (work, _) in tasks.items():
        outcome = outcome_of(task) if task.done() else None
        if outcome:
            works.move(work, outcome)
        elif task.done():
            del works.busy[work.pending]
    works.give_up(futures)
