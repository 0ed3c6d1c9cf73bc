"""Recognize an error in the middle of a reply, in whatever form a host reports it.

Forms: OpenAI's `{"error": {…}}`, with `object` or `type` "error" (vLLM, Anthropic), `error_code` (FastChat), `detail`
(FastAPI), `success: false`, and a bare `message` (gateways).
"""

from __future__ import annotations

from typing import Any


def error_in(data: dict[str, Any], *, is_reply: bool) -> dict[str, Any] | None:
    """Return the error that a JSON object reports, or None.

    If the object also carries a part of a reply (`is_reply`), only an `error` that says something counts.
    """
    error = data.get("error")
    if error and isinstance(error, dict):
        return error
    if error:
        return {**data, "error": None, "message": str(error)}
    if is_reply:
        return None
    is_error = (
        isinstance(error, dict | list)
        or "error" in (data.get("object"), data.get("type"), data.get("status"))
        or data.get("success") is False
        or any(data.get(name) for name in ("error_code", "detail", "errors"))
        or isinstance(data.get("message"), str)
    )
    return data if is_error else None
