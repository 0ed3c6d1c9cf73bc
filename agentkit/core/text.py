"""Entries, calls and texts in lines of plain text: no ids, no times, no addresses, so that two runs read the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

WIDTH = 200
"""Characters of one text in one line; what is longer is cut with a note of how much."""


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


Hide = Callable[[str], str]
"""Takes out of a text what nobody is to see."""


def one_line(text: Any, width: int = WIDTH, hide: Hide = str) -> str:
    """Put a text in one line, cut it with a note where it is too long, and show no character that a terminal would obey.

    What `hide` takes out is taken out before anything is cut, so that no half of a secret is left.
    """
    whole = str(text)
    head = " ".join(hide(whole[: 8 * width])[: 4 * width].split())
    shown = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", head[:width])
    left = len(whole) - width if len(whole) > 4 * width else len(head) - width
    return shown if left <= 0 else f"{shown}… (+{left} characters)"


def counted(number: int, noun: str) -> str:
    """Give a number and what it counts: "1 step", "2 steps"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def error_line(raised: BaseException) -> str:
    """Write an error as `Type: text`, also where its own text raises."""
    return f"{type(raised).__name__}: {error_text(raised)}"


def error_text(raised: BaseException) -> str:
    """Give the text of an error, also where that raises."""
    try:
        return str(raised)
    except Exception as other:
        return f"(its text cannot be had: {type(other).__name__})"


def call_text(asked: Any) -> str:
    """Write a call as one would type it."""
    return f"{asked.name}({', '.join(f'{k}={v!r}' for k, v in asked.arguments.items())})"
