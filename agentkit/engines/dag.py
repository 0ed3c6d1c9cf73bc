"""A plan as a graph whose steps run in parallel. After Kim et al. 2023, "An LLM Compiler …", arXiv:2312.04511."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le, Lt

from agentkit.core.messages import Chat, assistant
from agentkit.core.schema import Checked, KeysOf
from agentkit.core.steps import After, All, Answer, Engine, Loop, Part, Scope, Think, tagged, warned
from agentkit.engines.parsing import (
    after,
    before,
    fill,
    list_tools,
    prompts_from,
    question_of,
    score_of,
    shorten,
    step_result,
    text_of,
)
from agentkit.engines.plan_graph import Node, find_problem, problem_of, read_plan
from agentkit.engines.react import react

PROMPTS = {
    "plan": """\
Make a plan for this, of steps that can each be carried out separately. Write a numbered list and nothing else. After
each step, write in brackets which steps it needs; steps that do not need each other run at the same time:
1. the first step
2. another step
3. a step that uses both results [after: 1, 2]
These tools will be available for the steps:
{tools}
{problem}""",
    "step": """\
You are carrying out one step of this plan:
{plan}

Results of earlier steps:
{done}

Now carry out step {number} and nothing else: {step}
Answer with its result. If it cannot be done, answer with FAILED: and the reason.""",
    "analyze": """\
The steps of a plan have been carried out. Judge whether their results answer the request.

The request: {request}

{done}

Write three parts:
ACHIEVED: yes or no
CONFIDENCE: a number from 0 to 1
ANSWER: the answer as far as it is known, or what is missing if it is not known at all""",
    "again": "An earlier plan was carried out, but it was not enough. Do not repeat what is known:\n{done}\n{why}",
}


NO_PLAN = "no plan could be read, so the task was worked on without a plan"
NO_NEW_PLAN = "no new plan could be read, so the answer is based on what was found before"
UNREAD = "the judgement of the results could not be read, so all of it is the answer"


@dataclass(slots=True)
class Judgement:
    """The model's judgement of the results: whether they answer the request, and the answer as far as it is known."""

    achieved: bool
    answer: str


def dag(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    actor: Loop = Loop(react),
    max_steps: Annotated[int, Ge(1)] = 20,
    max_parallel: Annotated[int, Ge(1)] = 4,
    max_step_iterations: Annotated[int, Ge(1)] = 10,
    step_timeout: Annotated[float, Gt(0), Lt(math.inf)] | None = None,
    max_replans: Annotated[int, Ge(0)] = 3,
    min_confidence: Annotated[float, Ge(0), Le(1)] = 0.8,
    plan: Annotated[str, Checked(problem_of)] = "",
    prompts: Annotated[Mapping[str, str] | None, KeysOf(PROMPTS)] = None,
) -> Engine:
    """Plan steps with their dependencies, start each when its inputs are available, judge the results, and replan.

    `plan` is a first plan of the caller, written like one of the model.
    """
    prompt, chat = prompts_from(PROMPTS, prompts), Chat.of(task)
    work = Work(chat, tools, actor, max_step_iterations, step_timeout, prompt["step"])
    known, again, problem, judgement = "", "", "", Judgement(False, "")
    problems: list[str] = []
    for _ in range(max_replans + 1):
        ask = chat + fill(prompt["plan"], tools=list_tools(tools), problem=f"{again}\n{problem}".strip())
        written = plan or text_of((yield Think(ask, role="plan", choice="none")))
        nodes, plan = read_plan(written)[:max_steps], ""
        if not nodes:
            problems.append(NO_NEW_PLAN)
            break
        if wrong := find_problem(nodes):
            problem = f"The last plan could not be carried out: {wrong}."
            judgement.answer = judgement.answer or f"The plan cannot be carried out: {wrong}."
            continue
        results = dict(zip((node.name for node in nodes), (yield work.lanes(nodes, max_parallel)), strict=True))
        known = "\n".join(part for part in (known, report(nodes, results)) if part)
        ask = chat + fill(prompt["analyze"], request=question_of(chat), done=known)
        tags = {**plan_tags(nodes), "plan_states": states(nodes, results)}
        reply = text_of((yield Think(ask, role="analyze", tags=tags, choice="none", hears=False)))
        judgement = read_judgement(reply, known, min_confidence)
        problems += [] if has_judgement(reply) else [UNREAD]
        if judgement.achieved:
            return Answer(judgement.answer, chat + assistant(judgement.answer), tags=warned(*problems, *work.answers))
        again, problem = fill(prompt["again"], done=known, why=judgement.answer), ""
    if judgement.answer:
        warning = warned(*problems, *work.answers)
        return Answer(judgement.answer, chat + assistant(judgement.answer), "max_replans", warning)
    return (yield from tagged(actor.begin(chat, tools=tools), **warned(NO_PLAN)))


