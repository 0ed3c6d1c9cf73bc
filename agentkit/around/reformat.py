"""Ask once for the right form when a reply follows no rule of its dialect."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentkit.around.base import around
from agentkit.messages import Reply, user
from agentkit.steps import Step, Think, replace

REFORMAT = (
    "That reply could not be read. Say it again in the agreed form and nothing else: "
    "either one action with its input, or the final answer."
)


@around(Think)
def reformat(step: Think, memory: dict[str, Any]) -> Generator[Step, Any, Reply]:
    """Ask again, once in a row, when a reply cannot be read; the second time its raw text is the answer."""
    reply = yield step
    if reply.readable or not step.tools or step.choice == "none":
        return reply
    return reply + (yield replace(step, chat=step.chat + reply + user(REFORMAT), role="reformat"))
