"""Before an answer is given: was all that was asked for answered?"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around, aside, whole, words
from agentkit.core.messages import EMPTY, Reply, user
from agentkit.core.steps import All, Conclude, Step, Think

CHECK = """\
This answer is about to be given:

{answer}

Check it against what was asked. Is everything that was asked for done and answered?
Begin your reply with COMPLETE, or with INCOMPLETE: and what is missing."""

MISSING = (
    "[COMPLETION CHECK] The answer is not complete yet: {missing}\nDo what is missing, then give the whole answer."
)
_VERDICT = re.compile(r"^[ \t>*_#`]*(IN|NOT[ \t]+)?COMPLETE\b[ \t*_`]*[:.,-]?(.*)", re.I | re.M | re.S)


def check_completion(most: int = 1) -> Around:
    """Ask, before an answer is given, whether it is complete; what is missing is sent back to the loop, `most` times.

    Only a clear INCOMPLETE at a line's start sends it back. Raises `ValueError` unless `most` is at least 1.
    """
    whole("check_completion", most)

    @around(Think, All, Conclude, nested=True)
    def check(step: Think | All | Conclude, memory: dict[str, Any]) -> Generator[Step, Any, Any]:
        if isinstance(step, All):
            results = yield step
            chats = [memory.get("chat", EMPTY), *(lane.get("chat", EMPTY) for lane in memory.pop("lanes", ()))]
            memory["chat"] = next((chat for chat in chats if chat is not EMPTY), EMPTY)
            return results
        if isinstance(step, Think):
            memory["chat"] = step.chat if step.hears else memory.get("chat", EMPTY)  # a judge's chat is not the loop's
            return (yield step)
        if memory.get("checks", 0) < most and memory.get("chat", EMPTY) is not EMPTY:
            memory["checks"] = memory.get("checks", 0) + 1
            verdict: Reply = yield aside(memory["chat"] + user(CHECK.format(answer=step.answer)), "check_completion")
            if missing := incomplete(words(verdict)):
                return user(MISSING.format(missing=missing))
        return (yield step)

    return check


def incomplete(text: str) -> str:
    """Give what a verdict says is missing; nothing when it says complete, or says neither."""
    found = _VERDICT.search(text)
    return (found[2].strip() or "it was judged incomplete") if found and found[1] else ""
