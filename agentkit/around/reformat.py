"""Ask once for the right format if a reply does not follow its dialect."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around
from agentkit.around.completion import DONE, says_done
from agentkit.core.messages import Reply, user
from agentkit.core.steps import Step, Think, replace

REFORMAT = (
    "Your reply could not be read. Repeat it in the required format, and nothing else: "
    "either one action with its input, or the final answer."
)


def reformatting(done: re.Pattern[str] = DONE) -> Around:
    """Return an around that asks again, once in a row, if a reply cannot be read; then its raw text is the answer.

    A reply that says with a marker that the task is done is an answer as it is.
    """

    @around(Think, does="asks again if the reply cannot be read")
    def reformat(step: Think, memory: dict[str, Any]) -> Generator[Step, Any, Reply]:
        reply = yield step
        if reply.readable or not step.tools or step.choice == "none":
            return reply
        if says_done(reply, done):
            return replace(reply, readable=True)
        return reply + (yield replace(step, chat=step.chat + reply + user(REFORMAT), role="reformat"))

    return reformat


reformat = reformatting()
