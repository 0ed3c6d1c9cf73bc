"""The words with which a model says that it is done, in a reply that asks for nothing more."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentkit.core.messages import Reply

MARKERS = (r"✅\s*Completed", r"##\s*Summary", r"##\s*Reflection", r"Task completed")
"""Regular expressions, looked for at the beginning of a line; upper and lower case are the same."""


def pattern(markers: Iterable[str] = MARKERS) -> re.Pattern[str]:
    """Put markers into one pattern. Raises `ValueError` for what is no list of regular expressions."""
    markers = tuple(markers) if isinstance(markers, Iterable) and not isinstance(markers, str) else (markers,)
    if not all(isinstance(marker, str) for marker in markers):
        raise ValueError(f"completion_markers is a list of regular expressions, not {markers!r:.200}")
    try:
        return re.compile("|".join(rf"^[ \t]*(?:{marker})(?!\w)" for marker in markers) or r"(?!)", re.I | re.M)
    except re.error as error:
        raise ValueError(f"completion_markers are regular expressions: {error}") from error


DONE = pattern()


def says_done(reply: Reply, done: re.Pattern[str] = DONE) -> bool:
    """Say whether a reply is an end: it asks for no tool, and a line of its own text begins with a marker."""
    return not reply.calls and done.search(reply.text) is not None
