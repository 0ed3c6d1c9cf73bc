"""Self-Ask. Press et al. 2022, "Measuring and Narrowing the Compositionality Gap in Language Models", arXiv:2210.03350."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from agentkit.core.messages import Call, Chat, Message, Reply, assistant, user
from agentkit.core.steps import Act, All, Answer, Conclude, Engine, Loop, Step, Think, nested
from agentkit.engines.parsing import (
    after,
    answered,
    arguments,
    catalogue,
    fields,
    fill,
    fitted,
    led,
    named,
    said,
    until,
)

FINAL = "So the final answer is"
UNANSWERED = "(the questions behind these were not looked up: no more are possible)"
PROMPTS = {
    "ask": """\
Answer by asking yourself the simpler questions that lie behind the one you were asked. When something must be found out
first, write it on a line of its own and stop there:
Follow up: one simple question
Its answer comes back to you as a line that begins with "Intermediate answer:". Questions that do not depend on each
other may be asked together, one per line. When you know enough, finish with a line of this form:
So the final answer is: the answer""",
    "tools": """

A follow-up question goes to the first of these tools. To use another one, write two lines instead:
Tool: its name
Tool Input: the question for it, or its arguments as one JSON object
{tools}""",
    "now": "No more follow-up questions are possible. Finish now with the line: So the final answer is:",
}


def self_ask(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    actor: Loop | None = None,
    max_follow_ups: int = 8,
    prompts: Mapping[str, str] | None = None,
) -> Engine:
    """Ask follow-up questions, answer each by a tool, by `actor`, or else by the model, until the final answer is known."""
    say = {**PROMPTS, **(prompts or {})}
    chat = led(Chat.of(task), say["ask"] + (fill(say["tools"], tools=catalogue(tools)) if tools else ""))
    left, interrupted = max_follow_ups, ""
    while True:
        reply = yield Think(chat)
        text = said(reply)
        if tools or actor or after(FINAL, text) is None:
            text = until("Intermediate answer", text)  # one that the model made up is not believed
        final = until("Follow up", after(FINAL, text) or "").strip()
        asked = [] if final else follow_ups(text)
        taken, left = asked[:left], max(0, left - len(asked))
        if taken:
            found = [text_of(result) for result in (yield look_up(taken, tools, actor))]
            found += [UNANSWERED] if len(asked) > len(taken) else []
            chat += (*reply.heard, assistant(text.strip()))
            chat += user("\n".join(f"Intermediate answer: {answer}" for answer in fitted(found)))
        elif asked and not interrupted:
            chat, interrupted = chat + say["now"], "max_follow_ups"
        else:
            answer = final or (unfinished(chat) if asked else answered(reply))
            chat += reply
            if not (more := (yield Conclude(answer))):
                return Answer(answer, chat, interrupted)
            chat += more  # something was injected: answer that first


def unfinished(chat: Chat) -> str:
    """Say what was found, for a model that goes on asking when no more questions are possible."""
    found = [m.text for pair in pairwise(chat) for m in pair if pair[1].text.startswith("Intermediate answer: ")]
    return "\n".join(["No final answer was reached. What was asked and found:", *found])


def look_up(asked: list[dict[str, str]], tools: tuple[Any, ...], actor: Loop | None) -> Step:
    """Make the step that answers several questions side by side."""
    if tools and actor is None:
        return Act(tuple(to_call(each, number, tools) for number, each in enumerate(asked, 1)), role="follow_up")
    questions = [each.get("follow up") or each.get("tool input", "") for each in asked]
    if actor is None:
        parts: list[Any] = [Think(Chat.of(question), role="follow_up", choice="none") for question in questions]
    else:
        parts = [nested(actor, question, tools=tools) for question in questions]
    return All(tuple(parts), role="follow_up")


def text_of(result: Message | Answer | Reply) -> str:
    """Give what a tool, an engine or the model answered."""
    return answered(result) if isinstance(result, Reply) else result.text


def follow_ups(text: str) -> list[dict[str, str]]:
    """Read the questions of a reply: `Follow up:` lines, and `Tool:` with `Tool Input:`."""
    blocks = fields(text, ("Follow up", "Tool"), "Tool Input")
    return [block for block in blocks if block.get("follow up") or block.get("tool input")]


def to_call(block: dict[str, str], number: int, tools: tuple[Any, ...]) -> Call:
    """Make the call that a question asks for: of the tool that it names, or else of the first."""
    wanted = block.get("tool", "")
    tool = named(wanted, tools) if wanted else tools[0]
    given = arguments(tool, block.get("follow up") or block.get("tool input", ""))
    return Call(tool.name if tool else wanted, given, f"follow_up_{number}")
