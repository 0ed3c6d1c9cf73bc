"""Find the data in what a model wrote: one JSON object or list, in a fence, between prose, loosely spelled, or without its end.

Rule 1: what is there word for word comes before what must be mended, and that before what must be completed.
Rule 2: nothing is left out of an object to make it readable; how a value was mended is said.
Rule 3: a value that stands inside a broken one is not taken for the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from agentkit.models.dialects import loose_json

_FENCE = re.compile(r"```[\w-]*+[ \t]*+\r?\n?(.*?)(?:```|\Z)", re.DOTALL)
_START = re.compile(r"\s*+(?:`{3,}+[\w-]*+)?+\s*+")
_BRACKET = re.compile(r"[{\[]")
_ESCAPED = re.compile(r'[{\[](?:\s|\\[nt]){0,40}+\\"')
_MOST_TRIES = 32
QUOTED = "it was read out of a quoted text"
_LONGEST = 1_000_000


class Data(NamedTuple):
    """What a text holds: the value, what was mended to read it, and whether its end was missing and had to be made up."""

    value: Any
    mended: str = ""
    completed: bool = False


def extract(text: str, fits: Callable[[Any], bool] | None = None) -> Data | None:
    """Give the first value of a text that `fits`; None when there is none.

    Unless said otherwise anything fits but a mere text. Characters after the first million are not read.
    """
    fits = fits or (lambda value: not isinstance(value, str))
    return next((found for found in candidates(text) if fits(found.value)), None)


def candidates(text: str) -> Iterator[Data]:
    """Give all that may be meant, the most likely first: fences before prose, and a list of plain values, or nothing, at last."""
    text = text[:_LONGEST].strip()
    starts_with_it = text[:1] in ("{", "[")
    later: list[Data] = []
    for part in [text] if starts_with_it else [*(match[1] for match in _FENCE.finditer(text)), text]:
        for found in _within(part):
            if found.completed and part is not text:
                continue  # what looked like the end of the fence may stand within a text
            if _says_something(found.value) or (starts_with_it and isinstance(found.value, list) and found.value):
                yield found
            else:
                later.append(found)
    if escaped := _ESCAPED.search(text):
        inner = loose_json.text_at(f'"{text[escaped.start() :]}"')
        yield from (found._replace(mended=f"{QUOTED}; {found.mended}".removesuffix("; ")) for found in _within(inner))
    yield from later
    whole = loose_json.strict(text)
    if not starts_with_it and not whole.problem and whole.end == len(text):
        yield Data(whole.value)


def _within(text: str) -> Iterator[Data]:
    """Give the objects and lists of a text, from left to right, none inside another; one without an end is the last."""
    at = 0
    for _ in range(_MOST_TRIES):
        bracket = _BRACKET.search(text, at)
        if bracket is None:
            return
        found = loose_json.value_at(text, bracket.start())
        if isinstance(found.value, dict | list):
            yield Data(found.value, found.mended)
        elif found.problem == loose_json.CUT_OFF:
            found = loose_json.completed(text, bracket.start())
            if isinstance(found.value, dict | list):
                yield Data(found.value, found.mended, completed=True)
            if not found.problem or _START.fullmatch(text, 0, bracket.start()):
                return
        at = max(found.end, bracket.end())


def _says_something(value: Any) -> bool:
    """Say whether a value is more than a list of plain values, which may be a remark in brackets."""
    return bool(value) and (isinstance(value, dict) or any(isinstance(item, dict | list) for item in value))
