"""The observation of a call: one tool message for each way in which a call can end.

The text is what the model reads, in full; it is shortened only in the model's view (`clip`). `value` is for the person:
the returned data, what is shown in a notebook, or the traceback of an error.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from dataclasses import replace
from types import TracebackType
from typing import Any

from agentkit.core.messages import Call, Message
from agentkit.core.secrets import mask
from agentkit.errors import ArgumentsError, ToolError, Unfinished
from agentkit.tools.content_types import is_html, picture_type, title_and_text
from agentkit.tools.rich_display import mime_bundle
from agentkit.tools.serialize import MAX_CHARACTERS, bytes_text, has_text, object_text, storable_text, to_json

NOTHING_RETURNED = "The tool succeeded and returned nothing. There is no need to call it again with these arguments."
ARTIFACT = "[Artifact generated: {name}] The user sees it ({kinds}). Refer to it; do not write it out."
CLIP_LENGTH = 50_000
PREVIEW_LENGTH = 2_000
"""How many characters of its plain text the model reads of an artifact."""

TRACEBACK = "text/x-python-traceback"
"""The MIME type of a traceback."""

_MAX_NAME = 200
_MAX_TRACEBACK = 20_000
_SMALL_INT = 10**15  # smaller integers are written out without a copy
_MAX_CAUSES = 20
_MAX_SUBERRORS = 5


def clip(text: str, limit: int = CLIP_LENGTH) -> str:
    """Return the first `limit` characters of a text, and how many are not shown."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[Truncated] {len(text) - limit:,} of {len(text):,} characters are not shown."


def returned(call: Call, value: Any, artifact: bool | None = None) -> Message:
    """Return the observation of a tool that returned a value. Never raises an `Exception`, whatever the value is.

    An `artifact` is for the person: the model reads a short text about it. None means that HTML, pictures and objects
    that display themselves are artifacts, and everything else is not. An object without a text is an error.
    """
    if type(value) is int and -_SMALL_INT < value < _SMALL_INT:
        value = str(value)
    if type(value) is str and value.isascii() and 0 < len(value) <= MAX_CHARACTERS and not value.isspace():
        is_text = artifact is False or not (artifact or is_html(value))
        if is_text:
            return Message("tool", value, (), call.id, call.name)
    try:
        text, data = _text_and_data(value, artifact)
    except KeyboardInterrupt:
        raise
    except _NoText as error:
        return _failed(call, f"Error: tool '{_name(call)}' ran, but the model cannot read what it returned: {error}")
    except BaseException as error:  # methods of a foreign object may raise anything
        text, data = f"[a {type(value).__qualname__} that cannot be shown: {type(error).__name__}]", None
    return Message("tool", text, (), call.id, call.name, True, "", "", "", (), False, data)


class _NoText(Exception):
    """A value has no text that says more than its type; the message says what to return instead."""

    def __init__(self, value: Any) -> None:
        super().__init__(
            f"an object of type {type(value).__qualname__} has no text of its own. A tool returns data (a dict, "
            "a list, a dataclass, a pydantic model …), or an object whose class has a __str__"
        )


def _text_and_data(value: Any, artifact: bool | None) -> tuple[str, Any]:
    """Return the text of a value for the model, and its JSON data if that is more than the text (else None)."""
    if value is None:
        return NOTHING_RETURNED, None
    if isinstance(value, str):
        return _of_text(str.__str__(value), artifact)
    if isinstance(value, bytes | bytearray | memoryview):
        return _of_bytes(bytes(value), artifact)
    if bundle := mime_bundle(value):
        plain = _own_text(value)
        if artifact is False and plain:
            return plain, {"mime": bundle}
        return _about_artifact(_name_of(value), bundle, plain), {"mime": bundle}
    if not has_text(value):
        raise _NoText(value)
    data = to_json(value)
    if isinstance(data, str):
        return _text_or_nothing(storable_text(data)), None
    text = storable_text(json.dumps(data, ensure_ascii=False, allow_nan=False))
    return text, data if isinstance(data, dict | list) else None


def _of_text(given: str, artifact: bool | None) -> tuple[str, Any]:
    text = storable_text(given)
    if not text or text.isspace():
        return NOTHING_RETURNED, None
    is_page = is_html(given)  # before its end may be cut off
    if artifact is False or not (artifact or is_page):
        return text, None
    if not is_page:
        bundle = {"text/markdown": text}
        return _about_artifact("text", bundle, text), {"mime": bundle}
    title, shown = title_and_text(text)
    bundle = {"text/html": text}
    return _about_artifact(title or "HTML", bundle, shown), {"mime": bundle}


def _of_bytes(content: bytes, artifact: bool | None) -> tuple[str, Any]:
    mime = "" if artifact is False or len(content) > MAX_CHARACTERS else picture_type(content)
    if mime:
        import base64

        bundle = {mime: base64.b64encode(content).decode()}
        return _about_artifact("picture", bundle, ""), {"mime": bundle}
    text, data = _of_text(bytes_text(content), artifact)
    return text, data if data or not content else {"bytes": len(content)}


def _text_or_nothing(text: str) -> str:
    return text if text and not text.isspace() else NOTHING_RETURNED


def _own_text(value: Any) -> str:
    """Return the text of an object, or "" if it only names the object in angle brackets."""
    text = object_text(value) if has_text(value) else ""
    shown = text.strip()
    return "" if not shown or (shown[0] == "<" and shown[-1] == ">") else text


def _name_of(value: Any) -> str:
    """Return the name of an artifact; that of its type if it has none, or if reading it raises."""
    for attribute in ("filename", "name", "title"):
        try:
            name = getattr(value, attribute, None)
        except KeyboardInterrupt:
            raise
        except BaseException:
            continue
        if isinstance(name, str) and name:
            return name
    return type(value).__name__


