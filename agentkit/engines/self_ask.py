"""Self-Ask.

Press et al. 2022, "Measuring and Narrowing the Compositionality Gap in Language Models", arXiv:2210.03350.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

from annotated_types import Ge

from agentkit.core.messages import Call, Chat, Message, Reply, assistant, user
from agentkit.core.schema import KeysOf
from agentkit.core.steps import Act, All, Answer, Engine, Loop, Think, warned
from agentkit.engines.parsing import (
    answer_after,
    answer_of,
    before,
    call_of,
    fill,
    is_cut_off,
    labelled_blocks,
    list_tools,
    prompts_from,
    shorten,
    text_of,
    with_instructions,
)

FINAL = "So the final answer is"
NO_MARKER = "the reply has neither a follow-up question nor the final answer, so all of it is the answer"
NO_ANSWER = "the model kept asking after the limit, so what it found is the answer"
UNANSWERED = "(the other questions were not looked up: the limit has been reached)"
PROMPTS = {
    "ask": """\
Break the question down into simpler ones, and ask yourself these first. When you need to find something out, write a
line like this and stop there:
Follow up: one simple question
You will get its answer as a line that begins with "Intermediate answer:". You may ask several questions together, one
per line, if they do not depend on each other. When you know enough, finish with a line like this:
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
    """The content of a reply: the final answer, or the follow-up questions that come first; and the text itself."""

    text: str
    final: str
    questions: list[dict[str, str]]
    is_cut_off: bool


def self_ask(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    actor: Loop | None = None,
    max_follow_ups: Annotated[int, Ge(1)] = 8,
    prompts: Annotated[Mapping[str, str] | None, KeysOf(PROMPTS)] = None,
) -> Engine:
    """Ask follow-up questions, answer each with a tool, `actor` or the model, until the final answer is known."""
    prompt = prompts_from(PROMPTS, prompts)
    about_tools = fill(prompt["tools"], tools=list_tools(tools)) if tools else ""
    chat = with_instructions(Chat.of(task), prompt["ask"] + about_tools)
    left, interrupted = max_follow_ups, ""
    nested: list[Answer] = []
    while True:
        reply = yield Think(chat)
        reading = read(reply, can_look_up=bool(tools or actor))
        if reading.final or not reading.questions or interrupted:
            answer = reading.final or (unfinished(chat) if reading.questions else answer_of(reply))
            fallback = "" if reading.final else NO_ANSWER if reading.questions else NO_MARKER
            return Answer(answer, chat + reply, interrupted, warned(fallback, *nested))
        if not left:
            chat, interrupted = chat + prompt["now"], "max_follow_ups"
            continue
        questions = reading.questions[:left]
        left -= len(questions)
        results = yield look_up(questions, reading, tools, actor)
        nested += [result for result in results if isinstance(result, Answer)]
        answers = [result_text(result) for result in results]
        answers += [UNANSWERED] if len(questions) < len(reading.questions) else []
        chat += (*reply.heard, assistant(reading.text.strip()))
        chat += user("\n".join(f"Intermediate answer: {answer}" for answer in shorten(answers)))


def read(reply: Reply, *, can_look_up: bool) -> Reading:
    """Return the content of a reply. An intermediate answer that the model made up is ignored if it can look it up."""
    text = text_of(reply)
    if can_look_up or not answer_after(text, FINAL):
        text = before("Intermediate answer", text)
    final = before("Follow up", answer_after(text, FINAL)).strip()
    wanted = ("follow up", "tool input")
    questions = [] if final else labelled_blocks(text, ("Follow up", "Tool"), "Tool Input", wanted=wanted)
    return Reading(text, final, questions, is_cut_off(reply))


def look_up(questions: list[dict[str, str]], reading: Reading, tools: tuple[Any, ...], actor: Loop | None) -> All:
    """Return the step that answers several questions of a reply in parallel."""
    if tools and actor is None:
        cut = reading.questions[-1] if reading.is_cut_off else None
        calls = [to_call(question, n, tools, cut_off=question is cut) for n, question in enumerate(questions, 1)]
        return All(tuple(Act(call, "follow_up") for call in calls), role="follow_up")
    texts = [question.get("follow up") or question.get("tool input", "") for question in questions]
    if actor is None:
        return All(tuple(Think(Chat.of(text), role="follow_up", choice="none") for text in texts), role="follow_up")
    return All(tuple(actor.begin(text, tools=tools) for text in texts), role="follow_up")


def to_call(question: dict[str, str], number: int, tools: tuple[Any, ...], *, cut_off: bool = False) -> Call:
    """Return the call that answers a question: of the tool that it names, or of the first tool."""
    text = question.get("follow up") or question.get("tool input", "")
    return call_of(question.get("tool") or tools[0].name, text, tools, f"follow_up_{number}", cut_off=cut_off)


def result_text(result: Message | Answer | Reply) -> str:
    """Return the answer of a tool, an engine or the model."""
    return answer_of(result) if isinstance(result, Reply) else result.text


def unfinished(chat: Chat) -> str:
    """Return the questions and answers so far, for a model that keeps asking after the limit."""
    texts = [m.text for pair in pairwise(chat) for m in pair if pair[1].text.startswith("Intermediate answer: ")]
    return "\n".join(["No final answer was reached. These questions were asked and answered:", *texts])
