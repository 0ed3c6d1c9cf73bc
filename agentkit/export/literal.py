"""JSON data as Python literals in ASCII: names, calls and operators cannot come out of this, whatever goes in."""

from __future__ import annotations

import json
import math
from typing import Any

_WIDTH = 100
_DEEPEST = 30  # Python's own parser gives up at 200 brackets


def text(value: str) -> str:
    """Write a text; what is not plain ASCII is escaped."""
    written = ascii(value)
    return f'"{written[1:-1]}"' if written[0] == "'" and '"' not in written else written


def literal(value: Any) -> str:
    """Write JSON data. Raises `TypeError` for anything else, and `ValueError` for what is nested deeper than 30 levels."""
    return _write(value, 0)


def _write(value: Any, depth: int) -> str:
    if depth > _DEEPEST:
        raise ValueError(f"nested deeper than {_DEEPEST} levels")
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, int):
        return repr(value) if value.bit_length() < 10_000 else hex(value)
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else f'float("{value}")'
    if isinstance(value, dict):
        return "{" + ", ".join(f"{text(str(key))}: {_write(item, depth + 1)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_write(item, depth + 1) for item in value) + "]"
    raise TypeError(f"a {type(value).__name__} is no JSON data")


def call(number: int, name: str, arguments: dict[str, Any]) -> str:
    """Write the cell that plays a recorded call: `call(3, "get_weather", {"city": "Paris"})`."""
    try:
        written = literal(arguments)
    except ValueError:
        written = text(json.dumps(arguments))
        return f"call({number}, {text(name)}, {written})"
    line = f"call({number}, {text(name)}, {written})"
    if len(line) <= _WIDTH:
        return line
    items = "".join(f"        {text(str(key))}: {literal(item)},\n" for key, item in arguments.items())
    return f"call(\n    {number},\n    {text(name)},\n    {{\n{items}    }},\n)"
