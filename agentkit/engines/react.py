"""ReAct. Yao et al. 2022, "ReAct: Synergizing Reasoning and Acting in Language Models", arXiv:2210.03629."""

from __future__ import annotations

from typing import Annotated, Any

from annotated_types import Ge

from agentkit.core.messages import Chat, assistant, user
from agentkit.core.steps import Act, Answer, Engine, Think, warned

ANSWER_NOW = "You cannot take any more actions. Give your best FINAL_ANSWER: now, from what you know so far."

RAW = "the reply could not be read, so all of it is the answer"
NO_ANSWER = "the model gave no answer when it was asked for one, so what it did is the answer"


def react(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    max_iterations: Annotated[int, Ge(1)] = 10,
    force_answer: bool = True,
) -> Engine:
    """Think, act, observe, and repeat, until a thought asks for no action."""
    chat = Chat.of(task)
    iterations = 0
    while iterations < max_iterations:
        thought = yield Think(chat, tools, answers=True)
        iterations += thought.attempts
        chat += thought
        if not thought.calls:
            return Answer(thought.answer, chat, tags=warned("" if thought.readable else RAW))
        chat += yield Act.each(thought.calls)
    if not force_answer:
        return Answer("", chat, "max_turns", propose=False)
    last = yield Think(chat + user(ANSWER_NOW), tools, role="answer", choice="none", answers=True)
    answer = last.answer or ("" if last.calls else (last.raw or last.text).strip())
    tags = warned("" if answer else NO_ANSWER)
    answer = answer or summary(chat)
    return Answer(answer, chat + user(ANSWER_NOW) + last.heard + (assistant(answer),), "max_turns", tags)


def summary(chat: Chat) -> str:
    """Return a list of the tools that ran and of those that failed, for a run that ends without an answer."""
    steps = [f"{m.name} {'answered' if m.ok else 'failed'}: {m.text[:200]}" for m in chat if m.role == "tool"]
    if not steps:
        return "No answer was reached, and no tool was run."
    return "\n".join(["No answer was reached. This is what was done:", *steps])
