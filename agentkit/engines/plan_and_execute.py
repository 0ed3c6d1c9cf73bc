"""Plan and execute. Wang et al. 2023, "Plan-and-Solve Prompting", arXiv:2305.04091, with an executor for each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from annotated_types import Ge

from agentkit.core.messages import Chat, assistant
from agentkit.core.schema import KeysOf
from agentkit.core.steps import Answer, Engine, Loop, Think, tagged, warned
from agentkit.engines.parsing import (
    answer_of,
    fill,
    list_items,
    list_tools,
    prompts_from,
    shorten,
    step_result,
    text_of,
)
from agentkit.engines.react import react

PROMPTS = {
    "plan": """\
Before you do anything, make a plan for this. Break it into steps (three to seven are usual) that can each be carried
out separately, in an order in which each step has what it needs. Write a numbered list and nothing else:
1. the first step
2. the second step
These tools will be available for the steps:
{tools}""",
    "step": """\
You are carrying out one step of this plan:
{plan}

Done so far:
{done}

Now carry out step {number} and nothing else: {step}
Answer with its result. If it cannot be done, answer with FAILED: and the reason.""",
    "replan": """\
You are carrying out this plan:
{plan}

Done so far:
{done}

Step {number} failed. Write a numbered list of steps to replace those that are left.""",
    "synthesize": """\
All steps of the plan have been carried out:
{done}

Give the final answer to the request, based on these results. If a result is missing, say so.""",
}


NO_PLAN = "no plan could be read, so the task was worked on without a plan"
NO_NEW_PLAN = "no new plan could be read, so the steps that were left were kept"
NO_ANSWER = "the model gave no answer, so the results of the steps are the answer"


@dataclass(slots=True)
class Plan:
    """The steps of a plan, and the results of those that were carried out."""

    steps: tuple[str, ...]
    results: list[str] = field(default_factory=list)

    @property
    def number(self) -> int:
        """The number of the next step, from 1."""
        return len(self.results) + 1

    @property
    def tags(self) -> dict[str, Any]:
        """The plan and the states of its steps, as tags for the steps of the run."""
        failed = {n: "failed" for n, result in enumerate(self.results, 1) if result.startswith("FAILED: ")}
        return {"plan": self.steps, "plan_step": self.number, "plan_states": failed}

    def __str__(self) -> str:
        return "\n".join(f"{number}. {step}" for number, step in enumerate(self.steps, 1))

    def report(self) -> str:
        """Return a report of the steps so far."""
        done = enumerate(zip(self.steps, shorten(self.results), strict=False), 1)
        return "\n".join(f"Step {number} ({step}): {result}" for number, (step, result) in done) or "(nothing)"


def plan_and_execute(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    actor: Loop = Loop(react),
    max_steps: Annotated[int, Ge(1)] = 10,
    max_step_iterations: Annotated[int, Ge(1)] = 5,
    replan: bool = False,
    max_replans: Annotated[int, Ge(0)] = 2,
    prompts: Annotated[Mapping[str, str] | None, KeysOf(PROMPTS)] = None,
) -> Engine:
    """Plan first, then carry out one step after the other, each with its own small loop, and summarise the results."""
    prompt, chat = prompts_from(PROMPTS, prompts), Chat.of(task)
    planning = yield Think(chat + fill(prompt["plan"], tools=list_tools(tools)), role="plan", choice="none")
    plan = Plan(list_items(text_of(planning))[:max_steps])
    if not plan.steps:
        return (yield from tagged(actor.begin(chat, tools=tools), **warned(NO_PLAN)))
    replans, problem = max_replans if replan else 0, ""
    nested: list[Answer] = []
    while plan.number <= len(plan.steps):
        number, step = plan.number, plan.steps[plan.number - 1]
        ask = chat + fill(prompt["step"], plan=plan, done=plan.report(), number=number, step=step)
        result = yield from tagged(actor.begin(ask, tools=tools, max_iterations=max_step_iterations), **plan.tags)
        tags = plan.tags
        nested.append(result)
        plan.results.append(step_result(result.text, result.interrupted))
        if plan.results[-1].startswith("FAILED: ") and replans and number < max_steps:
            replans -= 1
            ask = chat + fill(prompt["replan"], plan=plan, done=plan.report(), number=number)
            states = {"plan_states": plan.tags["plan_states"]}
            planning = yield Think(ask, role="plan", tags={**tags, **states}, choice="none")
            rest = list_items(text_of(planning))
            problem = problem if rest else NO_NEW_PLAN
            plan.steps = (*plan.steps[:number], *(rest or plan.steps[number:]))[:max_steps]
    ask = chat + fill(prompt["synthesize"], done=plan.report())
    summary = answer_of((yield Think(ask, role="synthesize", tags=plan.tags, choice="none", answers=True)))
    answer = summary or plan.report()
    return Answer(answer, chat + assistant(answer), tags=warned(problem, "" if summary else NO_ANSWER, *nested))
