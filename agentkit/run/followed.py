"""A run that is looked at while another process may drive it: its rows as they are recorded, and what is asked of it.

Looking writes nothing. What is asked is a `Wish`, which the journal brings to the process that holds the run; that
process does it, or not, and records who asked.
"""

from __future__ import annotations

import getpass
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from agentkit.core.log import logger
from agentkit.core.secrets import mask
from agentkit.core.text import one_line
from agentkit.errors import AgentkitError, JournalDamaged, ReadOnly, Unknown
from agentkit.journal.entries import Journal, Note, Row, RunInfo, Wish

INTERVAL = 0.2
"""How often a run is looked at while somebody watches it, in seconds."""

SHARE = 9
"""How many times longer than a look the pause after it is at least: a journal may be far away, or the run long, since
its engine is started again to follow new rows."""


def me() -> str:
    """Return the name of the user of this machine, as the author of a wish."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may have no name for its user
        return "somebody"


def asked_to(what: str) -> str:
    """Return what a wish asks a run to do, as in "asked to …"."""
    return "send a message to the model" if what == "inject" else what


class Looked(Protocol):
    """A run that was opened to look at."""

    saved_status: str

    @property
    def read_only(self) -> str:
        """Why nothing about it can be changed here."""


class Followed:
    """What the `journal` has of a `run` that was opened to look at, after row `after`.

    `renew` lets the run continue with new rows and lines of the list of runs, and `open_journal` opens the journal for
    writing, which only a wish needs. `info` is the line of the run in the list of runs: its status where it is driven,
    and who holds it. `asked` are the wishes of this object that have not come true as far as is known, and `author` is
    who asks.
    """

    def __init__(
        self,
        run: Looked,
        info: RunInfo,
        journal: Journal,
        after: int,
        renew: Callable[[list[Row], list[RunInfo]], None],
        open_journal: Callable[[], Any],
    ) -> None:
        self.run, self.info = run, info
        self.asked: tuple[Wish, ...] = ()
        self.author = me()
        self._journal, self._tail = journal, journal.tail(info.run, after)
        self._renew, self._open_journal = renew, open_journal
        self._lock, self._reading = threading.Lock(), threading.Lock()
        self._obeyed: list[Any] = []
        self._end: AgentkitError | None = None
        self._watchers = 0
        self._stop = threading.Event()

    @property
    def holder(self) -> str:
        """The process that holds the run, as in "process 12 on ada-laptop"; "" if none does, as far as is known."""
        return self.info.holder

    @property
    def text(self) -> str:
        """Who holds the run, and what it was asked, or why it is not followed any more; "" if nobody holds it."""
        if self._end is not None:
            return f"it is not followed any more: {one_line(str(self._end), 500)}"
        if not self.holder:
            return ""
        return f"{self.holder} holds it" + (f", and was asked to {self.asked_text}" if self.asked else "")

    @property
    def asked_text(self) -> str:
        """What the process that holds the run was asked to do and has not done yet, as far as is known."""
        return " and to ".join(dict.fromkeys(asked_to(wish.what) for wish in self.asked))

    def ask(self, what: str, text: str = "") -> None:
        """Ask the process that holds the run to "pause", to "stop", or to "inject" a message, the `text`.

        It is only asked: `asked` has the wish until it has come true. Raises `ReadOnly` if the journal brings no
        wishes, and `UsageError` if no process holds the run.
        """
        journal = self._open_journal()
        if not callable(getattr(journal, "wish", None)):
            raise ReadOnly(f"this run is read-only: {self.run.read_only}")
        wish = Wish(self.info.run, what, text, self.author)
        with self._lock:  # first: it may come true before this thread goes on
            self.asked = (*self.asked, wish)
            self._obeyed.clear()
        try:
            journal.wish(wish)
        except BaseException:
            with self._lock:
                self.asked = tuple(each for each in self.asked if each is not wish)
            raise

    def catch_up(self) -> bool:
        """Read what was recorded since; return whether there was anything new.

        Raises `Unknown` if the run was deleted, `JournalDamaged`, and `JournalError` if the journal cannot be read.
        """
        with self._reading:
            if self._end is not None:
                raise self._end
            try:
                return self._catch_up()
            except (Unknown, JournalDamaged) as error:
                self._end, self.info = error, replace(self.info, holder="")
                raise

    def _catch_up(self) -> bool:
        infos = self._journal.runs(self.info.run)  # first: what is recorded later is seen by the next look
        info = next((info for info in infos if info.run == self.info.run), None)
        if info is None or (info.tree, info.created) != (self.info.tree, self.info.created):  # another of its name
            raise Unknown("run", self.info.run, ())
        rows = self._tail.read()
        if rows:
            is_own = all(row.run == info.run for row in rows)
            self._renew(rows, [info] if is_own else [info, *self._journal.runs()])
        is_new = bool(rows) or (info.status, info.holder) != (self.info.status, self.info.holder)
        self.info, self.run.saved_status = info, info.status
        notes = [row for row in rows if isinstance(row, Note) and row.run == info.run]
        with self._lock:
            self._obeyed += [note.data["wish"] for note in notes if "wish" in note.data]
            self.asked = tuple(wish for wish in self.asked if not self._is_past(wish, notes))
        return is_new

    def _is_past(self, wish: Wish, notes: list[Note]) -> bool:
        """Return whether a wish has come true, or cannot any more."""
        if not self.holder:
            return True
        if wish.what == "inject":
            return any(note.kind == "inject" and note.data["text"] == mask(wish.text) for note in notes)
        is_obeyed = wish.what == "pause" or wish.what in self._obeyed  # a paused run is yet to be stopped
        return is_obeyed and self.info.status != "running"

    @property
    def has_ended(self) -> bool:
        """Whether it is not followed any more, because the run was deleted, or is damaged."""
        return self._end is not None

    @property
    def is_watched(self) -> bool:
        """Whether it catches up by itself, because somebody watches it."""
        return self._watchers > 0

    def watch(self) -> None:
        """Catch up again and again from now on, in a thread, until `leave` was called as often."""
        with self._lock:
            self._watchers += 1
            if self._watchers == 1:
                self._stop = threading.Event()
                arguments = weakref.ref(self), self._stop
                threading.Thread(target=_watch, args=arguments, name="agentkit-follow", daemon=True).start()

    def leave(self) -> None:
        """End what `watch` began."""
        with self._lock:
            self._watchers -= 1
            if not self._watchers:
                self._stop.set()


def _watch(owner: weakref.ref[Followed], stop: threading.Event) -> None:
    """Catch up until `stop`, or until nobody has the run any more, or it cannot be read any more."""
    pause = INTERVAL
    while not stop.wait(pause):
        followed = owner()
        if followed is None:
            return
        begun = time.monotonic()
        try:
            followed.catch_up()
        except (Unknown, JournalDamaged) as error:  # what was read stays
            logger.warning("run %s is not followed any more: %s", followed.info.run, error)
            return
        except (AgentkitError, OSError) as error:
            logger.debug("run %s could not be followed: %s", followed.info.run, error)
        pause = max(INTERVAL, SHARE * (time.monotonic() - begun))
        del followed
