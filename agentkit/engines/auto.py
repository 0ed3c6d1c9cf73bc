"""Ask a model whether ReAct (arXiv:2210.03629) or a plan as a graph (arXiv:2312.04511) fits the task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from agentkit.core.messages import Chat
from agentkit.core.schema import KeysOf
from agentkit.core.steps import Engine, Loop, Think, tagged, warned
from agentkit.engines.dag import dag
from agentkit.engines.parsing import answer_after, fill, list_tools, prompts_from, request_of, text_of
from agentkit.engines.react import react

PROMPTS = {
    "choose": """\
How should this be worked on?
STEPWISE: one step after the other, each chosen with the results of the last; for questions and small tasks
PLANNED: with a plan, some of whose steps are independent and can run at the same time; for tasks with several parts
Answer with one line: CHOICE: STEPWISE or CHOICE: PLANNED

The tools:
{tools}

The request: {request}"""
}

UNREAD = "the choice of an engine could not be read, so the task is worked on step by step"


def auto(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    stepwise: Loop = Loop(react),
    planned: Loop = Loop(dag),
    prompts: Annotated[Mapping[str, str] | None, KeysOf(PROMPTS)] = None,
) -> Engine:
    """Ask once which engine fits the task, and continue with it; `stepwise` if the reply does not say."""
    prompt, chat = prompts_from(PROMPTS, prompts), Chat.of(task)
    ask = Chat.of(fill(prompt["choose"], tools=list_tools(tools), request=request_of(chat)))
    reply = text_of((yield Think(ask, role="choose", choice="none", hears=False)))
    choice = (answer_after(reply, "CHOICE") or reply).strip("*_` \n").upper()
    engine = planned if choice.startswith("PLANNED") else stepwise
    unread = warned("" if choice.startswith(("PLANNED", "STEPWISE")) else UNREAD)
    return (yield from tagged(engine.begin(chat, tools=tools), **unread))
