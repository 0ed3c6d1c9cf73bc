"""Why a reply ended, whatever its host calls it: at its end, cut short, or because the host gave up."""

from __future__ import annotations

TOO_LONG = "the reply was cut off at the length limit"

_NAMES = {
    **dict.fromkeys(("end_turn", "stop_sequence", "eos", "eos_token", "end", "complete", "completed", "done"), "stop"),
    **dict.fromkeys(("tool_use", "tool_call", "function_call"), "tool_calls"),
    **dict.fromkeys(("max_tokens", "max_output_tokens", "max_length", "model_length"), "length"),
    "model_context_window_exceeded": "length",
    **dict.fromkeys(("safety", "recitation", "sensitive"), "content_filter"),
}
"""What hosts call the usual reasons."""

_GAVE_UP = frozenset(
    (
        *("error", "abort", "aborted", "cancelled", "canceled", "failed", "timeout", "network_error"),
        "insufficient_system_resource",
    )
)
_WHOLE = frozenset(("", "stop", "tool_calls"))
_CUT_SHORT = {
    "length": TOO_LONG,
    "content_filter": "the reply was cut off by a filter of the host",
    "refusal": "the model refused to answer, or to go on",
}


def normalized(reason: str) -> str:
    """Return agentkit's name for a finish reason; an unknown one is returned as it is."""
    name = reason.strip().lower()
    return _NAMES.get(name, name if name in _WHOLE or name in _CUT_SHORT else reason)


def gave_up(reason: str) -> bool:
    """Return whether the host ended the reply because it could not go on."""
    return reason.strip().lower() in _GAVE_UP


def as_host_error(reason: str) -> dict[str, object]:
    """Return the error that a host means when it gives up; it may succeed another time."""
    return {"message": f"the host ended the reply with {reason!r}", "code": 503}


def is_whole(reason: str) -> bool:
    """Return whether a reply reached its end, as far as its host says."""
    return normalized(reason) in _WHOLE


def problems(reason: str) -> tuple[str, ...]:
    """Return what is wrong with a reply that ended for this reason."""
    if is_whole(reason):
        return ()
    known = _CUT_SHORT.get(normalized(reason))
    return (known or f"the reply may lack its end: its host gives {reason!r} as the finish reason",)