@dataclass(slots=True)
class Work:
    """What is needed to carry out the steps of a plan, each with its own loop, and the answers of these loops."""

    chat: Chat
    tools: tuple[Any, ...]
    actor: Loop
    max_iterations: int
    timeout: float | None
    prompt: str
    answers: list[Answer] = field(default_factory=list)

    def lanes(self, plan: tuple[Node, ...], at_once: int) -> All:
        """Return the step that carries out a plan: a lane for each node, which starts when its inputs are available."""
        positions = {node.name: position for position, node in enumerate(plan)}
        lanes = [
            After(
                tuple(positions[need] for need in node.after),
                lambda *results, node=node: self.begin(plan, node, results),
            )
            for node in plan
        ]
        return All(tuple(lanes), role="steps", tags=plan_tags(plan), limit=at_once)

    def begin(self, plan: tuple[Node, ...], node: Node, results: tuple[str, ...]) -> Part | str:
        """Start a step with the results of those that it needs, or skip it if one of them failed or was skipped."""
        known = dict(zip(node.after, results, strict=True))
        if unmet := next((need for need in node.after if known[need].startswith(("FAILED: ", "SKIPPED: "))), ""):
            state = "failed" if known[unmet].startswith("FAILED: ") else "was skipped"
            return f"SKIPPED: it needs step {unmet}, which {state}"
        return self.carry_out(plan, node, known)

    def carry_out(self, plan: tuple[Node, ...], node: Node, known: dict[str, str]) -> Part:
        """Carry out one step of a plan and return its result."""
        listed = "\n".join(map(str, plan))
        ask = fill(self.prompt, plan=listed, done=report(plan, known), number=node.name, step=node.task)
        loop = self.actor.begin(self.chat + ask, tools=self.tools, max_iterations=self.max_iterations)
        tags = {**plan_tags(plan), "plan_lane": plan.index(node) + 1, "plan_states": states(plan, known)}
        tags |= {"model": node.model} if node.model else {}
        answer = yield from Scope(loop, tags=tags, seconds=self.timeout)
        self.answers.append(answer)
        return step_result(answer.text, answer.interrupted)


def read_judgement(text: str, known: str, min_confidence: float) -> Judgement:
    """Return the judgement in a text; the request is answered if the confidence is at least `min_confidence`."""
    answer = before("CONFIDENCE", before("ACHIEVED", after("ANSWER", text) or "")).strip() or text.strip() or known
    is_yes = not (after("ACHIEVED", text) or "").strip("*_` ").lower().startswith(("no", "false"))
    confidence = score_of((after("CONFIDENCE", text) or "").partition("\n")[0], 1.0)
    return Judgement(is_yes and (confidence is None or confidence >= min_confidence), answer)


def has_judgement(text: str) -> bool:
    """Return whether a text has at least one of the three parts of a judgement."""
    return any(after(label, text) is not None for label in ("ACHIEVED", "CONFIDENCE", "ANSWER"))


def plan_tags(plan: tuple[Node, ...]) -> dict[str, Any]:
    """Return the tags of a plan: the texts of its steps, and by number the numbers of those that they need."""
    numbers = {node.name: number for number, node in enumerate(plan, 1)}
    needs = {numbers[node.name]: tuple(numbers[need] for need in node.after) for node in plan if node.after}
    return {"plan": tuple(map(str, plan)), "plan_needs": needs}


def states(plan: tuple[Node, ...], results: Mapping[str, str]) -> dict[int, str]:
    """Return the state of each step that has a result, by its number in the plan."""
    states = {"FAILED": "failed", "SKIPPED": "skipped"}
    marks = {n: results[node.name].partition(":")[0] for n, node in enumerate(plan, 1) if node.name in results}
    return {number: states.get(mark, "done") for number, mark in marks.items()}


def report(plan: tuple[Node, ...], results: Mapping[str, str]) -> str:
    """Return a report of the steps that have a result."""
    shown = [node for node in plan if node.name in results]
    texts = shorten([results[node.name] for node in shown])
    lines = [f"Step {node.name} ({node.task}): {text}" for node, text in zip(shown, texts, strict=True)]
    return "\n".join(lines) or "(nothing)"
