"""The control of a run: its lock, and the thread that drives it.

One lock guards the whole state of a run. It is never held while a model or a tool is running, so that others can read
or change the run meanwhile: an edit from another cell, a click. A thread that must not wait for the lock puts a command
into the inbox, and the thread that releases the lock carries it out.

A run that plays has its own thread, which also makes the calls. If a call takes too long, or if a person has left the
line that it belongs to, the thread is abandoned and a new one continues; the result of the old one is not used.
"""

from __future__ import annotations

import contextvars
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from agentkit.core import background, interrupts
from agentkit.core.secrets import mask
from agentkit.core.text import error_line
from agentkit.errors import Busy, ReadOnly, Stopped, UsageError
from agentkit.gates.state import State
from agentkit.journal.entries import Entry
from agentkit.runtime.in_flight import InFlight, Outcome
from agentkit.runtime.lease import Lease
from agentkit.runtime.scheduler import Scheduler
from agentkit.stepper.stepper import Pending

DRIVING: contextvars.ContextVar[Any] = contextvars.ContextVar("agentkit_driving", default=None)
"""The control of the run whose tools and listeners are running in this context."""

GRACE = 1.0
"""How long a stop waits for synchronous calls that are still running, in seconds; a time limit that is up does not."""

READ_TIMEOUT = 0.5
"""How long a reader waits for a change that is being made, in seconds; an engine may compute for longer."""

Until = Callable[[], str]
"""Returns a reason to stop driving, or ""."""

MayStart = Callable[[], list[Pending]]
"""Returns the pending steps that may start, in addition to those that are being performed."""


class Driver:
    """A driver of a run: a thread that plays it, or a caller that takes one step.

    `playing` is a future that is done when the run rests again; None if the driver takes one step. `calling` is the
    call that its `thread` is making, and `replaces` tells whether it goes on for a driver that is stuck in a call.
    """

    __slots__ = ("calling", "context", "may_start", "playing", "replaces", "thread", "until")

    def __init__(self, until: Until, may_start: MayStart, playing: Future[None] | None = None) -> None:
        self.until = until
        self.may_start = may_start
        self.playing = playing
        self.context = contextvars.copy_context()
        self.calling: InFlight | None = None
        self.thread = 0
        self.replaces = False


