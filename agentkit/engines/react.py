"""ReAct. Yao et al. 2022, "ReAct: Synergizing Reasoning and Acting in Language Models", arXiv:2210.03629."""

from __future__ import annotations

from typing import Any

from agentkit.core.messages import Chat, assistant, user
from agentkit.core.steps import Act, Answer, Conclude, Engine, Think

ASK_NOW = "No more actions are possible. Give your best FINAL_ANSWER: now, from what is known so far."


def react(task: Any, *, tools: tuple[Any, ...] = (), max_iterations: int = 10, force_answer: bool = True) -> Engine:
    """Think, act, observe, and again, until a thought asks for no action."""
    chat = Chat.of(task)
    iterations = 0
    while iterations < max_iterations:
        thought = yield Think(chat, tools)
        iterations += thought.attempts
        chat += thought
        if thought.calls:
            chat += yield Act(thought.calls)
        elif not (more := (yield Conclude(thought.answer))):
            return Answer(thought.answer, chat)
        else:
            chat += more  # something was injected: answer that first
    if not force_answer:
        return Answer("", chat, "max_turns")
    last = yield Think(chat + user(ASK_NOW), tools, role="answer", choice="none")
    answer = last.answer or (last.raw or last.text).strip() or summary(chat)
    return Answer(answer, chat + user(ASK_NOW) + last.heard + (assistant(answer),), "max_turns")


def summary(chat: Chat) -> str:
    """Say in plain words which tools ran and which failed, for a run that ended without an answer."""
    steps = [f"{m.name} {'answered' if m.ok else 'failed'}: {m.text[:200]}" for m in chat if m.role == "tool"]
    return (
        "\n".join(["No answer was reached. What was done:", *steps])
        if steps
        else "No answer was reached, and no tool was run."
    )
