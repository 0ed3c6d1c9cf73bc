"""CRITIC.

Gou et al. 2023, "… Large Language Models Can Self-Correct with Tool-Interactive Critiquing", arXiv:2305.11738.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from annotated_types import Ge

from agentkit.core.messages import Call, Chat, Message, assistant
from agentkit.core.schema import KeysOf
from agentkit.core.steps import Act, All, Answer, Engine, Loop, Think, warned
from agentkit.engines.drafting import draft
from agentkit.engines.parsing import (
    after,
    answer_of,
    call_of,
    fill,
    is_cut_off,
    labelled_blocks,
    list_tools,
    prompts_from,
    question_of,
    request_of,
    shorten,
    text_of,
)

PROMPTS = {
    "critique": """\
Check this answer. Find the claims in it that a tool can check, and write three lines for each of them:
CLAIM: what is claimed, in a few words
TOOL: the name of the tool that can check it
TOOL INPUT: the question for the tool, or its arguments as one JSON object
If nothing in it needs to be checked, write one line instead:
VERIFIED: all claims are correct

The tools:
{tools}

The request: {request}

The answer: {draft}""",
    "revise": """\
The claims of an answer were checked:
{checks}

The request: {request}

The answer: {draft}

Rewrite the answer: correct what the checks show to be wrong, and leave the rest as it is. Write only the answer.""",
}


UNREAD = "the claims in a critique could not be read, so the draft was not checked again"
NO_REVISION = "a revision was empty, so the draft before it was kept"
_NUMBER = re.compile(r"^[ \t*_]*\d{1,3}[.):][ \t*_]+(?!(?:claim|tool)\b)", re.I | re.M)


def critic(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    actor: Loop | None = None,
    max_critique_rounds: Annotated[int, Ge(1)] = 2,
    prompts: Annotated[Mapping[str, str] | None, KeysOf(PROMPTS)] = None,
) -> Engine:
    """Draft an answer (by `actor`, or in one reply), check its claims with tools in parallel, and correct errors."""
    prompt, chat = prompts_from(PROMPTS, prompts), Chat.of(task)
    first = yield from draft(chat, tools, actor)
    text, problem = first.text, ""
    for number in range(1, max_critique_rounds + 1 if tools else 1):
        tags = {"round": number}
        ask = Chat.of(fill(prompt["critique"], request=request_of(chat), draft=text, tools=list_tools(tools)))
        critique = yield Think(ask, role="critique", tags=tags, choice="none", hears=False)
        claims = claims_in(text_of(critique))
        if not claims:
            problem = problem if is_verified(text_of(critique)) else UNREAD
            break
        cut = claims[-1] if is_cut_off(critique) else None
        calls = [to_call(claim, n, tools, cut_off=claim is cut) for n, claim in enumerate(claims, 1)]
        checks = yield All(tuple(Act(call, "verify", tags) for call in calls), "verify", tags)
        ask = chat + fill(prompt["revise"], request=question_of(chat), draft=text, checks=report(claims, checks))
        revised = answer_of((yield Think(ask, role="revise", tags=tags, choice="none", hears=False, answers=True)))
        text, problem = revised or text, problem if revised else NO_REVISION
    return Answer(text, chat + assistant(text), tags=warned(problem, first))


def is_verified(critique: str) -> bool:
    """Return whether a critique says that there is nothing to check."""
    return after("VERIFIED", critique) is not None or critique.strip(" \t\n*_`\"'").startswith("VERIFIED")


def claims_in(critique: str) -> list[dict[str, str]]:
    """Return the claims in a critique that name a tool; the items of a numbered list are claims, too."""
    for text in (critique, _NUMBER.sub("CLAIM: ", critique)):
        if claims := labelled_blocks(text, ("Claim",), "Tool", "Tool Input", wanted=("tool",)):
            return [{"claim": "", **claim} for claim in claims]
    return []


def to_call(claim: dict[str, str], number: int, tools: tuple[Any, ...], *, cut_off: bool = False) -> Call:
    """Return the call that checks a claim."""
    text = claim.get("tool input") or claim["claim"]
    return call_of(claim["tool"], text, tools, f"claim_{number}", cut_off=cut_off)


def report(claims: list[dict[str, str]], checks: tuple[Message, ...]) -> str:
    """Return a report of the claims and the results of their checks."""
    results = shorten([check.text for check in checks])
    return "\n\n".join(
        f'Claim: "{claim["claim"]}"\nTool result: {result}' for claim, result in zip(claims, results, strict=True)
    )
