"""Thoughts as data: before each thought, the model states what it knows, what is missing and what comes next."""

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
        "known": {"type": "array", "items": {"type": "string"}, "description": "what you know by now"},
        "missing": {"type": "array", "items": {"type": "string"}, "description": "what you still need for the answer"},
        "next": {"type": "string", "description": "the one thing to do next, and why it helps"},
        "confidence": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": "your confidence that this leads to the answer",
        },
    },
    "required": ["known", "missing", "next", "confidence"],
}

ASK = "Do not act yet. Describe your progress as data: what you know, what is missing, your next step, your confidence."
SAID = "[YOUR THINKING, as data]\n{data}\nContinue accordingly."


def think_in_data(schema: Any = THOUGHT) -> Around:
    """Return an around that first asks for each thought as data of `schema`, which then stays in the chat.

    `schema` is a JSON schema or a pydantic model. If the model returns no such data, it thinks as usual. Raises
    `UsageError` if `schema` is anything else.
    """
    shape_of(schema)

    @around(Think, does="asks for thoughts as data")
    def thinking(step: Think, memory: dict[str, Any]) -> Generator[Step, Any, Reply]:
        if step.role != "thought" or step.choice == "none" or step.shape is not None:
            return (yield step)
        thought = yield from structured(
            step.chat + user(ASK), schema, role="structured_thought", default=None, hears=False
        )
        if thought.value is None:
            return (yield step)
        note = user(SAID.format(data=json.dumps(_as_json(thought.value), ensure_ascii=False)))
        after: Reply = yield replace(step, chat=step.chat + note)
        return replace(after, heard=(note, *after.heard))

    return thinking


def _as_json(value: Any) -> Any:
    """Return data as JSON data, even if it is a pydantic model."""
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value
