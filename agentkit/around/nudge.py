"""Ask again if a reply contains nothing but thinking."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentkit.around.base import around
from agentkit.core.messages import Reply, user
from agentkit.core.steps import Conclude, Step, Think, replace
from agentkit.errors import Finish

GO_ON = "Your reply contained only thinking, no action and no answer. Continue: act, or give the final answer."
NOTHING = "The model gave no answer: its replies were empty."


@around(Think, Conclude, does="asks again if the reply is empty")
def nudge(step: Think | Conclude, memory: dict[str, Any]) -> Generator[Step, Any, Any]:
    """Ask again, once, if a reply is empty; if the second reply is empty, too, the answer is empty.

    A nested engine then ends without an answer, and the engine around it continues; but if the answer of the run itself
    would be empty, the run ends with an explanation.
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
