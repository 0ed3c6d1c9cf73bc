"""CRITIC. Gou et al. 2023, "… Large Language Models Can Self-Correct with Tool-Interactive Critiquing", arXiv:2305.11738."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentkit.core.messages import Call, Chat, Message, assistant
from agentkit.core.steps import Act, Answer, Conclude, Engine, Loop, Think
from agentkit.engines.drafting import drafted
from agentkit.engines.parsing import answered, arguments, asked, catalogue, fields, fill, fitted, named, question, said

PROMPTS = {
    "critique": """\
Check an answer. Pick out what it claims and a tool can check, and write three lines for each claim:
CLAIM: what is claimed, in a few words
TOOL: the name of the tool that can check it
TOOL INPUT: the question for the tool, or its arguments as one JSON object
If nothing in it needs checking, write one line instead:
VERIFIED: all claims are correct

The tools:
{tools}

What was asked: {request}

The answer: {draft}""",
    "revise": """\
Claims of an answer were checked:
{checks}

What was asked: {request}

The answer: {draft}

Write the answer again: mend what the checks show to be wrong, and leave the rest as it is. Give the answer only.""",
}


def critic(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    actor: Loop | None = None,
    max_critique_rounds: int = 2,
    prompts: Mapping[str, str] | None = None,
) -> Engine:
    """Draft an answer (by `actor`, or in one reply), check its claims with tools side by side, and mend what was wrong."""
    say, chat = {**PROMPTS, **(prompts or {})}, Chat.of(task)
    draft = yield from drafted(chat, tools, actor)
    for number in range(1, max_critique_rounds + 1 if tools else 1):
        words = {"request": asked(chat), "draft": draft, "tools": catalogue(tools)}
        tags = {"round": number}
        critique = yield Think(
            Chat.of(fill(say["critique"], **words)), role="critique", tags=tags, choice="none", hears=False
        )
        claims = [block for block in fields(said(critique), ("Claim",), "Tool", "Tool Input") if "tool" in block]
        if not claims:
            break  # it says VERIFIED, or nothing that could be checked
        checks = yield Act(
            tuple(to_call(claim, n, tools) for n, claim in enumerate(claims, 1)), role="verify", tags=tags
        )
        words |= {"request": question(chat), "checks": report(claims, checks)}
        revised = yield Think(chat + fill(say["revise"], **words), role="revise", tags=tags, choice="none", hears=False)
        draft = answered(revised) or draft
    while more := (yield Conclude(draft)):  # something was injected: answer that first
        chat += (assistant(draft), more)
        draft = yield from drafted(chat, tools, actor)
    return Answer(draft, chat + assistant(draft))


def to_call(claim: dict[str, str], number: int, tools: tuple[Any, ...]) -> Call:
    """Make the call that checks a claim."""
    tool = named(claim["tool"], tools)
    given = arguments(tool, claim.get("tool input") or claim["claim"])
    return Call(tool.name if tool else claim["tool"], given, f"claim_{number}")


def report(claims: list[dict[str, str]], checks: tuple[Message, ...]) -> str:
    """Write what came of each check."""
    pairs = zip(claims, fitted([check.text for check in checks]), strict=True)
    return "\n\n".join(f'Claim: "{claim["claim"]}"\nTool result: {said}' for claim, said in pairs)
