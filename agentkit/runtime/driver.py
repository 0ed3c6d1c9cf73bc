"""The two drivers, side by side: the blocking one and the awaiting one. Nothing else in agentkit comes twice.

Each carries out the effects that the host's jobs yield; what they share is in works.py.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Container, Iterable
from concurrent.futures import Future
from typing import Any, Literal, cast

from agentkit.core import interrupts
from agentkit.core.background import Mailbox
from agentkit.core.steps import Conclude
from agentkit.errors import ToolTimeout
from agentkit.gates import deadline
from agentkit.journal.entries import Entry
from agentkit.runtime.calls import Halted, Outcome, call, late, outcome_of
from agentkit.runtime.in_flight import Works
from agentkit.runtime.performer import Effect
from agentkit.runtime.scheduler import Desk, Work
from agentkit.stepper.stepper import Pending

GRACE = 1.0
"""Seconds that a stop waits for synchronous tools that are still running."""


MayStart = Callable[[Container[Pending]], list[Pending]]
"""Says which pending steps may start, beside those that are under way."""

Back = Mailbox[tuple[Work, Outcome | None] | None]
"""Where the outcomes of effects that run in threads come back; a None only wakes who waits."""


def step(desk: Desk, pending: Pending) -> Entry | None:
    """Perform one step in the caller's thread, without time limits: a debugger may sit in the tool for an hour.

    Gives its entry, or None when it failed or could not be saved (`desk.error` says how).
    """
    if type(pending.step) is Conclude:
        return desk.conclude(pending)
    work = desk.begin(pending)
    if work is None:
        return None
    came, value = True, cast(Any, None)
    try:
        while True:
            effect = work.job.send(value) if came else work.job.throw(value)
            came, value = call(effect, desk)
    except StopIteration as end:
        result = end.value
    except Halted:
        return None  # the step stays pending
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        desk.fail(error)
        return None
    return desk.save(work, result)  # out here, so that nothing raised in it is chained to the StopIteration


def blocking(desk: Desk, until: Callable[[], str]) -> None:
    """Perform steps until none may start, or `until()` gives a reason to stop; lanes and parallel calls run in threads."""
    back: Back = Mailbox()
    limits: dict[Work, float] = {}

    def launch(work: Work, effect: Effect) -> None:
        works.apart(work, effect).add_done_callback(lambda done: back.put((work, outcome_of(done))))
        if effect.timeout is not None:
            limits[work] = time.monotonic() + effect.timeout

    with interrupts.deferred() as guard, Works(desk) as works:
        desk.wake = functools.partial(back.put, None)
        while True:
            reason = until()
            if works.busy:
                works.follow()
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
            elif guard.hit or reason not in ("", "pause"):
                _abandon(works, back)
                guard.release()
                return
            else:
                _await_one(works, back, limits, launch)


def _await_one(works: Works, back: Back, limits: dict[Work, float], launch: Callable[[Work, Effect], None]) -> None:
    """Wait, 0.1 s at the most, for one effect to come back or to be too late."""
    try:
        returned = back.get(0.1)
    except TimeoutError:
        now = time.monotonic()
        for work in [work for work, limit in limits.items() if limit <= now]:
            del limits[work]
            if works.is_out(work):
                works.too_late(work, ToolTimeout("tool timed out"))
        return
    if returned is not None and works.is_out(work := returned[0]):
        limits.pop(work, None)
        if following := works.move(work, returned[1]):
            launch(work, following)


def _abandon(works: Works, back: Back) -> None:
    """Cancel what can be cancelled, wait a moment for the rest, and record what comes back."""
    for future in works.futures.values():
        future.cancel()
    end = time.monotonic() + GRACE
    while works.busy and (left := end - time.monotonic()) > 0:
        try:
            returned = back.get(left)
        except TimeoutError:
            return
        if returned is not None and works.is_out(returned[0]):
            _take(works, *returned)


def _take(works: Works, work: Work, outcome: Outcome | None) -> None:
    """Record what came back while the run stops; a call that was cancelled stays pending."""
    if outcome is None:
        works.give_up(work)
    else:
        works.move(work, outcome)


def _unlimited(desk: Desk, pending: Pending) -> bool:
    if pending.step.tags and deadline.limit_of(pending.step):
        return False
    if pending.step.kind != "act":
        return True  # a model limits its own time, and in this thread an interrupt reaches it at once
    tool = desk.host.tools.find(pending.step.calls[0].name)  # type: ignore[union-attr]
    return tool is None or tool.timeout is None


async def awaiting(desk: Desk, until: Callable[[], str], may_start: MayStart | None = None) -> None:
    """The same on an event loop; `may_start` says which steps may, where that is not for the desk alone to say."""
    import asyncio

    may_start = may_start or desk.due
    tasks: dict[Any, tuple[Work, Effect]] = {}
    bell = asyncio.Event()
    loop, moved = asyncio.get_running_loop(), False

    def launch(work: Work, effect: Effect) -> None:
        tasks[asyncio.ensure_future(_in_time(works.apart(work, effect), effect))] = (work, effect)

    with Works(desk) as works:
        desk.wake = functools.partial(loop.call_soon_threadsafe, bell.set)
        while True:
            bell.clear()
            reason = until()
            if works.busy:
                works.follow()
            due = [] if reason else may_start(works.busy)
            if due and moved and desk.pace and not works.busy:
                moved = False
                await _breathe(desk, until)
                continue
            for pending in due:
                if begun := works.begin(pending):
                    launch(*begun)
            if not works.busy:
                if not due or reason:
                    return
                await asyncio.sleep(0)
            elif reason not in ("", "pause"):
                await _cancel(works, tasks)
                return
            else:
                for task in await _some(tasks, bell):
                    work, effect = tasks.pop(task)
                    if works.is_out(work) and (following := _heard(works, work, effect, task.result())):
                        launch(work, following)
                moved = True


async def _breathe(desk: Desk, until: Callable[[], str]) -> None:
    """Let a person look, as long as the pace says, or until they ask for something."""
    import asyncio

    end = time.monotonic() + desk.pace
    while desk.history.pending and not until() and (left := end - time.monotonic()) > 0:
        await asyncio.sleep(min(0.05, left))


async def _some(tasks: Iterable[Any], bell: Any) -> list[Any]:
    """Wait, 0.1 s at the most, until a task is done or the bell rings; give the tasks that are done."""
    import asyncio

    ringing = asyncio.ensure_future(bell.wait())
    try:
        done, _ = await asyncio.wait({*tasks, ringing}, timeout=0.1, return_when=asyncio.FIRST_COMPLETED)
    finally:
        ringing.cancel()
    return [task for task in done if task is not ringing]


def _heard(works: Works, work: Work, effect: Effect, outcome: Outcome | Literal["late"] | None) -> Effect | None:
    if outcome == "late":
        works.too_late(work, late(effect))
        return None
    return works.move(work, outcome)


async def _in_time(future: Future[Any], effect: Effect) -> Outcome | Literal["late"] | None:
    """Wait for a future no longer than its effect may take."""
    import asyncio

    waiting = asyncio.wrap_future(future)
    done, _ = await asyncio.wait([waiting], timeout=effect.timeout)
    if not done:
        waiting.cancel()
        return "late"
    return None if waiting.cancelled() else waiting.result()


async def _cancel(works: Works, tasks: dict[Any, tuple[Work, Effect]]) -> None:
    """Cancel what can be cancelled at once, give threads a moment, record what came back."""
    import asyncio

    for future in works.futures.values():
        future.cancel()
    out = [task for task, (work, _) in tasks.items() if works.is_out(work)]
    done, _ = await asyncio.wait(out, timeout=GRACE)
    for task in done:
        work, _ = tasks[task]
        if works.is_out(work) and task.result() != "late":
            _take(works, work, task.result())
