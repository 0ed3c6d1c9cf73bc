"""Any value as one line of JSON that every reader of JSON understands, and back."""

from __future__ import annotations

import json
import threading
from typing import Any

from agentkit.core.messages import Message, canonical, message_to_json


def dumps(data: Any) -> str:
    """Give data as one line of ASCII. NaN, cycles and what is nested too deep do not stop it."""
    try:
        return json.dumps(data, separators=(",", ":"), allow_nan=False, default=_text)
    except (ValueError, TypeError, RecursionError):
        pass
    try:
        return verbatim(json.dumps(data, separators=(",", ":"), default=_text))
    except (ValueError, TypeError, RecursionError):
        return verbatim(json.dumps(tame(data), separators=(",", ":")))


def loads(line: str) -> Any:
    """Read a line that `dumps` or `verbatim` wrote."""
    data = parse(line)
    return parse(data["verbatim"]) if isinstance(data, dict) and "verbatim" in data else data


def parse(text: str) -> Any:
    """Parse JSON; what could be nested when it was written can be read from any depth of calls."""
    try:
        return json.loads(text)
    except RecursionError:  # the depth of recursion is counted per thread, so a new one has more room
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(json.loads(text)))
        thread.start()
        thread.join()
        return found[0]


def verbatim(text: str) -> str:
    """Wrap Python's JSON, which may hold NaN, into the JSON that everyone reads."""
    return json.dumps({"verbatim": text}, separators=(",", ":"))


def encoded(message: Message) -> bytes:
    """Give the canonical bytes of a message, also where a tool's value is no JSON data."""
    try:
        return message.encoded
    except Exception:  # a cycle, too deep, keys of several types, or whatever an object's own `__str__` raised
        message._encoded = canonical(tame(message_to_json(message)))
        return message._encoded


def tame(value: Any, *, depth: int = 60) -> Any:
    """Give the nearest JSON data to any value: cycles, what lies deeper than `depth`, and item 1,000,000 become "…"."""
    return _tame(value, depth, [1_000_000], set())


def _tame(value: Any, depth: int, left: list[int], above: set[int]) -> Any:
    left[0] -= 1
    if not isinstance(value, dict | list | tuple):
        return value if value is None or isinstance(value, str | int | float | bool) else _text(value)
    if depth == 0 or left[0] < 0 or id(value) in above:
        return "…"
    above.add(id(value))
    if isinstance(value, dict):
        result: Any = {str(key): _tame(item, depth - 1, left, above) for key, item in value.items()}
    else:
        result = [_tame(item, depth - 1, left, above) for item in value]
    above.discard(id(value))
    return result


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"
