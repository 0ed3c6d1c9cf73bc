"""ReWOO. Xu et al. 2023, "ReWOO: Decoupling Reasoning from Observations …", arXiv:2305.18323."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Annotated, Any

from annotated_types import Ge

from agentkit.core.messages import Chat, assistant
from agentkit.core.schema import KeysOf
from agentkit.core.steps import Act, After, All, Answer, Engine, Part, Think, replace, warned
from agentkit.engines.parsing import (
    answer_of,
    call_of,
    fill,
    list_tools,
    prompts_from,
    question_of,
    shorten,
    text_of,
)

PROMPTS = {
    "plan": """\
Before you look anything up, plan how to find everything that is needed to answer this. Write two lines for each step:
Plan: what this step is for
#E1 = name[input]
The name is that of a tool below, or LLM, which answers a question by thinking. The input is a question, or the tool's
arguments as one JSON object; write #E1, #E2 … where the result of an earlier step should be inserted. Steps that do not
need each other run at the same time.

The tools:
{tools}""",
    "solve": """\
Answer the question from the evidence below. Write only the answer.

{evidence}

The question: {request}""",
}
NO_PLAN = "no plan could be read, so nothing was looked up"
NO_ANSWER = "the model gave no answer, so what was looked up is the answer"
_STEP = re.compile(
    r"(?:^[ \t>*\-`]*+(?:\d{1,3}[.)][ \t*`]*+)?+#?|#)E(\d{1,4})[ \t*`]*+=[ \t*`]*+([^\[\n(]{1,100}?)[ \t]*+([\[(])"
    r"|^[ \t>*\-`\d.)]*+Plan\b",
    re.M | re.I,
)
_NAMED = re.compile(r"\{\{?[ \t]*#?E(\d{1,4})[ \t]*\}\}?|#E(\d{1,4})(?!\d)")


@dataclass(slots=True)
class Step:
    """One step of the plan: the number of its result, the name of a tool, and the input."""

    number: str
    tool: str
    input: str

    @property
    def needs(self) -> set[str]:
        """The numbers of the results that the input refers to."""
        return {match[1] or match[2] for match in _NAMED.finditer(self.input)}

    def __str__(self) -> str:
        return f"#E{self.number} = {self.tool}[{self.input}]"


def rewoo(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    max_steps: Annotated[int, Ge(1)] = 10,
    prompts: Annotated[Mapping[str, str] | None, KeysOf(PROMPTS)] = None,
) -> Engine:
    """Plan all look-ups first, run each as soon as its inputs are available, and answer from their results."""
    prompt, chat = prompts_from(PROMPTS, prompts), Chat.of(task)
    planning = yield Think(chat + fill(prompt["plan"], tools=list_tools(tools)), role="plan", choice="none")
    plan = read_plan(text_of(planning))[:max_steps]
    results = (yield All(tuple(lanes(plan, tools)), role="work")) if plan else ()
    texts = [result if result is not None else missing(step, plan) for step, result in zip(plan, results, strict=True)]
    evidence = "\n".join(f"{step}\n{text}" for step, text in zip(plan, shorten(texts), strict=True))
    tags = {"plan": tuple(map(str, plan)), "plan_states": states(results)} if plan else warned(NO_PLAN)
    ask = chat + fill(prompt["solve"], evidence=evidence or text_of(planning), request=question_of(chat))
    solved = answer_of((yield Think(ask, role="solve", tags=tags, choice="none", answers=True)))
    answer = solved or evidence
    return Answer(answer, chat + assistant(answer), tags=warned("" if solved else NO_ANSWER))


def read_plan(text: str) -> list[Step]:
    """Return the steps of a plan; if several have the same number, the last one counts.

    A step may follow its purpose on the same line, as in the paper: `Plan: find the author. #E1 = search[Ulysses]`. One
    without a closing bracket was cut off, and is left out.
    """
    found = list(_STEP.finditer(text))
    steps = {}
    for match, following in zip_longest(found, found[1:]):
        rest = text[match.end() : following.start() if following else None]
        if match[1] and (argument := input_in(rest, match[3])) is not None:
            steps[match[1]] = Step(match[1], match[2].strip(), _NAMED.sub(r"#E\1\2", argument))
    return list(steps.values())


def input_in(text: str, opening: str) -> str | None:
    """Return the input at the beginning of a text, up to the closing bracket of its line, or else of its paragraph."""
    closing = {"[": "]", "(": ")"}[opening]
    for part in (text.partition("\n")[0], text.partition("\n\n")[0]):
        if closing in part:
            return part.rpartition(closing)[0]
    return None


def lanes(plan: list[Step], tools: tuple[Any, ...]) -> list[Any]:
    """Return one lane for each step; it starts when the results that it needs are available."""
    positions = {step.number: position for position, step in enumerate(plan)}
    possible = doable(plan)
    return [
        lane(plan, position, positions, tools) if step.number in possible else nothing()
        for position, step in enumerate(plan)
    ]


def lane(plan: list[Step], position: int, positions: dict[str, int], tools: tuple[Any, ...]) -> Any:
    """Return the lane of one step."""
    step = plan[position]
    needs = sorted(step.needs, key=positions.__getitem__)
    tags = {"plan": tuple(map(str, plan)), "plan_step": position + 1, "plan_states": {position + 1: "doing"}}

    def begin(*results: str | None) -> Part:
        return look_up(step, dict(zip(needs, results, strict=True)), tools, tags)

    return After(tuple(positions[need] for need in needs), begin) if needs else begin()


def doable(plan: list[Step]) -> set[str]:
    """Return the numbers of the steps that can be carried out: those that need only such steps."""
    possible: set[str] = set()
    while more := {step.number for step in plan if step.needs <= possible} - possible:
        possible |= more
    return possible


def nothing() -> After:
    """Return the lane of a step that cannot be carried out."""
    return After((), lambda: None)


def look_up(step: Step, results: Mapping[str, Any], tools: tuple[Any, ...], tags: dict[str, Any]) -> Part:
    """Carry out one step of the plan, with earlier results inserted, and return its result."""
    if step.tool.strip("*_` ").upper() == "LLM":
        ask = Chat.of(filled(step.input, results))
        return answer_of((yield Think(ask, role="work", tags=tags, choice="none")))
    call = call_of(step.tool, step.input, tools, f"E{step.number}")
    result = yield Act(replace(call, arguments=filled(call.arguments, results)), "work", tags)
    return result.text


def filled(value: Any, results: Mapping[str, Any]) -> Any:
    """Return a text, or JSON data with texts, with results in place of their names; other names are left alone."""
    if isinstance(value, dict):
        return {name: filled(inner, results) for name, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, results) for inner in value]
    if not isinstance(value, str):
        return value
    return _NAMED.sub(lambda match: results.get(match[1] or match[2], match[0]), value)


def missing(step: Step, plan: list[Step]) -> str:
    """Return a note that says which results a step needs but cannot get."""
    unavailable = step.needs - doable(plan)
    return f"(not done: it needs {', '.join('#E' + number for number in sorted(unavailable))})"


def states(results: tuple[Any, ...]) -> dict[int, str]:
    """Return the state of each step, by its number in the plan."""
    return {number: "skipped" if result is None else "done" for number, result in enumerate(results, 1)}
