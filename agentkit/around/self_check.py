"""Ask the model every few tool calls whether it is still making progress on the task."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around, aside, calls_of, reply_text, require_int
from agentkit.around.request_view import back
from agentkit.core.messages import Reply, user
from agentkit.core.steps import Act, All, Step, Think, replace

CHECK = """\
Pause for a moment: you have called {count} tools. Do not act now. This is still your goal:

{goal}

In a few sentences: what do you know by now, what is missing, and will your current approach get you there? If not, say
what to do instead."""

CHECKED = "[SELF-CHECK after {count} tool calls] The goal: {goal}\nYour assessment: {judgement}\nContinue accordingly."
GOAL = 2_000


def self_check(every: int = 6) -> Around:
    """Return an around that asks the model to judge its own progress after every `every` tool calls.

    The question repeats the goal, and the model's reply stays in the chat. Raises `ValueError` unless `every` is an
    integer of at least 1.
    """
    require_int("self_check", every)

    @around(Think, Act, does="asks now and then whether there is progress")
    def check(step: Think | Act | All, memory: dict[str, Any]) -> Generator[Step, Any, Any]:
        if not isinstance(step, Think):
            memory["calls"] = memory.get("calls", 0) + len(calls_of(step))
            return (yield step)
        if "goal" not in memory:
            memory["goal"] = next((message.text[:GOAL] for message in back(step.chat) if message.role == "user"), "")
        goal, count = memory["goal"], memory.get("calls", 0)
        if count - memory.get("checked", 0) < every or step.choice == "none":
            return (yield step)
        memory["checked"] = count
        question = user(CHECK.format(count=count, goal=goal))
        reply: Reply = yield aside(step.chat + question, "self_check", calls=count)
        note = user(CHECKED.format(count=count, goal=goal, judgement=reply_text(reply) or "(none)"))
        after: Reply = yield replace(step, chat=step.chat + note)
        return replace(after, heard=(note, *after.heard))

    return check
