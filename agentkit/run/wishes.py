"""What others ask of a run that this process holds: a shared journal brings it here, and the run records who asked."""

from __future__ import annotations

import time
import weakref
from typing import TYPE_CHECKING, Any

from agentkit.core.log import logger
from agentkit.errors import AgentkitError
from agentkit.journal.entries import Wish
from agentkit.run.followed import asked_to

if TYPE_CHECKING:
    from agentkit.run.run import Run


def obey(run: Run, journal: Any) -> None:
    """Let a run do what others ask for through its journal, if the journal carries wishes."""
    listen = getattr(journal, "on_wish", None)
    if listen is None:
        return
    held = weakref.ref(run)

    def fulfil(wish: Wish) -> None:
        if (run := held()) is not None:
            _fulfil(run, wish)

    listen(run.id, fulfil)
    run.fulfils = fulfil  # the journal does not keep it


def _fulfil(run: Run, wish: Wish) -> None:
    control, trace = run.control, run.trace
    text = f"{wish.author} asked this run to {asked_to(wish.what)}" + (f": {wish.text}" if wish.text else "")
    data = {"text": text, "wish": wish.what}
    try:
        control.post(lambda: trace.unsaved.attempt(lambda: trace.note("warning", data, at=time.time())))
        if wish.what == "pause":
            run.pause()
        elif wish.what == "stop":
            run.stop(text)
        elif wish.what == "inject":
            run.inject(wish.text)
        control.post(str)  # the list of runs shows what became of a run that rests
    except AgentkitError as error:  # the run is over, for example
        logger.warning("run %s did not do what %s asked: %s", run.id, wish.author, error)
