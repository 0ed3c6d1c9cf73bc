"""Chain of thought. Wei et al. 2022, arXiv:2201.11903; Kojima et al. 2022, "… Zero-Shot Reasoners", arXiv:2205.11916."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentkit.core.messages import Chat
from agentkit.core.steps import Answer, Conclude, Engine, Think
from agentkit.engines.parsing import after, answered, led, said

PROMPTS = {
    "think": """\
Think it through before you answer: one short step per line, each with its intermediate result.
When you are sure, write the result on a last line of its own, in this form:
FINAL ANSWER: the result"""
}


def chain_of_thought(task: Any, *, tools: tuple[Any, ...] = (), prompts: Mapping[str, str] | None = None) -> Engine:
    """Reason step by step in one reply, and take what follows FINAL ANSWER: as the answer. Tools are not used."""
    say = {**PROMPTS, **(prompts or {})}
    chat = led(Chat.of(task), say["think"])
    while True:
        reply = yield Think(chat)
        chat += reply
        answer = after("FINAL ANSWER", said(reply)) or answered(reply)
        if not (more := (yield Conclude(answer))):
            return Answer(answer, chat)
        chat += more  # something was injected: answer that first
