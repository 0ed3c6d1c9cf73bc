"""Who may touch a run: one baton, an inbox for everybody else, and the task that plays the run in the background."""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from agentkit.core import background, interrupts
from agentkit.core.secrets import mask
from agentkit.core.text import error_line
from agentkit.errors import Busy, ReadOnly
from agentkit.runtime import driver
from agentkit.runtime.driver import MayStart
from agentkit.runtime.lease import Lease
from agentkit.runtime.scheduler import Desk

DRIVING: contextvars.ContextVar[Any] = contextvars.ContextVar("agentkit_driving", default=None)
"""The control whose tools and listeners are running in this context."""


MOMENT = 0.5
"""Seconds after which whoever has the baton is taken to drive."""


class Control:
    """Give the baton to one driver at a time, and apply what others asked for when nobody holds it.

    Raises `Busy` where a second driver comes, `RuntimeError` where a tool drives the run that is running it. `sealed` says
    why nothing may be changed any more, if that is so.
    """

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.lease = Lease(desk.history)
        self.stopping = ""
        self.playing: Future[None] | None = None
        self.sealed = ""
        self.tell: Callable[[str], Any] = str
        self._commanding = 0
        self._driving = False
        desk.later = self.post
        self._baton = threading.Lock()
        self._changing = threading.Lock()
        self._inbox: deque[tuple[Callable[[], Any], Future[Any]]] = deque()

    @property
    def running(self) -> bool:
        """Whether somebody drives; who has the baton only to apply what others asked for does not."""
        return self._driving

    @property
    def settled(self) -> Desk:
        """The desk to read from: while another thread applies a change, its end is waited for, a moment at the most."""
        if self._commanding not in (0, threading.get_ident()) and self._changing.acquire(timeout=MOMENT):
            self._changing.release()
        return self.desk

    # -- driving -----------------------------------------------------------------------------------------------------

    def acquire(self) -> Any:
        """Take the baton for the caller's thread; a background task is asked to pause first. Gives what `release` needs."""
        if DRIVING.get() is self:
            raise RuntimeError(
                "a tool cannot drive the run that is running it; run.inject(...) and run.pause() are safe there"
            )
        if not self._take_baton():
            playing = self.playing
            if playing is None:
                raise Busy("this run is being driven by another thread; wait for it, or pause it first")
            asked = not self.stopping
            self.pause()
            interrupts.foreign(background.wait, (playing,), {})
            if asked and self.stopping == "pause":
                self.stopping = ""
            if not self._baton.acquire(False):
                raise Busy("this run was taken up again by another driver")
        self._hold()
        return DRIVING.set(self)

    def _take_baton(self) -> bool:
        """Take the baton if nobody drives; whoever only applies what came in has done so in a moment, and is waited for."""
        return self._baton.acquire(timeout=0 if self.playing else MOMENT)

    def _hold(self) -> None:
        """With the baton in hand, hold the run in its journal too, or give the baton back."""
        try:
            self.lease.take()
        except BaseException:
            self._baton.release()
            raise
        self._driving = True

    def _let_go(self) -> None:
        """Give the baton back; a run that is over is let go in its journal too."""
        try:
            self.tell("")
            if self.desk.history.stepper.answer is not None and not self.desk.history.behind.waiting:
                self.lease.drop()
        finally:
            self._driving = False
            self._baton.release()

    def release(self, token: Any) -> None:
        """Give the baton back, and apply what came in meanwhile."""
        DRIVING.reset(token)
        self._let_go()
        if self._inbox:
            self.serve()

    def drive(self) -> None:
        """Perform steps in the caller's thread until the run ends, pauses or waits for a person."""
        with interrupts.deferred():
            token = self.acquire()
            try:
                self.stopping = ""
                self.tell("running")
                driver.blocking(self.desk, self._until)
                while self._inbox and not self.stopping:
                    self._apply()
                    driver.blocking(self.desk, self._until)
            finally:
                self.release(token)

    def play(self, until: Callable[[], str] = str, may_start: MayStart | None = None) -> Future[None]:
        """Perform steps in the background, in a copy of the caller's context, or until `until()` gives a reason to stop.

        Gives a future that is done when the run is at rest again.
        """
        if DRIVING.get() is self:
            raise RuntimeError("a tool cannot drive the run that is running it")
        if not self._take_baton():
            playing = self.playing
            if playing is None:
                raise Busy("this run is being driven by another thread")
            self.stopping = ""
            return playing
        self._hold()
        self.stopping = ""
        self.tell("running")
        playing = self.playing = Future()
        contextvars.copy_context().run(background.submit, self._play(until, may_start, playing))
        return playing

    async def _play(self, until: Callable[[], str], may_start: MayStart | None, playing: Future[None]) -> None:
        token = DRIVING.set(self)
        try:
            await driver.awaiting(self.desk, lambda: self._until() or until(), may_start)
            while self._inbox and not self.stopping:
                self._apply()
                await driver.awaiting(self.desk, lambda: self._until() or until(), may_start)
        except BaseException as error:  # nobody is there to catch it: the run says it
            self.desk.error, self.desk.hold = error, mask(error_line(error))
        try:
            self.release(token)
            self.desk.emit("paused", why=self.desk.hold or self.stopping)
        finally:
            if self.playing is playing:  # nobody has set it playing again in this moment
                self.playing = None
            playing.set_result(None)

    def pause(self) -> None:
        """Ask whoever drives to pause; what is under way ends and is recorded first."""
        self.stopping = self.stopping or "pause"
        self.desk.wake()

    def stop(self, reason: str) -> None:
        """Ask whoever drives to stop: what can be cancelled is cancelled at once."""
        self.stopping = reason
        for future in tuple(self.desk.cancellable):
            future.cancel()
        self.desk.wake()

    def _until(self) -> str:
        """Between two steps, and while calls are out: apply the inbox, and say why to stop, if there is a reason."""
        if self._inbox:
            self._apply()
        return self.stopping

    # -- the inbox ---------------------------------------------------------------------------------------------------

    def ask(self, command: Callable[[], Any]) -> Future[Any]:
        """Have a command applied, and give the future of what it gives or raises; safe from any thread, and waits for nothing.

        At once if nobody drives, else by whoever drives, between two steps, while the calls that are out stay out. A call
        whose line the command leaves is given up. The verbs of a run may be used within: `ask(lambda: run.edit(3, text="x"))`.
        """
        return self.post(lambda: self._in_order(command))

    def post(self, command: Callable[[], Any]) -> Future[Any]:
        """The same for what loses nothing when the journal refuses it, and need not wait for what it refused before."""
        future: Future[Any] = Future()
        self._inbox.append((command, future))
        self.desk.wake()
        self.serve()
        return future

    def do(self, command: Callable[[], Any]) -> Any:
        """Apply a command and wait until it is done. Raises what the command raises."""
        if self._commanding == threading.get_ident():
            return command()
        if DRIVING.get() is self:
            raise RuntimeError(
                "a tool or a listener cannot change the run that is running it; run.inject(...) is safe there"
            )
        if self._baton.locked() and background.on_loop():
            raise Busy("wait for the run to pause: its own loop cannot wait for it")
        return background.wait(self.ask(command))

    def _in_order(self, command: Callable[[], Any]) -> Any:
        """Apply a command once all that happened before it is written."""
        self.desk.catch_up()
        return command()

    def serve(self) -> None:
        """Apply the inbox if the baton is free."""
        with interrupts.deferred():
            while self._inbox and self._baton.acquire(False):
                token = DRIVING.set(self)
                try:
                    self._apply()
                finally:
                    DRIVING.reset(token)
                    self._let_go()

    def _apply(self) -> None:
        self._changing.acquire()
        self._commanding = threading.get_ident()
        try:
            while self._inbox:
                command, future = self._inbox.popleft()
                if not future.set_running_or_notify_cancel():
                    continue  # whoever asked has taken it back
                try:
                    if self.sealed:
                        raise ReadOnly(self.sealed)
                    self.lease.take()
                    result = command()
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
        finally:
            self.desk.look_behind()
            self._commanding = 0
            self._changing.release()
