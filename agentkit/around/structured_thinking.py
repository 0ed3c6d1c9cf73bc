"""Thought as data: before each thought the model says, by a schema, what it knows, what is missing and what comes next."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around
from agentkit.core.messages import Reply, user
from agentkit.core.schema import shape_of
from agentkit.core.steps import Step, Think, replace
from agentkit.engines.structured import structured

THOUGHT: dict[str, Any] = {
    "title": "Thought",
    "type": "object",
    "properties": {
        "known": {"type": "array", "items": {"type": "string"}, "description": "what is established by now"},
        "missing": {"type": "array", "items": {"type": "string"}, "description": "what the answer still needs"},
        "next": {"type": "string", "description": "the one thing to do now, and why it helps"},
        "confidence": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": "that this way leads to the answer",
        },
    },
    "required": ["known", "missing", "next", "confidence"],
}

ASK = "Do not act yet. Say where you stand, as data: what is known, what is missing, what you will do next, how sure you are."
SAID = "[YOUR THINKING, as data]\n{data}\nNow go on accordingly."


def think_in_data(schema: Any = THOUGHT) -> Around:
    """Ask for each thought as data of `schema` first; it stands in the chat from then on, and beside it in the trace.

    `schema` is a JSON schema or a pydantic model. A model that gives no such data thinks as it would without. Raises
    `UsageError` for what is no schema.
    """
    shape_of(schema)

    @around(Think)
    def thinking(step: Think, memory: dict[str, Any]) -> Generator[Step, Any, Reply]:
        if step.role != "thought" or step.choice == "none" or step.shape is not None:
            return (yield step)
        found = yield from structured(
            step.chat + user(ASK), schema, role="structured_thought", default=None, hears=False
        )
        if found.value is None:
            return (yield step)
        said = user(SAID.format(data=json.dumps(_plain(found.value), ensure_ascii=False)))
        after: Reply = yield replace(step, chat=step.chat + said)
        return replace(after, heard=(said, *after.heard))

    return thinking


def _plain(value: Any) -> Any:
    """Give data as JSON knows it; a pydantic model says its own."""
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value
