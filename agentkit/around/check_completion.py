"""Ask the model, before the final answer, whether it has answered everything."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around, aside, reply_text, require_int
from agentkit.core.messages import EMPTY, Reply, user
from agentkit.core.steps import All, Conclude, Step, Think

CHECK = """\
You are about to give this answer:

{answer}

Compare it with the task. Has everything that was asked for been done and answered?
Begin your reply with COMPLETE, or with INCOMPLETE: followed by what is missing."""

MISSING = (
    "[COMPLETION CHECK] The answer is not complete yet: {missing}\nDo what is missing, then give the complete answer."
)
_VERDICT = re.compile(r"^[ \t>*_#`]*(IN|NOT[ \t]+)?COMPLETE\b[ \t*_`]*[:.,-]?(.*)", re.I | re.M | re.S)


def check_completion(most: int = 1) -> Around:
    """Return an around that asks whether an answer is complete, and sends the loop back to work, at most `most` times.

    Only a clear INCOMPLETE at the start of a line sends it back. An answer that was forced by a limit is not checked,
    because there is no time left to improve it. Raises `ValueError` unless `most` is an integer of at least 1.
    """
    require_int("check_completion", most)

    @around(Think, All, Conclude, nested=True, does="checks whether the answer is complete")
    def check(step: Think | All | Conclude, memory: dict[str, Any]) -> Generator[Step, Any, Any]:
        if isinstance(step, All):
            results = yield step
            chats = [memory.get("chat", EMPTY), *(lane.get("chat", EMPTY) for lane in memory.pop("lanes", ()))]
            memory["chat"] = next((chat for chat in chats if chat is not EMPTY), EMPTY)
            return results
        if isinstance(step, Think):
            memory["chat"] = step.chat if step.hears else memory.get("chat", EMPTY)  # a judge's chat is not the loop's
            return (yield step)
        can_improve = not step.interrupted and memory.get("checks", 0) < most
        if can_improve and memory.get("chat", EMPTY) is not EMPTY:
            memory["checks"] = memory.get("checks", 0) + 1
            verdict: Reply = yield aside(memory["chat"] + user(CHECK.format(answer=step.answer)), "check_completion")
            if missing := incomplete(reply_text(verdict)):
                return user(MISSING.format(missing=missing))
        return (yield step)

    return check


def incomplete(text: str) -> str:
    """Return what is missing according to a verdict, or "" if the verdict says complete, or says neither."""
    verdict = _VERDICT.search(text)
    return (verdict[2].strip() or "it was judged incomplete") if verdict and verdict[1] else ""
