"""Reflexion. Shinn et al. 2023, "Reflexion: Language Agents with Verbal Reinforcement Learning", arXiv:2303.11366."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Le

from agentkit.core.lessons import LessonStore
from agentkit.core.messages import Chat, assistant, system
from agentkit.core.schema import KeysOf
from agentkit.core.steps import Answer, Engine, Loop, Think, tagged, warned
from agentkit.engines.parsing import answer_of, fill, prompts_from, request_of, score_of, text_of, verdict_of
from agentkit.engines.react import react

PROMPTS = {
    "lessons": """\
You have tried this before. Keep these lessons in mind:
{lessons}""",
    "evaluate": """\
Judge this answer. Begin with one word on a line of its own: SATISFACTORY if the answer is right and complete, otherwise
UNSATISFACTORY. Then say why, in one or two sentences.

The request: {request}

The tool results:
{seen}

The answer: {answer}""",
    "score": """\
Judge this answer. Begin with a line like this, with a number from 0 (worthless) to 1 (right and complete):
Score: 0.0
Then say why, in one or two sentences.

The request: {request}

The tool results:
{seen}

The answer: {answer}""",
    "reflect": """\
An attempt at a task was not good enough. Say in one or two sentences what went wrong and what to do differently next
time, as advice for the next attempt. Begin with Reflection:

The request: {request}

The answer: {answer}

The judgement: {judgement}""",
}


UNREAD = "a judgement could not be read, so the answer counted as not good enough"


@dataclass(slots=True)
class Attempt:
    """An answer and its judgement: whether it is good enough, and its score, if there is one."""

    answer: str
    ok: bool
    score: float | None


def reflexion(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    actor: Loop = Loop(react),
    max_reflections: Annotated[int, Ge(1)] = 3,
    max_iterations: Annotated[int, Ge(1)] = 10,
    threshold: Annotated[float, Ge(0), Le(1)] | None = None,
    lessons: Sequence[str] | LessonStore = (),
    prompts: Annotated[Mapping[str, str] | None, KeysOf(PROMPTS)] = None,
) -> Engine:
    """Try, judge the answer, reflect on what went wrong, and try again with the reflection in mind."""
    prompt, chat = prompts_from(PROMPTS, prompts), Chat.of(task)
    learned = list(lessons.recall() if isinstance(lessons, LessonStore) else lessons)
    attempts: list[Attempt] = []
    for episode in range(1, max_reflections + 1):
        tags: dict[str, Any] = {"episode": episode}
        trial = yield from tagged(
            actor.begin(with_lessons(chat, learned, prompt), tools=tools, max_iterations=max_iterations), **tags
        )
        about = {"request": request_of(chat), "answer": trial.text, "seen": tool_results(trial.chat)}
        ask = Chat.of(fill(prompt["evaluate" if threshold is None else "score"], **about))
        judging = {**tags, "threshold": threshold}
        judgement = text_of((yield Think(ask, role="evaluate", tags=judging, choice="none", hears=False)))
        attempts.append(judged(trial.text, judgement, threshold))
        tags |= warned(unread(judgement, threshold), trial)
        if attempts[-1].ok or episode == max_reflections:
            break
        ask = Chat.of(fill(prompt["reflect"], **about, judgement=judgement))
        outcome = {**tags, "ok": False, "score": attempts[-1].score}
        lesson = answer_of((yield Think(ask, role="reflect", tags=outcome, choice="none", hears=False)))
        learned += [" ".join(lesson.split())] if lesson else []
    best = best_of(attempts)
    tags |= {"ok": attempts[-1].ok, "score": attempts[-1].score}
    return Answer(best, chat + assistant(best), "" if attempts[-1].ok else "max_reflections", tags)


def with_lessons(chat: Chat, lessons: list[str], prompt: Mapping[str, str]) -> Chat:
    """Return a chat that begins with the lessons."""
    if not lessons:
        return chat
    listed = "\n".join(f"- {lesson}" for lesson in lessons)
    return Chat.of([system(fill(prompt["lessons"], lessons=listed)), *chat])


def judged(answer: str, judgement: str, threshold: float | None) -> Attempt:
    """Return an attempt with its judgement: a verdict, or a score if there is a threshold."""
    if threshold is None:
        return Attempt(answer, verdict_of(judgement) is True, None)
    score = score_of(judgement, 1.0)
    return Attempt(answer, score is not None and score >= threshold, score)


def unread(judgement: str, threshold: float | None) -> str:
    """Return a warning that a judgement contains no verdict, or no score; "" if it does."""
    value = verdict_of(judgement) if threshold is None else score_of(judgement, 1.0)
    return UNREAD if value is None else ""


def best_of(attempts: list[Attempt]) -> str:
    """Return the answer that is good enough, or the one with the best score, or the last one."""
    scored = [attempt for attempt in attempts if attempt.score is not None]
    if attempts[-1].ok or not scored:
        return attempts[-1].answer
    return max(scored, key=lambda attempt: attempt.score or 0.0).answer


def tool_results(chat: Chat) -> str:
    """Return the tool results in a chat, shortened."""
    return "\n".join(f"{m.name}: {m.text[:500]}" for m in chat if m.role == "tool") or "(no tool was used)"
