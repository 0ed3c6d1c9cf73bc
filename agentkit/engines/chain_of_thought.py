"""Chain of thought.

Wei et al. 2022, arXiv:2201.11903; Kojima et al. 2022, "… Zero-Shot Reasoners", arXiv:2205.11916.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from agentkit.core.messages import Chat
from agentkit.core.schema import KeysOf
from agentkit.core.steps import Answer, Engine, Think, warned
from agentkit.engines.parsing import answer_after, answer_of, prompts_from, text_of, with_instructions

PROMPTS = {
    "think": """\
Think it through before you answer: one short step per line, each with its intermediate result.
When you are sure, write the result on a last line of its own, like this:
FINAL ANSWER: the result"""
}

NO_MARKER = "the reply has no line FINAL ANSWER:, so all of it is the answer"


def chain_of_thought(
    task: Any, *, tools: tuple[Any, ...] = (), prompts: Annotated[Mapping[str, str] | None, KeysOf(PROMPTS)] = None
) -> Engine:
    """Reason step by step in one reply; the answer is the text after FINAL ANSWER:. Tools are not used."""
    prompt = prompts_from(PROMPTS, prompts)
    chat = with_instructions(Chat.of(task), prompt["think"])
    reply = yield Think(chat)
    answer = answer_after(text_of(reply), "FINAL ANSWER")
    return Answer(answer or answer_of(reply), chat + reply, tags=warned("" if answer else NO_MARKER))
