"""Self-Ask. Press et al. 2022, "Measuring and Narrowing the Compositionality Gap in Language Models", arXiv:2210.03350."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

from annotated_types import Ge

from agentkit.core.messages import Call, Chat, Message, Reply, assistant, user
from agentkit.core.schema import KeysOf
from agentkit.core.steps import Act, All, Answer, Engine, Loop, Think
from agentkit.engines.parsing import (
    after,
    answer_of,
    arguments_for,
    before,
    fill,
    find_tool,
    labelled_blocks,
    list_tools,
    prompts_from,
    shorten,
    text_of,
    with_instructions,
)

FINAL = "So the final answer is"
UNANSWERED = "(the other questions were not looked up: no more are possible)"
PROMPTS = {
    "ask": """\
Answer by asking yourself the simpler questions that lie behind the one you were asked. When something must be found out
first, write it on a line of its own and stop there:
Follow up: one simple question
Its answer comes back to you as a line that begins with "Intermediate answer:". Questions that do not depend on each
other may be asked together, one per line. When you know enough, finish with a line like this:
So the final answer is: the answer""",
    "tools": """

A follow-up question goes to the first of these tools. To use another one, write two lines instead:
Tool: its name
Tool Input: the question for it, or its arguments as one JSON object
{tools}""",
    "now": "No more follow-up questions are possible. Finish now with the line: So the final answer is:",
}


@dataclass(slots=True)
class Reading:
    """What a reply of the model says: the final answer, or the follow-up questions that come first; and its own text."""

    text: str
    final: str
    questions: list[dict[str, str]]


def self_ask(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    actor: Loop | None = None,
    max_follow_ups: Annotated[int, Ge(1)] = 8,
    prompts: Annotated[Mapping[str, str] | None, KeysOf(PROMPTS)] = None,
) -> Engine:
    """Ask follow-up questions, answer each by a tool, by `actor`, or else by the model, until the final answer is known."""
    prompt = prompts_from(PROMPTS, prompts)
    about_tools = fill(prompt["tools"], tools=list_tools(tools)) if tools else ""
    chat = with_instructions(Chat.of(task), prompt["ask"] + about_tools)
    left, interrupted = max_follow_ups, ""
    while True:
        reply = yield Think(chat)
        reading = read(text_of(reply), can_look_up=bool(tools or actor))
        if reading.final or not reading.questions or interrupted:
            answer = reading.final or (unfinished(chat) if reading.questions else answer_of(reply))
            return Answer(answer, chat + reply, interrupted)
        if not left:
            chat, interrupted = chat + prompt["now"], "max_follow_ups"
            continue
        taken = reading.questions[:left]
        left -= len(taken)
        found = [result_text(result) for result in (yield look_up(taken, tools, actor))]
        found += [UNANSWERED] if len(taken) < len(reading.questions) else []
        chat += (*reply.heard, assistant(reading.text.strip()))
        chat += user("\n".join(f"Intermediate answer: {answer}" for answer in shorten(found)))


def read(text: str, *, can_look_up: bool) -> Reading:
    """Read a reply. An intermediate answer that the model has made up is not believed if it could be looked up."""
    if can_look_up or after(FINAL, text) is None:
        text = before("Intermediate answer", text)
    final = before("Follow up", after(FINAL, text) or "").strip()
    blocks = [] if final else labelled_blocks(text, ("Follow up", "Tool"), "Tool Input")
    return Reading(text, final, [block for block in blocks if block.get("follow up") or block.get("tool input")])


def look_up(questions: list[dict[str, str]], tools: tuple[Any, ...], actor: Loop | None) -> All:
    """Return the step that answers several questions side by side."""
    if tools and actor is None:
        calls = [to_call(question, number, tools) for number, question in enumerate(questions, 1)]
        return All(tuple(Act(call, "follow_up") for call in calls), role="follow_up")
    texts = [question.get("follow up") or question.get("tool input", "") for question in questions]
    if actor is None:
        return All(tuple(Think(Chat.of(text), role="follow_up", choice="none") for text in texts), role="follow_up")
    return All(tuple(actor.begin(text, tools=tools) for text in texts), role="follow_up")


def to_call(question: dict[str, str], number: int, tools: tuple[Any, ...]) -> Call:
    """Return the call that a question asks for: of the tool that it names, or else of the first one."""
    wanted = question.get("tool", "")
    tool = find_tool(wanted, tools) if wanted else tools[0]
    arguments = arguments_for(tool, question.get("follow up") or question.get("tool input", ""))
    return Call(tool.name if tool else wanted, arguments, f"follow_up_{number}")


def result_text(result: Message | Answer | Reply) -> str:
    """Return what a tool, an engine or the model answered."""
    return answer_of(result) if isinstance(result, Reply) else result.text


def unfinished(chat: Chat) -> str:
    """Return what was found, for a model that goes on asking when no more questions are possible."""
    found = [m.text for pair in pairwise(chat) for m in pair if pair[1].text.startswith("Intermediate answer: ")]
    return "\n".join(["No final answer was reached. This is what was asked and found:", *found])
