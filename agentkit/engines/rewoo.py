"""ReWOO. Xu et al. 2023, "ReWOO: Decoupling Reasoning from Observations …", arXiv:2305.18323."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentkit.core.messages import Call, Chat, assistant
from agentkit.core.steps import Act, All, Answer, Conclude, Engine, Part, Think
from agentkit.engines.parsing import answered, arguments, catalogue, fill, fitted, named, question, said

PROMPTS = {
    "plan": """\
Plan how to find out what is needed to answer this, before anything is looked up. Write two lines for each step:
Plan: what this step is for
#E1 = name[input]
The name is that of a tool below, or LLM, which answers a question by thinking. The input is a question, or the tool's
arguments as one JSON object; it may hold #E1, #E2 … where the result of an earlier step shall stand. The steps that
need no other step are done at the same time.

The tools:
{tools}""",
    "solve": """\
Answer the question with what was found. Give the answer only.

{evidence}

The question: {request}""",
}
_STEP = re.compile(
    r"^[ \t>*\-`]*+(?:\d{1,3}[.)][ \t*`]*+)?+#?E(\d{1,4})[ \t*`]*+=[ \t*`]*+([^\[\n(]{1,100}?)[ \t]*+[\[(](.*)[\])][ \t`*]*$",
    re.M,
)
_NAMED = re.compile(r"\{\{?[ \t]*#?E(\d{1,4})[ \t]*\}\}?|#E(\d{1,4})(?!\d)")


def rewoo(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    max_steps: int = 10,
    prompts: Mapping[str, str] | None = None,
) -> Engine:
    """Plan all look-ups at once, do those side by side that need no other, and answer from what they found."""
    say, chat = {**PROMPTS, **(prompts or {})}, Chat.of(task)
    made = yield Think(chat + fill(say["plan"], tools=catalogue(tools)), role="plan", choice="none")
    steps = {number: (name.strip(), given) for number, name, given in _STEP.findall(said(made))[:max_steps]}
    texts = tuple(f"#E{number} = {name}[{given}]" for number, (name, given) in steps.items())
    found: dict[str, str] = {}
    while ready := [n for n, (_, given) in steps.items() if n not in found and needed(given) <= found.keys()]:
        tags = {"plan": texts, "plan_states": states(steps, found, ready)}
        results = yield All(tuple(look_up(n, *steps[n], found, tools, tags) for n in ready), role="work")
        found |= dict(zip(ready, results, strict=True))
    said_of = fitted([found.get(number) or lacking(given, found) for number, (_, given) in steps.items()])
    evidence = "\n".join(f"{text}\n{result}" for text, result in zip(texts, said_of, strict=True))
    words = {"evidence": evidence or said(made), "request": question(chat)}
    tags = {"plan": texts, "plan_states": states(steps, found, [])}
    answer = (
        answered((yield Think(chat + fill(say["solve"], **words), role="solve", tags=tags, choice="none"))) or evidence
    )
    while more := (yield Conclude(answer)):  # something was injected: answer that first
        chat += (assistant(answer), more)
        answer = answered((yield Think(chat, role="answer", choice="none")))
    return Answer(answer, chat + assistant(answer))


def look_up(
    number: str, name: str, given: str, found: dict[str, str], tools: tuple[Any, ...], tags: dict[str, Any]
) -> Part:
    """Do one step of the plan, with the results of earlier ones put in; give its result."""
    tags = {**tags, "plan_step": tags["plan"].index(f"#E{number} = {name}[{given}]") + 1}
    if name.strip("*_` ").upper() == "LLM":
        return answered((yield Think(Chat.of(filled(given, found)), role="work", tags=tags, choice="none")))
    tool = named(name, tools)
    call = Call(tool.name if tool else name, filled(arguments(tool, given), found), f"E{number}")
    return (yield Act((call,), "work", tags))[0].text


def needed(given: str) -> set[str]:
    """Name the steps whose results an input asks for."""
    return {match[1] or match[2] for match in _NAMED.finditer(given)}


def filled(value: Any, found: dict[str, str]) -> Any:
    """Put results where a text names them, also in the texts of a JSON object; what names no result stays as it is."""
    if isinstance(value, dict):
        return {name: filled(inner, found) for name, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, found) for inner in value]
    return (
        _NAMED.sub(lambda match: found.get(match[1] or match[2], match[0]), value) if isinstance(value, str) else value
    )


def lacking(given: str, found: dict[str, str]) -> str:
    """Say what a step waited for in vain."""
    return f"(not done: it needs {', '.join('#E' + number for number in sorted(needed(given) - found.keys()))})"


def states(steps: dict[str, Any], found: dict[str, str], ready: list[str]) -> dict[int, str]:
    """Say how each step stands, by its place in the plan."""
    left = "todo" if ready else "skipped"
    return {at: "done" if n in found else "doing" if n in ready else left for at, n in enumerate(steps, 1)}
