"""Plan and execute. Wang et al. 2023, "Plan-and-Solve Prompting", arXiv:2305.04091, with an executor for each step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentkit.core.messages import Chat, assistant
from agentkit.core.steps import Answer, Conclude, Engine, Loop, Think, nested, tagged
from agentkit.engines.parsing import answered, catalogue, fill, fitted, numbered, outcome, said
from agentkit.engines.react import react

PROMPTS = {
    "plan": """\
Before anything is done, make a plan for this. Break it into steps (three to seven are usual), each of which can be
carried out by itself, in an order in which each finds what it needs. Write a numbered list and nothing else:
1. the first step
2. the second step
These tools will be there for the steps:
{tools}""",
    "step": """\
This is being worked on by a plan:
{plan}

Done so far:
{done}

Now carry out step {number} and nothing else: {step}
Answer with its result. If it cannot be done, answer with FAILED: and the reason.""",
    "replan": """\
A plan for this is under way:
{plan}

Done so far:
{done}

Step {number} failed. Write a numbered list of the steps that shall now be taken in place of those that are left.""",
    "synthesize": """\
Every step of the plan has been taken:
{done}

Give the final answer to what was asked, from these results. Say so where one is missing.""",
}


def plan_and_execute(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    actor: Loop = react,
    max_steps: int = 10,
    max_step_iterations: int = 5,
    replan: bool = False,
    max_replans: int = 2,
    prompts: Mapping[str, str] | None = None,
) -> Engine:
    """Plan first, then carry out one step after the other, each by a small loop of its own, and sum up."""
    say, chat = {**PROMPTS, **(prompts or {})}, Chat.of(task)
    made = yield Think(chat + fill(say["plan"], tools=catalogue(tools)), role="plan", choice="none")
    plan = numbered(said(made))[:max_steps]
    results: list[str] = []
    failed: dict[int, str] = {}
    while len(results) < len(plan):
        number = len(results) + 1
        words = {"plan": listed(plan), "done": report(plan, results), "number": number, "step": plan[number - 1]}
        tags = {"plan": plan, "plan_step": number, "plan_states": dict(failed)}
        inner = nested(actor, chat + fill(say["step"], **words), tools=tools, max_iterations=max_step_iterations)
        result = yield from tagged(inner, **tags)
        results.append(outcome(result.text, result.interrupted))
        if results[-1].startswith("FAILED: "):
            failed[number] = "failed"
            if replan and max_replans > 0 and number < max_steps:
                max_replans -= 1
                words["done"], tags["plan_states"] = report(plan, results), dict(failed)
                made = yield Think(chat + fill(say["replan"], **words), role="plan", tags=tags, choice="none")
                plan = (*plan[:number], *(numbered(said(made)) or plan[number:]))[:max_steps]
    if plan:
        tags = {"plan": plan, "plan_step": len(plan) + 1, "plan_states": dict(failed)}
        done = report(plan, results)
        answer = answered(
            (yield Think(chat + fill(say["synthesize"], done=done), role="synthesize", tags=tags, choice="none"))
        )
        answer = answer or done
    else:  # no plan could be read: no steps, then
        answer = (yield from nested(actor, chat, tools=tools)).text
    while more := (yield Conclude(answer)):  # something was injected: answer that first
        chat += (assistant(answer), more)
        answer = (yield from nested(actor, chat, tools=tools)).text
    return Answer(answer, chat + assistant(answer))


def listed(plan: tuple[str, ...]) -> str:
    """Write a plan as a numbered list."""
    return "\n".join(f"{number}. {step}" for number, step in enumerate(plan, 1))


def report(plan: tuple[str, ...], results: list[str]) -> str:
    """Write what came of the steps so far."""
    done = zip(plan, fitted(results), strict=False)
    return (
        "\n".join(f"Step {number} ({step}): {result}" for number, (step, result) in enumerate(done, 1)) or "(nothing)"
    )
