"""JSON data as Python literals in ASCII, which cannot contain names, calls or operators, whatever the data."""

from __future__ import annotations

import json
import math
from typing import Any

_LINE_WIDTH = 100
_MAX_DEPTH = 30  # Python's own parser gives up at 200 brackets


def text(value: str) -> str:
    """Return a text as a literal, with everything escaped that is not ASCII."""
    quoted = ascii(value)
    return f'"{quoted[1:-1]}"' if quoted[0] == "'" and '"' not in quoted else quoted


def literal(value: Any) -> str:
    """Return JSON data as a literal. Raises `TypeError` for any other value, `ValueError` if it is
    nested too deeply.
    """
    return _literal(value, 0)


def _literal(value: Any, depth: int) -> str:
    if depth > _MAX_DEPTH:
        raise ValueError(f"the data is nested more than {_MAX_DEPTH} levels deep")
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, int):
        return repr(value) if value.bit_length() < 10_000 else hex(value)
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else f'float("{value}")'
    if isinstance(value, dict):
        return "{" + ", ".join(f"{text(str(key))}: {_literal(item, depth + 1)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_literal(item, depth + 1) for item in value) + "]"
    raise TypeError(f"a {type(value).__name__} is not JSON data")


def call(number: int, name: str, arguments: dict[str, Any]) -> str:
    """Return the cell that plays a recorded call: `call(3, "get_weather", {"city": "Paris"})`."""
    try:
        arguments_literal = literal(arguments)
    except ValueError:
        return f"call({number}, {text(name)}, {text(json.dumps(arguments))})"
    line = f"call({number}, {text(name)}, {arguments_literal})"
    if len(line) <= _LINE_WIDTH:
        return line
    items = "".join(f"        {text(str(key))}: {literal(item)},\n" for key, item in arguments.items())
    return f"call(\n    {number},\n    {text(name)},\n    {{\n{items}    }},\n)"
