"""What others ask of a run that a process holds: checked when it is asked, passed on once, and only under that claim.

A wish is for the process that holds the run now. If that process ends before it has read the wish, whoever continues
the run does not obey it: what somebody wanted then may be wrong now.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Protocol

from agentkit.core.log import logger
from agentkit.core.secrets import mask
from agentkit.core.text import one_line
from agentkit.errors import AgentkitError, Unknown, UsageError
from agentkit.journal.entries import WISHES, Wish

LOOK = 0.25
"""How often a process looks whether there are wishes for the runs that it holds in a file, in seconds."""

_MAX_AUTHOR, _MAX_TEXT = 200, 100_000

Listener = Callable[[Wish], object]


def checked_wish(wish: Wish) -> Wish:
    """Return a wish as it is stored: the author in one line, without secrets.

    Raises `Unknown` for something that cannot be asked, and `UsageError` without an author, for a message without a
    text, or for a text that is too long.
    """
    if wish.what not in WISHES:
        raise Unknown("wish", wish.what, WISHES)
    if not isinstance(wish.text, str) or len(wish.text) > _MAX_TEXT:
        raise UsageError(f"the text of a wish must be a text of at most {_MAX_TEXT:,} characters")
    author = mask(one_line(str(wish.author), _MAX_AUTHOR)).strip()
    if not author or (wish.what == "inject" and not wish.text.strip()):
        raise UsageError("a wish needs an author, and one to inject a message needs a text")
    return Wish(wish.run, wish.what, mask(wish.text), author)


def nobody_holds(run: str) -> UsageError:
    """Return the error for a wish about a run that no process holds."""
    return UsageError(f"no process holds run {run}; resume it here")


class Reader(Protocol):
    """A journal that is asked for wishes."""

    def has_listeners(self) -> bool:
        """Return whether anybody listens to wishes for a run that is held."""

    def pass_wishes_on(self) -> None:
        """Pass on the wishes for the runs that are held."""


class Listeners:
    """Who is told what others ask of which run; kept only as long as somebody else keeps the listener."""

    def __init__(self) -> None:
        self._by_run: weakref.WeakValueDictionary[str, Listener] = weakref.WeakValueDictionary()
        self._due: list[tuple[Wish, int]] = []
        self._is_telling = False
        self._lock = threading.Lock()

    def add(self, run: str, listener: Listener) -> None:
        """Let `listener` be told about a run."""
        self._by_run[run] = listener

    def __contains__(self, run: str) -> bool:
        return run in self._by_run

    def tell(self, wishes: list[tuple[Wish, int]], epoch_of: Callable[[str], int | None]) -> None:
        """Pass on the wishes that were made under the present claims, in order; drop the others."""
        for wish, epoch in wishes:
            listener = self._by_run.get(wish.run)
            if listener is not None and epoch_of(wish.run) == epoch:
                try:
                    listener(wish)
                except Exception as error:  # the next wish may be to stop the run
                    logger.warning("a wish for run %s was not passed on: %s", wish.run, error)
            del listener  # a run that is closed meanwhile listens no more

    def tell_soon(self, wishes: list[tuple[Wish, int]], epoch_of: Callable[[str], int | None]) -> None:
        """Pass on wishes as `tell` does, after those before them, without waiting for what they lead to."""
        with self._lock:
            self._due += wishes
            if self._is_telling:
                return
            self._is_telling = True
        threading.Thread(target=self._tell_due, args=(epoch_of,), name="agentkit-wishes", daemon=True).start()

    def _tell_due(self, epoch_of: Callable[[str], int | None]) -> None:
        while True:
            with self._lock:
                wishes, self._due = self._due, []
                if not wishes:
                    self._is_telling = False
                    return
            self.tell(wishes, epoch_of)


class Looking:
    """A thread that looks for wishes in a file every `LOOK` seconds, while its process holds a run with a listener."""

    def __init__(self, journal: Reader) -> None:
        self._journal = weakref.ref(journal)
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start the thread, unless it is there."""
        with self._lock:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._look, name="agentkit-wishes", daemon=True)
                self._thread.start()

    def end(self) -> None:
        """End the thread soon."""
        self._stop.set()

    def _look(self) -> None:
        while not self._stop.wait(LOOK):
            journal = self._journal()
            if journal is None or self._is_over(journal):
                return
            try:
                journal.pass_wishes_on()
            except AgentkitError as error:  # the disk is full, for example
                logger.debug("wishes could not be read: %s", error)
            del journal

    def _is_over(self, journal: Reader) -> bool:
        with self._lock:
            if journal.has_listeners():
                return False
            self._thread = None
            return True
