"""Why a reply ended, whatever its host calls that: at its end, cut short, or because the host gave up."""

from __future__ import annotations

_NAMES = {
    **dict.fromkeys(("end_turn", "stop_sequence", "eos", "eos_token", "end", "complete", "completed", "done"), "stop"),
    **dict.fromkeys(("tool_use", "tool_call", "function_call"), "tool_calls"),
    **dict.fromkeys(("max_tokens", "max_output_tokens", "max_length", "model_length"), "length"),
    "model_context_window_exceeded": "length",
    **dict.fromkeys(("safety", "recitation", "sensitive"), "content_filter"),
}
"""What hosts call the usual ends."""

_GAVE_UP = frozenset(
    (
        "error",
        "abort",
        "aborted",
        "cancelled",
        "canceled",
        "failed",
        "timeout",
        "network_error",
        "insufficient_system_resource",
    )
)
_WHOLE = frozenset(("", "stop", "tool_calls"))

TOO_LONG = "the reply was cut off at the length limit"
_CUT_SHORT = {
    "length": TOO_LONG,
    "content_filter": "the reply was cut off by a filter of the host",
    "refusal": "the model refused to answer, or to go on",
}


def named(reason: str) -> str:
    """Give the one name that a reason to end has here; one that is not known stays as it is."""
    known = reason.strip().lower()
    return _NAMES.get(known, known if known in _WHOLE or known in _CUT_SHORT else reason)


def gave_up(reason: str) -> bool:
    """Say whether a host ended a reply because it could not go on."""
    return reason.strip().lower() in _GAVE_UP


def said(reason: str) -> dict[str, object]:
    """Give the error that a host means which gave up: it may answer another time."""
    return {"message": f"the host ended the reply with {reason!r}", "code": 503}


def is_whole(reason: str) -> bool:
    """Say whether a reply came to its end, as far as its host says."""
    return named(reason) in _WHOLE


def problems(reason: str) -> tuple[str, ...]:
    """Say what is wrong with a reply that ended for such a reason."""
    if is_whole(reason):
        return ()
    return (_CUT_SHORT.get(named(reason)) or f"the reply may lack its end: {reason!r} is why it ended, says its host",)
