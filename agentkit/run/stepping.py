"""The ways to drive a run other than one step at a time: over a batch, to the end, in the background, from an event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Container, Iterator
from typing import TYPE_CHECKING, Any

from agentkit.agent import settings
from agentkit.core import background, interrupts
from agentkit.errors import Ended, ReadOnly, Undecided, UsageError
from agentkit.journal.entries import Entry
from agentkit.run.result import Result
from agentkit.runtime import driver
from agentkit.stepper.stepper import Pending

if TYPE_CHECKING:
    from agentkit.run.run import Run


def _ready(run: Run) -> None:
    """See that the run can go on, and forget what held it up before."""
    if run.missing:
        raise ReadOnly(f"this run was opened without {', '.join(run.missing)}; resume it with them")
    run.desk.hold, run.desk.error, run.interrupted = "", None, ""


def _acquire(run: Run) -> Any:
    """Take the baton for this thread."""
    if run.missing:
        raise ReadOnly(f"this run was opened without {', '.join(run.missing)}; resume it with them")
    run.interrupted = ""
    token = run.control.acquire()
    run.control.stopping = ""
    return token


def one(run: Run) -> Entry:
    """Perform one step in this thread and give its entry."""
    with interrupts.deferred():
        token = _acquire(run)
        try:
            run.desk.error = None
            due = run.desk.due(stepping=True)
            if not due:
                _explain(run)
            run.desk.hold = ""
            entry = driver.step(run.desk, due[0])
            if entry is None:
                raise run.desk.error or UsageError(
                    "the step was stopped; it is still pending, and next(run) tries it again"
                )
            return entry
        finally:
            run.control.release(token)


def step(run: Run) -> Entry:
    """Perform one step; says `Ended` where `one` says `StopIteration`."""
    try:
        return one(run)
    except StopIteration as end:
        raise Ended(str(end)) from None


def _explain(run: Run) -> None:
    """Raise the reason why no step may start."""
    if run.desk.waiting:
        why = next(iter(run.desk.waiting.values())).why
        raise Undecided(f"{why}: run.approve(), run.reject(comment) or run.respond(value)")
    if run.desk.error:
        raise run.desk.error
    raise StopIteration("the run is over; undo() or fork() to go on from an earlier step")


def each(run: Run) -> Iterator[Entry]:
    """Perform one step after the other in this thread, until the run ends, is paused, or meets a breakpoint."""
    run.control.stopping = ""
    while not run.control.stopping:
        try:
            entry = one(run)
        except StopIteration:
            return
        except UsageError:
            if run.control.stopping in ("", "pause"):
                raise
            return
        yield entry
        if run.desk.hold:
            return


def over(run: Run) -> list[Entry]:
    """Perform everything that is pending now, side by side, and give the new entries."""
    before = {entry.id for entry in run.entries}
    with interrupts.deferred():
        token = _acquire(run)
        try:
            run.desk.hold, run.desk.error = "", None
            if run.desk.caught_up():
                run.desk.mend()
                run.desk.error = run.desk.history.stepper.error
                driver.blocking(run.desk, _over(run))
        finally:
            run.control.release(token)
    return [entry for entry in run.entries if entry.id not in before]


def set_pace(run: Run, seconds: float) -> None:
    """Set the time to wait between two steps of a run that plays. Raises `UsageError` for what is no number of seconds."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= 3600:
        raise UsageError(f"the pace is a number of seconds from 0 to 3600, not {seconds!r}")
    run.desk.pace = float(seconds)


def ahead(run: Run, *, over: bool = False) -> None:
    """Perform one step in the background, or with `over` as much as `over` does; breakpoints of what comes first are passed."""
    if (playing := run.control.playing) is not None:
        run.pause()
        background.wait(playing)
        if run.control.stopping != "pause":
            return  # a stop that came meanwhile is the last word, and so is what set it playing again
    _ready(run)
    begun: list[Pending] = []

    def may_start(busy: Container[Pending]) -> list[Pending]:
        if begun and not over:
            return []
        due = run.desk.due(busy, stepping=not begun)
        begun.extend(due)
        return due if over else due[:1]

    if run.status != "done":
        run.control.play(_over(run) if over else str, may_start)


def _over(run: Run) -> Callable[[], str]:
    """Say "pause" as soon as a nested engine that is at work has returned; elsewhere as `_batch` does."""
    frame = run.pending[0].path if run.pending else ""
    if "." not in frame.rpartition("]")[2]:
        return _batch(run)
    inner = (f"{frame}.", f"{frame}[")
    return lambda: "" if any(p.path == frame or p.path.startswith(inner) for p in run.pending) else "pause"


def _batch(run: Run) -> Callable[[], str]:
    """Say "pause" as soon as what is pending now has been performed."""
    first = set(run.pending)
    return lambda: "" if first.intersection(run.pending) - run.desk.waiting.keys() else "pause"


def play(run: Run, until: Callable[[], str], pace: float | None = None) -> None:
    """Go on in the background."""
    _ready(run)
    if pace is not None:
        set_pace(run, pace)
    if run.status != "done":
        run.control.play(until)


def to_the_end(run: Run, timeout: float | None) -> Result:
    """Perform steps in this thread until the run ends, pauses, or waits for a person."""
    settings.check_timeout(timeout)
    _ready(run)
    end = background.timer(timeout, lambda: run.stop("timeout"))
    try:
        run.control.drive()
    finally:
        end()
    return run.result


def wait(run: Run, timeout: float | None) -> Result:
    """Wait for the background task; an interrupt pauses the run, and after `timeout` seconds it is stopped."""
    settings.check_timeout(timeout)
    playing = run.control.playing
    if playing is not None:
        try:
            background.wait(playing, timeout)
        except TimeoutError:
            run.stop("timeout")
            background.wait(playing)
        except KeyboardInterrupt:
            run.pause()
            raise
    return run.result


async def awaited(run: Run) -> Result:
    """Play the run, if it is not playing, and wait for it."""
    if run.status in ("paused", "stopped", "failed"):
        run.play()
    await _quiet(run, run.pause)
    return run.result


async def entries(run: Run) -> AsyncIterator[Entry]:
    """Perform what is pending, parallel calls side by side, and give each new entry; then what is pending next."""
    while run.status not in ("done", "waiting", "readonly") and not run.desk.hold:
        before = {entry.id for entry in run.entries}
        run.play(_batch(run))
        await _quiet(run, lambda: run.stop("interrupted"))
        if run.desk.error:
            raise run.desk.error
        for entry in run.entries:
            if entry.id not in before:
                yield entry


async def _quiet(run: Run, interrupted: Callable[[], Any]) -> None:
    """Wait until nobody plays the run; wakes every 0.1 s, so that an interrupt is quick."""
    import asyncio

    try:
        while (playing := run.control.playing) is not None:
            await asyncio.wait([asyncio.wrap_future(playing)], timeout=0.1)
    except asyncio.CancelledError:
        interrupted()
        raise
