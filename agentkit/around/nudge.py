"""Ask once more when a reply holds nothing but thinking."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentkit.around.base import around
from agentkit.errors import Finish
from agentkit.messages import Reply, user
from agentkit.steps import Step, Think, replace

GO_ON = "Nothing but thinking arrived, no action and no answer. Go on: act, or give the final answer."
NOTHING = "The model gave no answer: twice its reply was empty."


@around(Think)
def nudge(step: Think, memory: dict[str, Any]) -> Generator[Step, Any, Reply]:
    """Ask again, once, when a reply is empty; end the run in plain words when the next one is empty too."""
    reply = yield step
    if reply.calls or reply.answer or not reply.readable or step.choice == "none" or step.shape or step.optional:
        return reply
    again = yield replace(step, chat=step.chat + reply + user(GO_ON), role="nudge")
    if not (again.calls or again.answer):
        raise Finish(" ".join((NOTHING, *(f"({problem})" for problem in again.problems))), "empty_reply")
    return reply + again
