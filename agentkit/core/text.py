"""Texts, calls and errors as single lines of plain text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentkit.inert import for_terminal

WIDTH = 200
"""The number of characters of a text in one line; a longer text is cut, with a note of how much is missing."""


Hide = Callable[[str], str]
"""Returns a text without its secrets."""


def one_line(text: Any, width: int = WIDTH, hide: Hide = str) -> str:
    """Return a text as one line that is inert for a terminal; if it is too long, it is cut, with a note.

    `hide` is applied before the text is cut, so that no half of a secret is left.
    """
    full_text = str(text)
    head = " ".join(hide(full_text[: 8 * width])[: 4 * width].split())
    shown = for_terminal(head[:width])
    missing = len(full_text) - width if len(full_text) > 4 * width else len(head) - width
    return shown if missing <= 0 else f"{shown}… (+{missing} characters)"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: "1 step", "2 steps"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def error_line(raised: BaseException) -> str:
    """Return an error as `Type: text`, even if its own `__str__` raises."""
    return f"{type(raised).__name__}: {error_text(raised)}"


def error_text(raised: BaseException) -> str:
    """Return the text of an error, even if its own `__str__` raises."""
    try:
        return str(raised)
    except Exception as other:
        return f"(its text is not available: {type(other).__name__})"


def call_text(call: Any) -> str:
    """Return a call as Python source on one line: `search(query='…')`."""
    return for_terminal(f"{call.name}({', '.join(f'{k}={v!r}' for k, v in call.arguments.items())})")


def same_text(one: str, other: str) -> bool:
    """Return whether two texts are the same but for case and spaces, or the same number."""
    if " ".join(one.split()).casefold() == " ".join(other.split()).casefold():
        return True
    try:
        return float(one) == float(other)
    except ValueError:
        return False
