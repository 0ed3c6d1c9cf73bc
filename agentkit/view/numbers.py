"""Numbers that JavaScript would change, such as 1.0 and 2**60.

In the arguments of a call, which a person may edit, they cross to the page and back as texts with a mark. The same
rules as in widgets/src/elements/exactNumber.ts.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from agentkit.errors import UsageError

MARK = "\ue000"
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_MAX_BITS = 14_000
"""About 4,200 digits: Python writes no longer ones."""


def marked(value: Any) -> Any:
    """Return JSON data with the numbers that JavaScript would change as marked texts."""
    if type(value) is int and value.bit_length() > _MAX_BITS:
        return f"an integer of {value.bit_length():,} bits"
    if type(value) is int and abs(value) >= 2**53:
        return f"{MARK}{value}"
    if type(value) is float and value.is_integer():
        return f"{MARK}{value!r}"
    if isinstance(value, str):
        return f"{MARK}{value}" if value.startswith(MARK) else value
    if isinstance(value, dict):
        return {key: marked(item) for key, item in value.items()}
    return [marked(item) for item in value] if isinstance(value, list | tuple) else value


def unmarked(value: Any) -> Any:
    """Return JSON data from a page with its marked texts as numbers again. Raises `UsageError` if a number is too
    large, or a mark is not that of a number.
    """
    if isinstance(value, dict):
        return {key: unmarked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [unmarked(item) for item in value]
    if not isinstance(value, str) or not value.startswith(MARK):
        return value
    text = value.removeprefix(MARK)
    if text.startswith(MARK):
        return text
    if not _NUMBER.fullmatch(text):
        raise UsageError(f"{text[:40]!r} is marked as a number, but is none")
    try:
        number = json.loads(text)
    except ValueError:  # more digits than Python reads, or a zero in front
        number = math.inf
    if not math.isfinite(number):
        raise UsageError(f"{text[:40]} is not a number that Python can hold")
    return number
