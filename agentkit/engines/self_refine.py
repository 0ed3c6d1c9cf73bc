"""Self-Refine. Madaan et al. 2023, "Self-Refine: Iterative Refinement with Self-Feedback", arXiv:2303.17651."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentkit.core.messages import Chat, assistant
from agentkit.core.steps import Answer, Conclude, Engine, Loop, Think
from agentkit.engines.drafting import drafted
from agentkit.engines.parsing import after, answered, asked, fill, fitted, question, said

PROMPTS = {
    "feedback": """\
Read a draft as a critical reader. Name what is weak and how to mend it, point by point and concretely.
If nothing is left to mend, write one line instead:
DONE: and why

What was asked: {request}

The draft:
{draft}""",
    "refine": """\
What was asked: {request}

Drafts so far, each with what a reader said about it:
{history}

Write the next draft, with everything mended that the reader named. Give the draft only.""",
}


def self_refine(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    actor: Loop | None = None,
    max_refinements: int = 4,
    prompts: Mapping[str, str] | None = None,
) -> Engine:
    """Draft an answer (by `actor`, or in one reply), give feedback on it, and write it again with the feedback in mind."""
    say, chat = {**PROMPTS, **(prompts or {})}, Chat.of(task)
    draft = yield from drafted(chat, tools, actor)
    history: list[str] = []
    for number in range(1, max_refinements + 1):
        tags = {"round": number}
        words = {"request": asked(chat), "draft": draft}
        about = Chat.of(fill(say["feedback"], **words))
        feedback = said((yield Think(about, role="feedback", tags=tags, choice="none", hears=False))).strip()
        if not feedback or after("DONE", feedback) is not None:
            break
        history.append(f"Draft {number}:\n{draft}\nWhat was said about it:\n{feedback}")
        words = {"request": question(chat), "draft": draft, "history": "\n\n".join(fitted(history))}
        again = chat + fill(say["refine"], **words)
        draft = answered((yield Think(again, role="revise", tags=tags, choice="none", hears=False))) or draft
    while more := (yield Conclude(draft)):  # something was injected: answer that first
        chat += (assistant(draft), more)
        draft = yield from drafted(chat, tools, actor)
    return Answer(draft, chat + assistant(draft))
