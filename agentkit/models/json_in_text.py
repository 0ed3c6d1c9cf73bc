"""Find the data in a model's text: one JSON object or list, in a fence, between prose, loosely written, or without its
end.

Rule 1: what is valid as written comes before what must be mended, and that before what must be completed.
Rule 2: nothing is left out of an object to make it readable, and a value that was mended says how.
Rule 3: a value inside a broken one is not mistaken for the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from agentkit.tools import loose_json

QUOTED = "it was read out of a quoted text"

_FENCE = re.compile(r"```[\w-]*+[ \t]*+\r?\n?(.*?)(?:```|\Z)", re.DOTALL)
_START = re.compile(r"\s*+(?:`{3,}+[\w-]*+)?+\s*+")
_BRACKET = re.compile(r"[{\[]")
_ESCAPED = re.compile(r'[{\[](?:\s|\\[nt]){0,40}+\\"')
_MAX_TRIES = 32
_MAX_CHARACTERS = 1_000_000


class Data(NamedTuple):
    """Data that was found in a text: the value, how it was mended, and whether its end was missing and was made up."""

    value: Any
    mended: str = ""
    completed: bool = False


def extract(text: str, fits: Callable[[Any], bool] | None = None) -> Data | None:
    """Return the first value in a text for which `fits` is true, or None.

    Without `fits`, any value will do except a string. Only the first million characters are read.
    """
    fits = fits or (lambda value: not isinstance(value, str))
    return next((data for data in candidates(text) if fits(data.value)), None)


def candidates(text: str) -> Iterator[Data]:
    """Yield all values that may be meant, the most likely first: fences before prose; empty values and plain lists
    last.
    """
    text = text[:_MAX_CHARACTERS].strip()
    is_data_from_start = text[:1] in ("{", "[")
    unlikely: list[Data] = []
    for part in [text] if is_data_from_start else [*(match[1] for match in _FENCE.finditer(text)), text]:
        for data in _values_in(part):
            if data.completed and part is not text:
                continue  # the apparent end of the fence may be inside a string
            is_list_from_start = is_data_from_start and isinstance(data.value, list) and data.value
            if _is_likely(data.value) or is_list_from_start:
                yield data
            else:
                unlikely.append(data)
    if escaped := _ESCAPED.search(text):
        inner = loose_json.text_at(f'"{text[escaped.start() :]}"')
        yield from (data._replace(mended=f"{QUOTED}; {data.mended}".removesuffix("; ")) for data in _values_in(inner))
    yield from unlikely
    whole = loose_json.strict(text)
    if not is_data_from_start and not whole.problem and whole.end == len(text):
        yield Data(whole.value)


def _values_in(text: str) -> Iterator[Data]:
    """Yield the objects and lists of a text from left to right, none inside another; one without an end is the last."""
    at = 0
    for _ in range(_MAX_TRIES):
        bracket = _BRACKET.search(text, at)
        if bracket is None:
            return
        parsed = loose_json.value_at(text, bracket.start())
        if isinstance(parsed.value, dict | list):
            yield Data(parsed.value, parsed.mended)
        elif parsed.problem == loose_json.CUT_OFF:
            parsed = loose_json.completed(text, bracket.start())
            if isinstance(parsed.value, dict | list):
                yield Data(parsed.value, parsed.mended, completed=True)
            if not parsed.problem or _START.fullmatch(text, 0, bracket.start()):
                return
        at = max(parsed.end, bracket.end())


def _is_likely(value: Any) -> bool:
    """Return whether a value is more than a list of plain values, which may be a remark in brackets."""
    return bool(value) and (isinstance(value, dict) or any(isinstance(item, dict | list) for item in value))