def _about_artifact(name: str, bundle: dict[str, Any], plain: str) -> str:
    """Return what the model reads about an artifact: that the person sees it, and the beginning of its plain text.

    A text that is cut is kept in full in the bundle.
    """
    name = " ".join(name.split())[:_MAX_NAME]
    text = ARTIFACT.format(name=name, kinds=", ".join(bundle))
    if len(plain) > PREVIEW_LENGTH:
        bundle.setdefault("text/plain", plain)
    return storable_text(f"{text}\n{clip(plain, PREVIEW_LENGTH)}" if plain else text)


def raised(call: Call, error: BaseException) -> Message:
    """Return the observation of a tool that raised: the error and its root cause, and for the person the traceback."""
    traceback = traceback_text(error)
    value = {"mime": {TRACEBACK: traceback}} if traceback else None
    message = _failed(call, f"Error: tool '{_name(call)}' failed: {error_with_cause(error)}", value)
    return replace(message, may_have_run=True) if isinstance(error, Unfinished) else message


def error_with_cause(error: BaseException) -> str:
    """Return an error as `Type: message`, with the error that it was raised from."""
    root, count = error, 0
    while root.__cause__ is not None and count < _MAX_CAUSES:
        root, count = root.__cause__, count + 1
    return _type_and_text(error) if root is error else f"{_type_and_text(error)} (caused by {_type_and_text(root)})"


def _type_and_text(error: BaseException) -> str:
    if isinstance(error, ToolError):
        return object_text(str(error))
    text = object_text(error).removesuffix(": ")
    if isinstance(error, BaseExceptionGroup):
        parts = [_type_and_text(part) for part in error.exceptions[:_MAX_SUBERRORS]]
        return f"{text} [{'; '.join(parts)}]"
    return text


def traceback_text(error: BaseException) -> str:
    """Return the traceback of an error from the code of the tool on; empty if it was not running."""
    import traceback

    start = _first_foreign_frame(error.__traceback__)
    if start is None:
        return ""
    try:
        lines = traceback.format_exception(type(error), error, start)
    except KeyboardInterrupt:
        raise
    except BaseException as other:  # the text of a foreign error may raise anything
        lines = [*traceback.format_tb(start), f"{type(error).__name__}, whose text raised {type(other).__name__}\n"]
    text = mask(storable_text("".join(lines).rstrip()))  # before its beginning, which may begin a secret, is cut off
    excess = len(text) - _MAX_TRACEBACK
    return (
        text if excess <= 0 else f"[{excess:,} characters of the traceback were not stored]\n{text[-_MAX_TRACEBACK:]}"
    )


def _first_foreign_frame(frame: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of agentkit that lead to the tool."""
    while frame is not None and _is_own(frame.tb_frame.f_globals.get("__name__")):
        frame = frame.tb_next
    return frame


def _is_own(module: Any) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == "agentkit"


def not_found(call: Call, names: Iterable[str]) -> Message:
    """Return the observation of a call of an unknown tool; `value` has the nearest name, if one is near."""
    nearest = difflib.get_close_matches(call.name[:_MAX_NAME], list(names), n=1)
    return _failed(call, f"Error: tool '{_name(call)}' not found.", {"nearest": nearest[0]} if nearest else None)


def invalid_arguments(call: Call, error: ArgumentsError) -> Message:
    """Return the observation of a tool that was not run because its arguments do not fit."""
    return _failed(call, f"Error: tool '{_name(call)}' was not run. {error}")


def timed_out(call: Call, seconds: float | None, *, is_pure: bool = False) -> Message:
    """Return the observation of a tool that took too long; unless it is pure, it `may_have_run`."""
    if is_pure:
        after = "" if seconds is None else f" after {seconds:g}s"
        return _failed(call, f"Error: tool '{_name(call)}' failed: tool timed out{after}")
    within = "" if seconds is None else f" within {seconds:.3g} s"
    text = f"Error: tool '{_name(call)}' did not finish{within}; it may have run, and may still take effect."
    return replace(_failed(call, text), may_have_run=True)


def attempted(message: Message) -> Message:
    """Return the observation of a call that is not made, with the addition that an earlier attempt `may_have_run`."""
    text = "An earlier attempt at this call did not finish; it may have run, and may still take effect."
    return replace(message, text=f"{message.text} {text}", may_have_run=True)


def rejected(call: Call, comment: str = "") -> Message:
    """Return the observation of a call that the person rejected."""
    reason = f" The operator says: {comment}" if comment.strip() else ""
    return _failed(
        call,
        f"The call of '{_name(call)}' was rejected by the operator; the tool was not run. Do not ask for it "
        f"again.{reason}",
    )


def denied(call: Call, reason: str) -> Message:
    """Return the observation of a call that the permissions of the run do not allow."""
    return _failed(
        call,
        f"The tool was not run, and asking again changes nothing. The call of '{_name(call)}' was denied: {reason}",
    )


def skipped(call: Call, reason: str) -> Message:
    """Return the observation of a call that was not run for some other reason."""
    return _failed(call, f"The call of '{_name(call)}' was not run: {reason}")


def withheld(call: Call, reason: str) -> Message:
    """Return the observation of a tool that has run and whose result the model does not get to see."""
    return _failed(call, f"The tool '{_name(call)}' has run, but its result is withheld: {reason}")


def _failed(call: Call, text: str, value: Any = None) -> Message:
    return Message("tool", storable_text(text), (), call.id, call.name, False, "", "", "", (), False, value)


def _name(call: Call) -> str:
    return call.name[:_MAX_NAME]
