"""Let the model look up from its work every few tool calls: is this still about the task?"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around, aside, calls_of, whole, words
from agentkit.around.request_view import back
from agentkit.core.messages import Reply, user
from agentkit.core.steps import Act, All, Step, Think, replace

CHECK = """\
Stop for a moment: you have called {count} tools. Do not act now. The goal is still this:

{goal}

In a few sentences: what is known by now, what is missing, and is the present way leading there? If not, say what to do instead."""

CHECKED = "[SELF-CHECK after {count} tool calls] The goal: {goal}\nYour own judgement: {judgement}\nGo on accordingly."
GOAL = 2_000


def self_check(every: int = 6) -> Around:
    """Ask the model to judge its own progress after each `every` tool calls, with the goal in front of it.

    What it says stands in the chat from then on. Raises `ValueError` unless `every` is at least 1.
    """
    whole("self_check", every)

    @around(Think, Act)
    def check(step: Think | Act | All, memory: dict[str, Any]) -> Generator[Step, Any, Any]:
        if not isinstance(step, Think):
            memory["calls"] = memory.get("calls", 0) + len(calls_of(step))
            return (yield step)
        if "goal" not in memory:
            memory["goal"] = next((said.text[:GOAL] for said in back(step.chat) if said.role == "user"), "")
        goal, count = memory["goal"], memory.get("calls", 0)
        if count - memory.get("checked", 0) < every or step.choice == "none":
            return (yield step)
        memory["checked"] = count
        asked = user(CHECK.format(count=count, goal=goal))
        reply: Reply = yield aside(step.chat + asked, "self_check", calls=count)
        said = user(CHECKED.format(count=count, goal=goal, judgement=words(reply) or "(none)"))
        after: Reply = yield replace(step, chat=step.chat + said)
        return replace(after, heard=(said, *after.heard))

    return check
