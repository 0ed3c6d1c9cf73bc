"""Turn what a model returned into a checked reply: a text, a reply, or the records that other libraries use."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from agentkit.core import finish_reasons
from agentkit.core.messages import Call, Reply
from agentkit.core.secrets import mask
from agentkit.core.usage import Usage
from agentkit.errors import ModelError
from agentkit.tools.call_parsing import ARGUMENT_KEYS, call_from_api

_REPLY_FIELDS = ("content", "text", "tool_calls", "choices", "message")
_MAX_ERROR = 400  # characters
_TOKEN_COUNTS = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))


def reply_of(value: Any) -> Reply:
    """Return the reply in a text, a `Reply`, a dict or an object with `content` and `tool_calls`, or a whole
    completion.

    Raises `ModelError` if it is none of these, or if it reports an error instead, and `TypeError` for a `Reply` whose
    fields have the wrong types.
    """
    if isinstance(value, Reply):
        if wrong := _wrong_fields(value):
            raise TypeError(wrong)
        return value
    if isinstance(value, str):
        return Reply(value)
    if error := _error(value):
        raise ModelError(f"the model's client reports an error: {error}")
    choices = _get(value, "choices")
    usage, finish = _usage(_get(value, "usage")), _get(value, "finish_reason") or _get(value, "stop_reason") or ""
    if choices:
        value, finish = _get(choices[0], "message"), _get(choices[0], "finish_reason") or ""
    elif isinstance(_get(value, "message"), dict):
        value = _get(value, "message")
    if not any(_has(value, name) for name in ("content", "text", "tool_calls")):
        raise ModelError(
            "a model must return a Reply, a text, chunks, or something with content, text or tool_calls, "
            f"not {type(value).__name__}"
        )
    content = _get(value, "content")
    text = _text(content if content is not None else _get(value, "text"))
    calls = tuple(_call(call) for call in [*(_get(value, "tool_calls") or ()), *_calls_among_blocks(content)])
    reasoning = _get(value, "reasoning_content") or _get(value, "reasoning") or ""
    reasoning = reasoning if isinstance(reasoning, str) else ""
    return Reply(text, calls, reasoning=reasoning, usage=usage, finish=finish_reasons.normalized(str(finish)))


def _error(value: Any) -> str:
    """Return the error that a record reports instead of a reply: with `success` false, or without text and calls."""
    error, failed = _get(value, "error"), _get(value, "success") is False
    error = error if isinstance(error, str | dict | BaseException) else None
    if not (error or failed) or not (failed or not any(_get(value, name) for name in _REPLY_FIELDS)):
        return ""
    if isinstance(error, dict):
        error = error.get("message") or error
    text = error or next(
        (found for name in ("message", "detail") if (found := _get(value, name))), "no reason is given"
    )
    return mask(" ".join(str(text).split()))[:_MAX_ERROR]


def _wrong_fields(reply: Reply) -> str:
    """Return what is wrong with the types in a reply, before anything of it is used; empty if nothing is."""
    if type(reply.text) is not str or type(reply.reasoning) is not str:
        return f"text and reasoning of a Reply must be strings, not {reply.text!r:.100} and {reply.reasoning!r:.100}"
    if reply.usage is not None and not is_usage(reply.usage):
        return f"the usage of a Reply must be a Usage of finite numbers, not {reply.usage!r:.200}"
    if type(reply.calls) is not tuple or not all(
        type(call) is Call and type(call.arguments) is dict for call in reply.calls
    ):
        return f"the calls of a Reply must be a tuple of Call, each with a dict of arguments, not {reply.calls!r:.200}"
    return ""


def is_usage(usage: Any) -> bool:
    """Return whether something is a `Usage` of finite numbers; with another one, a budget would never be used up."""
    numbers = [getattr(usage, field.name) for field in fields(Usage)] if type(usage) is Usage else [None]
    return all(isinstance(number, int | float) and math.isfinite(number) for number in numbers)


def _calls_among_blocks(content: Any) -> list[Any]:
    """Return the calls among the blocks of a content, as Anthropic writes them."""
    return [part for part in content if _get(part, "type") == "tool_use"] if isinstance(content, list | tuple) else []


def _call(data: Any) -> Call:
    function = _get(data, "function") or data
    candidates = (_get(function, name) for name in ARGUMENT_KEYS)
    arguments = next((value for value in candidates if value is not None), "")
    return call_from_api(str(_get(function, "name") or ""), arguments, str(_get(data, "id") or ""))


def _text(content: Any) -> str:
    if isinstance(content, list | tuple):
        return "".join(part if isinstance(part, str) else str(_get(part, "text") or "") for part in content)
    return "" if content is None else str(content)


def _usage(data: Any) -> Usage | None:
    counts = [_get(data, name) or _get(data, other) for name, other in _TOKEN_COUNTS] if data else []
    return Usage(*(count if isinstance(count, int) else 0 for count in counts)) if any(counts) else None


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _has(value: Any, name: str) -> bool:
    return name in value if isinstance(value, dict) else hasattr(value, name)
