"""Self-Refine. Madaan et al. 2023, "Self-Refine: Iterative Refinement with Self-Feedback", arXiv:2303.17651."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from annotated_types import Ge

from agentkit.core.messages import Chat, assistant
from agentkit.core.schema import KeysOf
from agentkit.core.steps import Answer, Engine, Loop, Think, warned
from agentkit.engines.drafting import draft
from agentkit.engines.parsing import after, answer_of, fill, prompts_from, question_of, request_of, shorten, text_of

PROMPTS = {
    "feedback": """\
Read this draft as a critical reader. Name its weaknesses and how to fix them, point by point and concretely.
If there is nothing left to improve, write one line instead:
DONE: and why

The request: {request}

The draft:
{draft}""",
    "refine": """\
The request: {request}

The drafts so far, each with the feedback of a reader:
{history}

Write the next draft, and fix everything that the reader named. Write only the draft.""",
}

NO_FEEDBACK = "the feedback was empty, so the draft was kept as it is"
NO_REVISION = "a revision was empty, so the draft before it was kept"


def self_refine(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    actor: Loop | None = None,
    max_refinements: Annotated[int, Ge(1)] = 4,
    prompts: Annotated[Mapping[str, str] | None, KeysOf(PROMPTS)] = None,
) -> Engine:
    """Draft an answer (by `actor`, or in one reply), give feedback on it, and rewrite it with the feedback in mind."""
    prompt, chat = prompts_from(PROMPTS, prompts), Chat.of(task)
    first = yield from draft(chat, tools, actor)
    text, problem = first.text, ""
    history: list[str] = []
    for number in range(1, max_refinements + 1):
        tags = {"round": number}
        ask = Chat.of(fill(prompt["feedback"], request=request_of(chat), draft=text))
        feedback = text_of((yield Think(ask, role="feedback", tags=tags, choice="none", hears=False))).strip()
        if not feedback or after("DONE", feedback) is not None:
            problem = problem if feedback else NO_FEEDBACK
            break
        history.append(f"Draft {number}:\n{text}\nFeedback:\n{feedback}")
        ask = chat + fill(prompt["refine"], request=question_of(chat), history="\n\n".join(shorten(history)))
        revised = answer_of((yield Think(ask, role="revise", tags=tags, choice="none", hears=False, answers=True)))
        text, problem = revised or text, problem if revised else NO_REVISION
    return Answer(text, chat + assistant(text), tags=warned(problem, first))
