"""Accept a bare JSON object as the final answer, if a model writes it without the markers of its dialect."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around
from agentkit.core.messages import Reply
from agentkit.core.steps import Step, Think, replace


def bare_data(schema: dict[str, Any]) -> Around:
    """Return an around that accepts a reply as the answer if it is just one object with the fields of a schema."""
    known, needed = set(schema.get("properties", ())), set(schema.get("required", ()))

    @around(Think, does="accepts plain JSON as the answer")
    def take(step: Think, memory: dict[str, Any]) -> Generator[Step, Any, Reply]:
        reply: Reply = yield step
        if reply.calls or step.shape or not _is_data(raw := _unfenced(reply.raw), known, needed):
            return reply
        return replace(reply, text=raw, answer=raw, readable=True, dialect="")

    return take


def _is_data(raw: str, known: set[str], needed: set[str]) -> bool:
    if not raw.startswith("{"):
        return False
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return bool(data) and needed <= data.keys() <= known


def _unfenced(text: str) -> str:
    """Return a text without the code fence that surrounds all of it, if there is one."""
    text = text.strip()
    if not (text.startswith("```") and text.endswith("```") and "\n" in text):
        return text
    return text.partition("\n")[2][:-3].strip()
