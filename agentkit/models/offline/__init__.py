"""A model without a model: rules that read the request, call tools, and say what they cannot do."""

from __future__ import annotations

import json
from typing import Any

from agentkit.core.messages import Call, Reply
from agentkit.models.base import Abilities, Request
from agentkit.models.offline.jobs import able
from agentkit.models.offline.plans import Unclear
from agentkit.models.offline.questions import questions, understand
from agentkit.models.offline.wire import Talk, read
from agentkit.models.offline.work import CallNeeded, Cannot, Desk, one_line, work

WHO = "This is the offline model: a few rules, no language model."
HOW = "For anything else name a real model: Agent(model=…), or the environment variable AGENTKIT_MODEL."
INTRODUCTIONS = ("help", "who are you", "what are you", "what can you do", "what do you do", "hello", "hi", "hey")


class Offline:
    """A rule-based stand-in for a model: it follows the protocol for arithmetic, units, dates and look-ups by tools.

    It reads the messages and tool schemas of the request and nothing else, keeps nothing between requests, works nothing
    out itself, and refuses rather than guesses.
    """

    name = "offline"
    abilities = Abilities()

    def __call__(self, request: Request) -> Reply:
        """Reply in the protocol that the request asks for."""
        return respond(read(request.messages, request.tools), may_call=request.choice != "none")

    def __repr__(self) -> str:
        return "Offline()"


def respond(talk: Talk, *, may_call: bool = True) -> Reply:
    """Call the next tool that is needed, or answer."""
    desk, answers = Desk(talk.tools, talk.exchanges), []
    for question, is_aside in _asked(talk):
        try:
            answers.append(_answer(question, is_aside, desk))
        except CallNeeded as needed:
            if may_call and not talk.forced:
                return _act(talk, needed, len(desk.findings))
            answers.append(
                f"I was asked to answer before {_quoted(question)} was done: the next step was to {needed.job}."
            )
            answers += [_sentence(desk.findings, start=True)] if desk.findings else []
    return _conclude(talk, "\n".join(answers))


def _asked(talk: Talk) -> list[tuple[str, bool]]:
    """Every question there is to answer, and whether it was injected."""
    own = [(each, False) for each in questions(talk.task)]
    return own + [(each, True) for aside in talk.asides for each in questions(aside)]


def _answer(question: str, is_aside: bool, desk: Desk) -> str:
    """Answer one question; raises `CallNeeded` while an observation is missing."""
    before = len(desk.findings)
    try:
        plan = understand(question)
        if plan is None:
            return _refusal(question, is_aside, desk)
        value = work(plan, desk)
    except Unclear as reason:
        return f"I do not answer {_quoted(question)}: {reason}. {_offer(desk)}"
    except Cannot as reason:
        found = f"{_sentence(desk.findings[before:])}. " if desk.findings[before:] else ""
        return f"I cannot {_verb(is_aside)} {_quoted(question)}: {reason}. {found}{_offer(desk)}"
    return _sentence(desk.findings[before:]) or f"{_quoted(question)}: {value.text}, as said above."


def _refusal(question: str, is_aside: bool, desk: Desk) -> str:
    if question.lower().strip(" ?!.") in INTRODUCTIONS:
        return _offer(desk)
    if not question:
        return f"Nothing was asked. {_offer(desk)}"
    return f"I cannot {_verb(is_aside)} {_quoted(question)}. {_offer(desk)}"


def _verb(is_aside: bool) -> str:
    return "follow" if is_aside else "answer"


def _offer(desk: Desk) -> str:
    """Say what this model is, what it can do with these tools, and where to get more."""
    can = [each for each in able(desk.tools) if each]
    offer = f"With the tools offered it can {', '.join(can)}." if can else "No tool was offered that it could use."
    return f"{WHO} {offer} {HOW}"


def _quoted(text: str) -> str:
    return f"“{one_line(text)}”"


def _sentence(findings: list[str], *, start: bool = False) -> str:
    """String findings together."""
    text = "; ".join(findings)
    text = text[:1].upper() + text[1:] if text.startswith(("the ", "today")) else text
    return f"So far: {text}" if start and text else text


def _act(talk: Talk, needed: CallNeeded, found: int) -> Reply:
    """Ask for a call, in the words of the protocol."""
    who = "" if talk.exchanges else f"{WHO} "
    thought = (
        f"{who}{'Next I have' if found else 'I have'} to {needed.job}; by its schema the tool {needed.tool} does that."
    )
    if talk.protocol == "text":
        return Reply(f"Thought: {thought}\nAction: {needed.tool}\nAction Input: {_json(needed.arguments)}")
    if talk.protocol == "json":
        action = {"type": "tool_call", "reasoning": thought, "tool_name": needed.tool, "tool_args": needed.arguments}
        return Reply(_json(action))
    return Reply(thought, calls=(Call(needed.tool, needed.arguments),), finish="tool_calls")


def _conclude(talk: Talk, answer: str) -> Reply:
    """Give the final answer, in the words of the protocol."""
    thought = "I have what the tools say about it." if talk.exchanges else f"{WHO} No tool is needed, or none helps."
    if talk.protocol == "text":
        return Reply(f"Thought: {thought}\nFINAL_ANSWER: {answer}")
    if talk.protocol == "json":
        return Reply(_json({"type": "final_answer", "reasoning": thought, "answer": answer}))
    return Reply(answer, finish="stop")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
