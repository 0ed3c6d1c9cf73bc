"""Asking a model again what it was asked in a recorded thought: the question, and the replies that are recorded."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from agentkit.core.messages import canonical, digest
from agentkit.core.steps import Think
from agentkit.errors import UsageError
from agentkit.journal.entries import Entry
from agentkit.models.base import name_of
from agentkit.models.dialects.base import Dialect
from agentkit.models.dialects.without_stop import WithoutStop
from agentkit.runtime.performer import Performer
from agentkit.trace.line import Tree


@dataclass(slots=True)
class Question:
    """What a model was asked in a recorded thought.

    `model` is the name of the model that would be asked now, `temperature` the one that the run sets for it, and
    `digest` stands for the model and the request. `dialect` replaces that of the run; None leaves it as it is.
    """

    thought: Entry
    model: str
    digest: str
    dialect: Dialect | None = None
    temperature: float | None = None

    def is_at(self, entry: Entry, tree: Tree) -> bool:
        """Return whether an entry is at the same position of the tree as the thought."""
        thought = self.thought
        place = tree.slot(thought.parent), thought.path, thought.index
        return (tree.slot(entry.parent), entry.path, entry.index) == place


@dataclass(slots=True)
class Asking:
    """A question that is being asked at the moment: `calls` more times, unless it is stopped.

    `cancel` cancels the call that is being made.
    """

    question: Question
    calls: int
    is_stopped: bool = False
    cancel: Callable[[], Any] = field(default=str, repr=False)

    def stop(self) -> None:
        """Stop: no further call is made, and the one that is being made is cancelled if possible."""
        self.is_stopped = True
        self.cancel()


def question(performer: Performer, thought: Entry) -> Question:
    """Return what a model was asked in a thought."""
    return _question(performer, thought, None)


def question_without_stop(performer: Performer, thought: Entry) -> Question:
    """Return what a model was asked in a thought, but without the stop sequences.

    Raises `UsageError` if there are none.
    """
    step = thought.step
    assert isinstance(step, Think)
    dialect = performer.dialect_for(performer.model_for(step), step.shape)
    if not (dialect.stop and step.tools):
        why = f"the {dialect.name} dialect has none" if step.tools else "a request without tools has none"
        raise UsageError(
            f"this thought was asked without a stop sequence, so there is none to leave out ({why}); to see what a "
            "model invents, offer it tools in the text dialect: run.fork(0, dialect='text')"
        )
    return _question(performer, thought, WithoutStop(dialect))


def _question(performer: Performer, thought: Entry, dialect: Dialect | None) -> Question:
    step = thought.performed or thought.step
    assert isinstance(step, Think)
    asking = copy(performer)
    asking.dialect = dialect or performer.dialect
    asked = performer.model_for(step)
    model, temperature = name_of(asked), performer.temperature_for(asked)
    request = asking.sent(step, thought.path)
    return Question(thought, model, digest(canonical([model, request])), dialect, temperature)


def recorded_replies(question: Question, tree: Tree) -> list[Entry]:
    """Return the replies to a question that are recorded in a tree, oldest first."""
    forks = tree.asked.get(question.digest)
    if not forks:
        return []
    entries = list(tree.entries.values())  # another thread may be asking
    found = [entry for entry in entries if entry.run in forks and is_reply(entry) and question.is_at(entry, tree)]
    return sorted(found, key=lambda entry: entry.id)


def is_reply(entry: Entry) -> bool:
    """Return whether a model wrote an entry."""
    return entry.kind == "think" and entry.author == "model" and not entry.original