class Control:
    """The control of a run: one driver at a time drives it, and others can read and change it.

    Raises `Busy` if there is another driver, `RuntimeError` if a tool tries to drive the run that is running it.
    `stopping` is what the driver was asked to do ("pause", or the reason of a stop). `sealed` says why the run cannot
    be changed any more; "" if it can. `was_playing` is true if the run played when it came to rest, and nobody had
    asked it to. A run that is over is released in its journal, unless its maker `keeps_lease` until it closes the run.
    """

    def __init__(self, scheduler: Scheduler, state: State) -> None:
        self.scheduler = scheduler
        self.state = state
        self.trace = scheduler.trace
        self.lease = Lease(scheduler.trace)
        self.stopping = ""
        self.sealed = ""
        self.was_playing = False
        self.keeps_lease = False
        self.on_rest: Callable[[str], Any] = str
        self._driver: Driver | None = None
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        self._owner = 0
        self._commanding = 0
        self._inbox: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        background.CLOCK.watch(self)

    @property
    def running(self) -> bool:
        """Whether there is a driver."""
        return self._driver is not None

    @property
    def playing(self) -> Future[None] | None:
        """A future that is done when the run rests again; None if it is not playing in the background."""
        driver = self._driver
        return driver.playing if driver is not None else None

    # -- the lock ------------------------------------------------------------------------------------------------------

    def _take(self) -> None:
        self._lock.acquire()
        self._owner = threading.get_ident()

    def _let_go(self) -> None:
        """Release the lock; what was recorded while it was held is on the disk first."""
        self.scheduler.sync()
        self._owner = 0
        self._lock.release()

    def _release(self) -> None:
        """Release the lock, and carry out the commands that came in meanwhile."""
        self._let_go()
        if self._inbox:
            self.serve()

    def read(self, look: Callable[[], Any]) -> Any:
        """Return the value of `look()`; if another thread is changing the run, wait a short time for it to finish."""
        if self._owner == threading.get_ident():
            return look()
        with interrupts.deferred():
            held = self._lock.acquire(timeout=READ_TIMEOUT)
            if held:
                self._owner = threading.get_ident()
            try:
                return look()
            finally:
                if held:
                    self._let_go()
                if self._inbox:
                    self.serve()

    def renew(self, change: Callable[[], Any]) -> None:
        """Let a run that is only looked at continue with what another process has recorded."""
        with _Held(self):
            change()

    def seal(self, why: str) -> bool:
        """Release the run in its journal, and let nobody drive it any more; False if it is playing now."""

        def seal() -> bool:
            if self.playing is not None:
                return False
            self.lease.drop()
            self.sealed = why
            return True

        is_sealed: bool = self.read(seal)
        return is_sealed

    # -- driving -------------------------------------------------------------------------------------------------------

    def step(self) -> Entry | None:
        """Perform one step in the caller's thread, without time limits: a debugger may stay in the tool for an hour.

        Returns its entry; None if no step may start, or if the step failed, was stopped, or could not be saved. If a
        tool raises and a person is typing, `%debug` and `pdb.pm()` open the frame that raised.
        """
        with interrupts.deferred():
            self._check_not_within()
            self._pause_playing()
            token = DRIVING.set(self)
            driver = Driver(str, list)
            self._take()
            try:
                if self._driver is not None:
                    raise Busy("another thread is driving this run; wait for it, or pause it first")
                self._begin(driver)
                entry: Entry | None = driver.context.run(self._step)
                return entry
            finally:
                self._rest(driver)
                self._release()
                DRIVING.reset(token)

    def _step(self) -> Entry | None:
        """Perform one step; the lock is held, except while a hook, a model or a tool is running."""
        self.state.error = None
        while True:
            entry, flight = self._step_or_hooks()
            if entry is not None or flight is None or not flight.before or self.state.error is not None:
                return entry

    def _step_or_hooks(self) -> tuple[Entry | None, InFlight | None]:
        """Ask the hooks before a step, or perform it; return its entry and its flight, each None if there is none."""
        scheduler, state = self.scheduler, self.state
        flight = None
        while flight is None:
            due = scheduler.due(stepping=True)
            if not due:
                return None, None
            state.hold = ""
            if scheduler.is_conclusion(due[0]):
                return scheduler.conclude(due[0]), None
            flight = scheduler.begin(due[0])
            if flight is None and state.hold:
                return None, None
        self._release()
        try:
            outcome = flight.run(scheduler.performer.perform, flight, scheduler.listeners)
            if flight.raised is not None and hasattr(sys, "ps1"):  # a person types in Python or IPython
                error = flight.raised
                last = {"exc": error, "type": type(error), "value": error, "traceback": error.__traceback__}
                vars(sys).update({f"last_{name}": value for name, value in last.items()})
        except BaseException:
            self._take()
            if not flight.given_up:
                scheduler.abandon(flight, "interrupted")
            raise
        self._take()
        return self._came_back(flight, outcome), flight

    def play(self, until: Until = str, may_start: MayStart | None = None) -> Future[None]:
        """Perform steps in the background, in a copy of the caller's context, until `until()` returns a reason to stop.

        Returns a future that is done when the run rests again.
        """
        self._check_not_within()
        with _Held(self):
            if self._driver is not None:
                if self._driver.playing is None:
                    raise Busy("another thread is driving this run")
                self.stopping = ""
                return self._driver.playing
            driver = Driver(until, may_start or self.scheduler.due, Future())
            self._begin(driver)
        assert driver.playing is not None
        self._start_thread(driver)
        return driver.playing

    def _check_not_within(self) -> None:
        if DRIVING.get() is self:
            raise RuntimeError(
                "a tool cannot drive the run that is running it; run.inject(...) and run.pause() are safe there"
            )

    def _pause_playing(self) -> None:
        """Pause a run that plays in the background, and wait until it rests."""
        playing = self.playing
        if playing is not None:
            asked = not self.stopping
            self.pause()
            interrupts.foreign(background.wait, (playing,), {})
            if asked and self.stopping == "pause":
                self.stopping = ""

    def _begin(self, driver: Driver) -> None:
        if self.sealed:
            raise ReadOnly(f"this run is read-only: {self.sealed}")
        self.lease.take()
        self._driver = driver
        self.state.go_on(time.time())
        self.stopping = ""
        self.state.interrupted = ""
        self.scheduler.within.begins(driver.context)
        if driver.playing is not None:
            self.on_rest("running")

    def _rest(self, driver: Driver) -> None:
        """Stop driving; a run that is over is also released in its journal."""
        if self._driver is not driver:
            return
        trace, state = self.trace, self.state
        self.was_playing = driver.may_start == self.scheduler.due and not self.stopping
        self._driver = None
        state.rest(time.time())
        self.scheduler.sync()
        if self.stopping not in ("", "pause") and trace.stepper.answer is None:
            state.interrupted = self.stopping
        self.scheduler.within.rests()
        try:
            self._tell_rest()
        finally:
            if driver.playing is not None:
                if trace.stepper.answer is None:
                    self.scheduler.listeners.tell("paused", why=state.hold or self.stopping)
                driver.playing.set_result(None)

    def _tell_rest(self) -> None:
        """Report the status of the run at rest; a run that is over is released in its journal."""
        self.on_rest("")
        if self.trace.stepper.answer is not None and not (self.trace.unsaved.waiting or self.keeps_lease):
            self.lease.drop()

    def pause(self) -> None:
        """Ask the driver to pause; steps that are being performed finish and are recorded first."""
        self.stopping = self.stopping or "pause"
        self._wake()

    def stop(self, reason: str, grace: float = GRACE) -> None:
        """Ask the driver to stop: calls are cancelled if possible, and others have `grace` seconds to finish."""
        self.stopping = reason
        self._cancel(reason)
        if (driver := self._driver) is not None:
            background.timer(grace, lambda: self._end_grace(driver))
            if driver.calling is None and self._commanding != driver.thread:
                interrupts.interrupt(driver.thread)  # the engine may be in an endless loop
        self._wake()

    def _end_grace(self, driver: Driver) -> None:
        """Give up the calls that are still running some time after a stop."""
        with _Held(self):
            now = self._driver  # another thread may have taken over meanwhile, because a call took too long
            if now is None or now.playing is None or now.playing is not driver.playing:
                return
            if self.stopping not in ("", "pause"):
                for flight in list(self.state.in_flight.values()):
                    self._give_up(flight, self.stopping)
                self._rest(now)

    def _wake(self) -> None:
        """Wake up a driver that waits."""
        self.post(str)

    # -- the thread that plays -----------------------------------------------------------------------------------------

    def _start_thread(self, driver: Driver) -> None:
        work = driver.context.copy()
        threading.Thread(target=work.run, args=(self._work, driver), name="agentkit-run", daemon=True).start()

    def _work(self, driver: Driver) -> None:
        """Drive until there is a reason to rest, or until another driver has taken over."""
        DRIVING.set(self)
        driver.thread = threading.get_ident()
        with _Held(self):
            try:
                if not driver.replaces:
                    self.scheduler.listeners.tell("playing")
                self._drive(driver)
            except KeyboardInterrupt:
                self.trace.torn = True
            except BaseException as error:  # there is no caller to catch it, so the run shows it
                if self._driver is driver:
                    self.state.error, self.state.hold = error, mask(error_line(error))
            self._rest(driver)

    def _drive(self, driver: Driver) -> None:
        scheduler, state = self.scheduler, self.state
        if not scheduler.is_ready():
            return
        moved = False
        while self._driver is driver:
            if self._inbox:
                self._apply()
                continue
            if state.in_flight:
                self._collect()
            reason = self.stopping or driver.until()
            due = [] if reason else driver.may_start()
            if not due:
                if not state.in_flight:
                    return
                if reason not in ("", "pause"):
                    self._cancel(reason)
                self._wait()
                continue
            if moved and state.pace and not state.in_flight:
                moved = False
                self._breathe(driver)
                continue
            moved = True
            if len(due) == 1 and not state.in_flight and len(self.trace.pending) == 1:
                if scheduler.is_conclusion(due[0]):
                    scheduler.conclude(due[0])
                elif flight := scheduler.begin(due[0]):
                    self._perform_here(driver, flight)
                continue
            for pending in due:
                if self.trace.stepper.answer is None and (flight := scheduler.begin(pending)):
                    self._perform_apart(flight)

    def _perform_here(self, driver: Driver, flight: InFlight) -> None:
        """Perform a step in the driving thread, without the lock."""
        driver.calling = flight
        self._release()
        try:
            outcome: Outcome = False, Stopped("it was given up before it started")
            if not flight.given_up:
                outcome = flight.run(self.scheduler.performer.perform, flight, self.scheduler.listeners)
        except BaseException:
            self._take()
            driver.calling = None
            if not flight.given_up:
                self.scheduler.abandon(flight, "interrupted")
            raise
        self._take()
        driver.calling = None
        self._came_back(flight, outcome)

    def _perform_apart(self, flight: InFlight) -> None:
        """Perform a step in a new thread."""

        def work() -> None:
            outcome = flight.run(self.scheduler.performer.perform, flight, self.scheduler.listeners)
            with _Held(self):
                flight.outcome = outcome
                if flight.given_up:
                    self._came_back(flight, outcome)
                self._news.notify_all()

        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(work,), name="agentkit-call", daemon=True).start()

    def _came_back(self, flight: InFlight, outcome: Outcome) -> Entry | None:
        if not flight.given_up:
            return self.scheduler.end(flight, outcome)
        if not isinstance(outcome[1], Stopped):
            self.post(lambda: self.scheduler.late(flight))
        return None

    def _collect(self) -> None:
        """Record the steps that have ended, and those that have taken too long."""
        for flight in list(self.state.in_flight.values()):
            if flight.outcome is not None:
                self.scheduler.end(flight, flight.outcome)
            elif flight.is_late:
                flight.given_up = True
                self.scheduler.end(flight, self.scheduler.performer.late(flight))

    def _wait(self, seconds: float = 0.5) -> None:
        """Wait for something to happen, without the lock."""
        self.scheduler.sync()
        self._owner = 0
        self._news.wait(seconds)
        self._owner = threading.get_ident()

    def _breathe(self, driver: Driver) -> None:
        """Wait for the time between two steps, so that a person can look, or until there is something to do."""
        end = time.monotonic() + self.state.pace
        self.state.rest(time.time(), "paused")
        while not self._inbox and not (self.stopping or driver.until()) and (left := end - time.monotonic()) > 0:
            self._wait(min(left, 0.05))
        self.state.go_on(time.time())

    def _cancel(self, why: str) -> None:
        for flight in tuple(self.state.in_flight.values()):
            flight.cancel(why)

    def _give_up(self, flight: InFlight, why: str) -> None:
        """Give up a call that is still running: it stays marked as begun, and its result will not be used."""
        flight.given_up = True
        flight.cancel(why)
        self.scheduler.abandon(flight, why)

    def check_deadlines(self, now: float) -> float:
        """Mark the calls that are late, and return the next deadline; see `background.Clock`."""
        driver, flights = self._driver, tuple(self.state.in_flight.values())
        if driver is None or driver.playing is None:
            return float("inf")
        late = [flight for flight in flights if flight.deadline <= now and not flight.is_late]
        if late:
            background.in_thread(lambda: self._mark_late(late))  # the clock also has to check other runs
        return min((flight.deadline for flight in flights if flight not in late), default=float("inf"))

    def _mark_late(self, flights: list[InFlight]) -> None:
        with _Held(self):
            for flight in flights:
                flight.is_late = flight.pending in self.state.in_flight
            self._news.notify_all()
            if (driver := self._driver) is not None and driver.calling in flights:
                self._replace(driver)

    def _replace(self, driver: Driver) -> None:
        """Continue in a new thread, because the old one is in the middle of a call."""
        assert driver.playing is not None
        self._driver = Driver(driver.until, driver.may_start, driver.playing)
        self._driver.context, self._driver.replaces = driver.context, True
        self._start_thread(self._driver)

    # -- the inbox -----------------------------------------------------------------------------------------------------

    def ask(self, command: Callable[[], Any]) -> Future[Any]:
        """Apply a command, and return a future of its result or error; safe from any thread.

        It is applied at once, or if the lock is held, by the thread that releases it. Calls that are running continue;
        a call whose line the command leaves is given up. The command may use the methods of a run: `ask(lambda:
        run.edit(3, text="x"))`.
        """

        def in_order() -> Any:
            self.scheduler.catch_up()
            return command()

        return self.post(in_order)

    def post(self, command: Callable[[], Any]) -> Future[Any]:
        """Apply a command like `ask`, but without first writing the rows that the journal has refused."""
        future: Future[Any] = Future()
        self._inbox.append((command, future))
        self.serve()
        return future

    def do(self, command: Callable[[], Any]) -> Any:
        """Apply a command, wait for it, and return its result. Raises the error that the command raises."""
        if self._commanding == threading.get_ident():
            return command()
        if DRIVING.get() is self:
            raise RuntimeError(
                "a tool or a listener cannot change the run that is running it; run.inject(...) is safe there"
            )
        return background.wait(self.ask(command))

    def serve(self) -> None:
        """Carry out the commands in the inbox, unless another thread holds the lock: then that thread will."""
        while self._inbox and self._owner != threading.get_ident() and self._lock.acquire(False):
            self._owner = threading.get_ident()
            token = DRIVING.set(self)
            try:
                with interrupts.deferred():
                    self._apply()
            finally:
                DRIVING.reset(token)
                self._let_go()

    def _apply(self) -> None:
        """Carry out the commands in the inbox; the lock is held."""
        self._commanding = threading.get_ident()
        try:
            while self._inbox:
                command, future = self._inbox.popleft()
                if not future.set_running_or_notify_cancel():
                    continue  # the command was cancelled
                try:
                    if self.sealed:
                        raise ReadOnly(f"this run is read-only: {self.sealed}")
                    self.lease.take()
                    result = command()
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
        finally:
            self.scheduler.look_for_unsaved()
            if self.state.in_flight:
                self._follow()
            self._commanding = 0
            self._news.notify_all()
            if self._driver is None:
                self.state.rest(time.time())
                self._tell_rest()

    def _follow(self) -> None:
        """Give up the calls whose line was left; a thread that is in such a call is replaced by a new one."""
        for flight in self.scheduler.follow():
            self._give_up(flight, "its line was left")
            driver = self._driver
            if driver is not None and driver.calling is flight:
                self._replace(driver)


class _Held:
    """A context manager that holds the lock of a control, and defers interrupts; on leaving, it empties the inbox."""

    __slots__ = ("_control", "_deferred")

    def __init__(self, control: Control) -> None:
        self._control = control

    def __enter__(self) -> None:
        deferred = interrupts.deferred()
        deferred.enter(sys._getframe(1))
        self._control._take()
        self._deferred = deferred

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        deferred = self._deferred
        self._control._release()
        deferred.leave(sys._getframe(1), kind)


def check_timeout(timeout: Any) -> None:
    """Check that a time limit is a number of seconds, or None. Raises `UsageError`."""
    fits = timeout is None or (isinstance(timeout, int | float) and not isinstance(timeout, bool) and timeout >= 0)
    if not fits or timeout == float("inf"):
        raise UsageError(f"timeout must be a number of seconds, or None for no limit, not {timeout!r:.100}")
