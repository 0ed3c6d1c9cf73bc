"""An output of a notebook that changes while something goes on."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

from agentkit.core.live_shell import live_shell

REFRESH = 0.5
"""The time between two changes of an output, in seconds."""

Bundle = dict[str, str]
"""What is shown: a text for each MIME type."""


class LiveOutput:
    """An output of the running cell, which shows what `bundle()` returns; without a notebook, nothing."""

    def __init__(self, bundle: Callable[[], Bundle]) -> None:
        self._bundle = bundle
        self._id, self._latest = "", 0.0

    def show(self, *, at_once: bool = False) -> None:
        """Show what there is now; not more often than every `REFRESH` seconds, unless `at_once`."""
        if live_shell() is None or (not at_once and time.monotonic() - self._latest < REFRESH):
            return
        self._latest = time.monotonic()
        self._display(self._bundle())

    def end(self, text: str) -> None:
        """Replace what is shown by a text."""
        if self._id:
            self._display({"text/plain": text})

    def _display(self, bundle: Bundle) -> None:
        from IPython.display import display

        is_new, self._id = not self._id, self._id or uuid.uuid4().hex
        display(bundle, raw=True, display_id=self._id, update=not is_new)  # type: ignore[no-untyped-call, unused-ignore]
