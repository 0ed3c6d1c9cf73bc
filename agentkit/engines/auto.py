"""Choose between ReAct (arXiv:2210.03629) and a plan as a graph (arXiv:2312.04511), by asking which of them fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentkit.core.messages import Chat, assistant
from agentkit.core.steps import Conclude, Engine, Loop, Think, nested
from agentkit.engines.dag import dag
from agentkit.engines.parsing import after, asked, catalogue, fill, said
from agentkit.engines.react import react

PROMPTS = {
    "choose": """\
How shall this be worked on?
STEPWISE: one thing after the other, deciding each time from what came before; for questions and small tasks
PLANNED: with a plan whose steps are partly independent and are done at the same time; for tasks with several parts
Answer with one line of the form CHOICE: STEPWISE or CHOICE: PLANNED

The tools:
{tools}

What is asked: {request}"""
}


def auto(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    stepwise: Loop = react,
    planned: Loop = dag,
    prompts: Mapping[str, str] | None = None,
) -> Engine:
    """Ask once which loop fits the task, and go on with that one; where the reply does not say, stepwise."""
    say, chat = {**PROMPTS, **(prompts or {})}, Chat.of(task)
    about = fill(say["choose"], tools=catalogue(tools), request=asked(chat))
    choice = said((yield Think(Chat.of(about), role="choose", choice="none", hears=False)))
    loop = planned if (after("CHOICE", choice) or choice).strip("*_` \n").upper().startswith("PLANNED") else stepwise
    answer = yield from nested(loop, chat, tools=tools)
    while more := (yield Conclude(answer.text)):  # something was injected: answer that first
        answer = yield from nested(stepwise, [*chat, assistant(answer.text), more], tools=tools)
    return answer
