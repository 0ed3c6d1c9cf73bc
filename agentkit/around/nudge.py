"""Ask once more when a reply holds nothing but thinking."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentkit.around.base import around
from agentkit.core.messages import Reply, user
from agentkit.core.steps import Conclude, Step, Think, replace
from agentkit.errors import Finish

GO_ON = "Nothing but thinking arrived, no action and no answer. Go on: act, or give the final answer."
NOTHING = "The model gave no answer: its replies were empty."


@around(Think, Conclude)
def nudge(step: Think | Conclude, memory: dict[str, Any]) -> Generator[Step, Any, Any]:
    """Ask again, once, when a reply is empty; when the next one is empty too, it is for the loop to say what that means.

    A nested engine ends without an answer, and the one around it goes on; where the run's own answer would be empty, the
    run ends in plain words.
    """
    if isinstance(step, Conclude):
        if not (step.answer or "").strip():
            raise Finish(
                " ".join((NOTHING, *(f"({problem})" for problem in memory.get("problems", ())))), "empty_reply"
            )
        return (yield step)
    reply: Reply = yield step
    if reply.calls or reply.answer or not reply.readable or step.choice == "none" or step.shape or step.optional:
        return reply
    again: Reply = yield replace(step, chat=step.chat + reply + user(GO_ON), role="nudge")
    memory["problems"] = again.problems
    return reply + (again if again.calls or again.answer else replace(again, answer=""))
