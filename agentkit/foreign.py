"""Messages as other libraries write them: dicts or objects with `role` and `content`."""

from __future__ import annotations

import json
from typing import Any

from agentkit.messages import Call, Message


def message_from_dict(data: Any) -> Message:
    """Make a message of the dict or the object (`role`, `content`) that other libraries use."""
    get = data.get if isinstance(data, dict) else lambda name, default=None: getattr(data, name, default)
    role, content = get("role"), get("content", "")
    role = getattr(role, "value", role)
    if role not in ("system", "user", "assistant", "tool"):
        raise ValueError(f"a message needs a role of system, user, assistant or tool, not {role!r}")
    if isinstance(content, list):
        content = "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    calls = tuple(_call_from_dict(call) for call in get("tool_calls") or ())
    return Message(role, content or "", calls, get("tool_call_id") or "", get("name") or "")


def _call_from_dict(data: dict[str, Any]) -> Call:
    function = data.get("function", data)
    arguments = function.get("arguments", {})
    return Call(function["name"], json.loads(arguments or "{}") if isinstance(arguments, str) else arguments, data.get("id", ""))
