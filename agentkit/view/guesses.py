"""What people have guessed in views before a step, and what really happened; `agentkit.classroom.scores` counts it."""

from __future__ import annotations

from typing import Any, NamedTuple

from agentkit.core.secrets import mask
from agentkit.core.text import one_line, same_text
from agentkit.errors import UsageError
from agentkit.journal.entries import Entry
from agentkit.view.feed import Feed
from agentkit.view.queries import find_entry

ANSWER = "no tool: it answers"
"""The guess that a thought calls no tool, as the view writes it."""

_WIDTH = 500


class Guess(NamedTuple):
    """A guess about a step, and what really happened; `right` is None if only a reader can judge it."""

    question: str
    guess: str
    actual: str
    right: bool | None


made: dict[str, Guess] = {}
"""The first guess at each question in this kernel."""


def judge(feed: Feed, *, entry: int, guess: str) -> dict[str, Any]:
    """Note a guess that was made before a step, and return it with what really happened."""
    text = one_line(guess, _WIDTH)
    if not text:
        raise UsageError("a guess can't be empty: write what you expect")
    step = find_entry(feed, entry)
    actual, right = _outcome(step, text)
    actual = mask(one_line(actual, _WIDTH))
    number = next((n for n, other in enumerate(feed.run.entries) if other is step), step.turn)
    task = feed.run.task["task"][-1]["text"]
    asked = "is the next action" if step.kind == "think" else "comes back"
    question = f"{one_line(task, 60)} Step {number}: what {asked}?"
    judged = Guess(question, text, actual, right)
    made.setdefault(question, judged)
    return judged._asdict()


def _outcome(step: Entry, guess: str) -> tuple[str, bool | None]:
    if step.kind == "think":
        names = [call.name for call in step.result.calls] or [ANSWER]
        return ", ".join(names), guess in names
    if step.kind == "act":
        return step.result.text, same_text(guess, step.result.text) or None
    raise UsageError("only a thought or an observation can be guessed")
