"""Say what came of a call: one tool message for each way that it can go.

The text is what a model is told, at full length; shortening is for the model's view only (`clip`).
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from typing import Any

from agentkit.core.messages import Call, Message
from agentkit.errors import ArgumentsError
from agentkit.tools.plain import MOST_CHARACTERS, bytes_text, clean, data_of, mime_of, words

NOTHING = "The tool succeeded and returned nothing. There is no need to call it again with these arguments."
CLIP = 50_000
_LONGEST_NAME = 200
_PLAIN = 10**15  # smaller numbers are written as they are, without a copy
_MOST_CAUSES = 20
_MOST_PARTS = 5


def clip(text: str, limit: int = CLIP) -> str:
    """Keep the first `limit` characters of a text, and say how many are not shown."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[Truncated] {len(text) - limit:,} of {len(text):,} characters are not shown."


def observation(call: Call, value: Any) -> Message:
    """Tell what a tool returned. Never raises, whatever the value is."""
    if type(value) is int and -_PLAIN < value < _PLAIN:
        value = str(value)
    if type(value) is str and value.isascii() and len(value) <= MOST_CHARACTERS and value and not value.isspace():
        return Message("tool", value, (), call.id, call.name)
    text, data = told(value)
    return Message("tool", text, (), call.id, call.name, True, "", "", "", (), False, data)


def told(value: Any) -> tuple[str, Any]:
    """Give the text for the model, and the JSON data where that is more than the text."""
    try:
        return _told(value)
    except Exception as error:
        return f"[a {type(value).__qualname__} that cannot be shown: {type(error).__name__}]", None


def _told(value: Any) -> tuple[str, Any]:
    if value is None or isinstance(value, str):
        text = clean(str.__str__(value)) if value is not None else ""
        return (text, None) if text and not text.isspace() else (NOTHING, None)
    if isinstance(value, bytes | bytearray | memoryview):
        return _told_bytes(bytes(value))
    if shown := mime_of(value):
        return _told_rich(value, shown)
    if type(value) in (int, float):
        data = data_of(value)
        return (data if isinstance(data, str) else str(data)), None
    data = data_of(value)
    if isinstance(data, str):
        return (clean(data), None) if data.strip() else (NOTHING, None)
    text = clean(json.dumps(data, ensure_ascii=False, allow_nan=False))
    return text, data if isinstance(data, dict | list) else None


def _told_bytes(value: bytes) -> tuple[str, Any]:
    if not value:
        return NOTHING, None
    return clean(bytes_text(value)), {"bytes": len(value)}


def _told_rich(value: Any, shown: dict[str, Any]) -> tuple[str, Any]:
    """What is made to be looked at: the model reads its plain text, or that there is something to look at."""
    said = words(value)
    if not said.strip() or (said.startswith("<") and said.endswith(">")):
        names = (getattr(value, word, None) for word in ("filename", "name", "title"))
        name = next((name for name in names if isinstance(name, str) and name), type(value).__name__)
        kinds = ", ".join(shown)
        said = f"[Artifact generated: {name[:_LONGEST_NAME]}] The user sees it ({kinds}). Refer to it; do not write it out."
    return clean(said), {"mime": shown}


def failure(call: Call, error: BaseException) -> Message:
    """Tell that a tool raised, and the root cause."""
    return _failed(call, f"Error: tool '{_name(call)}' failed: {reason(error)}")


def reason(error: BaseException) -> str:
    """Write an error as `Type: message`, with the cause that it was raised from."""
    root, seen = error, 0
    while root.__cause__ is not None and seen < _MOST_CAUSES:
        root, seen = root.__cause__, seen + 1
    return _type_and_text(error) if root is error else f"{_type_and_text(error)} (caused by {_type_and_text(root)})"


def _type_and_text(error: BaseException) -> str:
    text = words(error).removesuffix(": ")
    if isinstance(error, BaseExceptionGroup):
        parts = [_type_and_text(part) for part in error.exceptions[:_MOST_PARTS]]
        return f"{text} [{'; '.join(parts)}]"
    return text


def not_found(call: Call, names: Iterable[str]) -> Message:
    """Tell that no toolbox has this tool; `value` holds the nearest name, if one is near."""
    near = difflib.get_close_matches(call.name[:_LONGEST_NAME], list(names), n=1)
    return _failed(call, f"Error: tool '{_name(call)}' not found.", {"nearest": near[0]} if near else None)


def invalid(call: Call, error: ArgumentsError) -> Message:
    """Tell that the arguments do not fit, so that the tool was not run."""
    return _failed(call, f"Error: tool '{_name(call)}' was not run. {error}")


def timed_out(call: Call, seconds: float | None) -> Message:
    """Tell that a tool took too long; whether it did its work is not known."""
    after = "" if seconds is None else f" after {seconds:g}s"
    return _failed(call, f"Error: tool '{_name(call)}' failed: tool timed out{after}")


def rejected(call: Call, comment: str = "") -> Message:
    """Tell that the operator said no."""
    why = f" The operator says: {comment}" if comment.strip() else ""
    text = (
        f"The call of '{_name(call)}' was rejected by the operator; the tool was not run. Do not ask for it again.{why}"
    )
    return _failed(call, text)


def skipped(call: Call, why: str) -> Message:
    """Tell that a call was passed over."""
    return _failed(call, f"The call of '{_name(call)}' was not run: {why}")


def _failed(call: Call, text: str, value: Any = None) -> Message:
    return Message("tool", clean(text), (), call.id, call.name, False, "", "", "", (), False, value)


def _name(call: Call) -> str:
    return call.name[:_LONGEST_NAME]
