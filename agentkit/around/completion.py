"""The markers with which a model says that it has finished, in a reply without tool calls."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentkit.core.messages import Reply
from agentkit.errors import OptionError

MARKERS = (r"✅\s*Completed", r"##\s*Summary", r"##\s*Reflection", r"Task completed")
"""Regular expressions that are matched at the beginning of a line, ignoring case."""


def pattern(markers: Iterable[str] = MARKERS) -> re.Pattern[str]:
    """Return one pattern for all markers. Raises `OptionError` for anything but a list of regular expressions."""
    markers = tuple(markers) if isinstance(markers, Iterable) and not isinstance(markers, str) else (markers,)
    if not all(isinstance(marker, str) for marker in markers):
        raise OptionError(f"completion_markers must be a list of regular expressions, not {markers!r:.200}")
    try:
        return re.compile("|".join(rf"^[ \t]*(?:{marker})(?!\w)" for marker in markers) or r"(?!)", re.I | re.M)
    except re.error as error:
        raise OptionError(f"completion_markers must be regular expressions: {error}") from error


DONE = pattern()


def says_done(reply: Reply, done: re.Pattern[str] = DONE) -> bool:
    """Return whether a reply says that the task is done: it calls no tool, and a line begins with a marker."""
    return not reply.calls and done.search(reply.text) is not None
