"""Reflexion. Shinn et al. 2023, "Reflexion: Language Agents with Verbal Reinforcement Learning", arXiv:2303.11366."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentkit.core.messages import Chat, assistant, system
from agentkit.core.steps import Answer, Conclude, Engine, Loop, Think, nested, tagged
from agentkit.engines.parsing import answered, asked, fill, said, score, verdict
from agentkit.engines.react import react

PROMPTS = {
    "lessons": """\
This was tried before. What was learned from it, to be kept in mind this time:
{lessons}""",
    "evaluate": """\
Judge an answer. Begin with one word on a line of its own: SATISFACTORY if the answer is right and complete, otherwise
UNSATISFACTORY. Then say why, in one or two sentences.

What was asked: {request}

What the tools said on the way:
{seen}

The answer: {answer}""",
    "score": """\
Judge an answer. Begin with a line of this form, with a number from 0 (worthless) to 1 (right and complete):
Score: 0.0
Then say why, in one or two sentences.

What was asked: {request}

What the tools said on the way:
{seen}

The answer: {answer}""",
    "reflect": """\
An attempt at a task was not good enough. Say in one or two sentences what went wrong and what to do differently next
time, as advice to whoever tries again. Begin with Reflection:

What was asked: {request}

The answer that was given: {answer}

The judgement: {judgement}""",
}


def reflexion(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    actor: Loop = react,
    max_reflections: int = 3,
    max_iterations: int = 10,
    threshold: float | None = None,
    lessons: Sequence[str] = (),
    prompts: Mapping[str, str] | None = None,
) -> Engine:
    """Try, have the answer judged, note what went wrong, and try again with that in mind."""
    say, chat, known = {**PROMPTS, **(prompts or {})}, Chat.of(task), list(lessons)
    best: tuple[float, str] = (-1.0, "")
    for episode in range(1, max_reflections + 1):
        tags: dict[str, Any] = {"episode": episode}
        told = [system(fill(say["lessons"], lessons="\n".join(f"- {lesson}" for lesson in known)))] if known else []
        inner = nested(actor, Chat.of([*told, *chat]), tools=tools, max_iterations=max_iterations)
        attempt = yield from tagged(inner, **tags)
        words = {"request": asked(chat), "answer": attempt.text, "seen": seen(attempt.chat)}
        judge = say["evaluate" if threshold is None else "score"]
        about = {**tags, "threshold": threshold}
        judged = yield Think(Chat.of(fill(judge, **words)), role="evaluate", tags=about, choice="none", hears=False)
        value = score(said(judged), 1.0) if threshold is not None else None
        ok = verdict(said(judged)) is True if threshold is None else value is not None and value >= threshold
        best = max(best, (-1.0 if value is None else value, attempt.text), key=lambda one: one[0])
        tags |= {"ok": ok, "score": value}
        if ok or episode == max_reflections:
            break
        advice = Chat.of(fill(say["reflect"], **words, judgement=said(judged)))
        reflected = yield Think(advice, role="reflect", tags=tags, choice="none", hears=False)
        known += [" ".join(answered(reflected).split())] if answered(reflected) else []
    answer = attempt.text if ok or best[0] < 0 else best[1]
    while more := (yield Conclude(answer, tags=tags)):  # something was injected: answer that first
        chat += (assistant(answer), more)
        answer = (
            yield from tagged(nested(actor, chat, tools=tools, max_iterations=max_iterations), episode=episode)
        ).text
    return Answer(answer, chat + assistant(answer), "" if ok else "max_reflections")


def seen(chat: Chat) -> str:
    """List what the tools said in a chat, shortened."""
    return "\n".join(f"{m.name}: {m.text[:500]}" for m in chat if m.role == "tool") or "(no tool was used)"
