"""What a dialect found in the text of a model, and how that completes the reply."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from agentkit.core import finish_reasons
from agentkit.core.messages import Call, Reply

INVENTED = "an observation was made up; it and what followed it were cut"


class Reading(NamedTuple):
    """What a text contains: calls to perform, or an answer, or neither if it follows no rule of its dialect."""

    thought: str = ""
    calls: tuple[Call, ...] = ()
    answer: str | None = None
    problems: tuple[str, ...] = ()

    @property
    def readable(self) -> bool:
        """Whether there is anything to perform or to answer."""
        return bool(self.calls) or self.answer is not None


def completed(reply: Reply, dialect: str, raw: str, thought: str, reading: Reading, cut: str = "") -> Reply:
    """Return a reply with what was read in its text `raw`.

    `thought` is what was taken out of thinking tags, `cut` what followed an invented observation. If the text is not
    readable, it becomes the answer as it is, and belongs to no dialect.
    """
    problems = (INVENTED, *reading.problems) if cut else reading.problems
    if reading.calls:
        problems += finish_reasons.problems(reply.finish)
    reasoning = "\n".join(part for part in (reply.reasoning, thought) if part)
    more: dict[str, Any] = {"raw": raw, "dialect": dialect, "cut": cut, "readable": True}
    if reading.calls:
        more |= {"text": reading.thought, "calls": reading.calls, "answer": None}
    elif reading.answer is not None:
        reasoning = "\n".join(part for part in (reasoning, reading.thought) if part)
        more |= {"text": reading.answer, "calls": (), "answer": reading.answer}
    else:
        text = raw.strip()
        more |= {"text": text, "calls": (), "answer": text, "readable": not text, "dialect": "" if text else dialect}
    return replace(reply, reasoning=reasoning, problems=reply.problems + problems, **more)


def completed_without_calls(reply: Reply, dialect: str, raw: str, thought: str, reading: Reading) -> Reply:
    """Return a reply that calls no tool: its answer is the one that was read in it, else the whole text."""
    if reading.answer is None:
        reading = Reading("", (), raw.strip(), finish_reasons.problems(reply.finish))
    return completed(reply, dialect, raw, thought, reading)
