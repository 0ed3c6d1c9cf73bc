"""Read fields of JSON that a host sent: a value of the wrong type counts as missing."""

from __future__ import annotations

from typing import Any

_MAX_TOKENS = 10**12
_MAX_DOLLARS = 1e6
"""No single call uses more; a larger number is an error of the host, or a lie."""


def number(value: Any) -> int:
    """Return a count of tokens, or 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MAX_TOKENS else 0


def money(value: Any) -> float:
    """Return an amount of dollars, or 0."""
    is_amount = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _MAX_DOLLARS
    return float(value) if is_amount else 0.0


def items(value: Any) -> list[Any]:
    """Return a list, or an empty one."""
    return value if isinstance(value, list) else []


def mapping(value: Any) -> dict[str, Any]:
    """Return an object, or an empty one."""
    return value if isinstance(value, dict) else {}


def string(value: Any) -> str:
    """Return a string, or an empty one."""
    return value if isinstance(value, str) else ""
