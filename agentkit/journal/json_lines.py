"""Any value as one line of JSON that every JSON parser can read, and back."""

from __future__ import annotations

import contextlib
import json
import threading
from typing import Any

from agentkit.core.messages import Message, canonical, message_to_json


def dumps(data: Any) -> str:
    """Return data as one line of ASCII. NaN, cycles and data that is nested too deeply are written, too."""
    try:
        return _encode(data)
    except (ValueError, TypeError, RecursionError):
        pass
    try:
        return verbatim(json.dumps(data, separators=(",", ":"), default=_text))
    except (ValueError, TypeError, RecursionError):
        return verbatim(json.dumps(tame(data), separators=(",", ":")))


def loads(line: str) -> Any:
    """Return the data of a line that `dumps` or `verbatim` wrote."""
    data = parse(line)
    return parse(data["verbatim"]) if isinstance(data, dict) and "verbatim" in data else data


def parse(text: str) -> Any:
    """Return the data of a JSON text, from any depth of calls, if it was possible to write it. Raises `ValueError`."""
    try:
        return json.loads(text)
    except RecursionError:  # the recursion depth is counted per thread, so a new thread has more room
        parsed: list[Any] = []
        thread = threading.Thread(target=_parse_into, args=(text, parsed))
        thread.start()
        thread.join()
        if not parsed:
            raise ValueError("it is nested too deeply") from None
        return parsed[0]


def _parse_into(text: str, parsed: list[Any]) -> None:
    with contextlib.suppress(RecursionError):
        parsed.append(json.loads(text))


def verbatim(text: str) -> str:
    """Return Python's JSON, which may contain NaN, wrapped in JSON that every parser can read."""
    return json.dumps({"verbatim": text}, separators=(",", ":"))


def encoded(message: Message) -> bytes:
    """Return the canonical bytes of a message, even if the value of a tool is not JSON data."""
    try:
        return message.encoded
    except Exception:  # a cycle, too much nesting, keys of several types, or an error in the `__str__` of an object
        message._encoded = canonical(tame(message_to_json(message)))
        return message._encoded


def tame(value: Any, *, depth: int = 60) -> Any:
    """Return the nearest JSON data to a value: cycles, data deeper than `depth`, and item 1,000,000 become "…"."""
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


_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_text).encode
"""`json.dumps` with the same options makes a new encoder each time."""
