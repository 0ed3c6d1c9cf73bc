"""What a run came to, and the receipt of a message that was injected into it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentkit.agent import answers
from agentkit.core.secrets import mask
from agentkit.core.text import error_line
from agentkit.core.usage import Usage
from agentkit.journal.entries import Entry
from agentkit.run import show

if TYPE_CHECKING:
    from agentkit.run.run import Run


@dataclass(slots=True, eq=False)
class Result:
    """What a run came to: the answer, or why there is none.

    `interrupted` says whether it ended before the engine was through, and `reason` why ("max_turns", "timeout",
    "stopped" …). `pending` are the injected messages that no model has seen. `output` is the validated object, where the
    run was started with `output=`.
    """

    answer: str
    error: BaseException | None
    interrupted: bool
    reason: str
    usage: Usage
    run: Run = field(repr=False)
    step_count: int = 0
    tool_calls_count: int = 0
    pending_injections: tuple[str, ...] = ()
    output: Any = None

    def __str__(self) -> str:
        return self.answer if self.answer or not self.error else f"(no answer: {mask(error_line(self.error))})"

    __repr__ = show.result

    if not TYPE_CHECKING:  # a type checker shall go on finding what is misspelled

        def __getattr__(self, name: str) -> Any:
            known = name != "run" and not name.startswith("_") and hasattr(type(self.run), name)
            hint = f"; its run has: result.run.{name}" if known else ""
            raise AttributeError(f"a Result has no {name!r}{hint}", name=name, obj=self)


@dataclass(slots=True)
class Receipt:
    """The receipt of an injected message: `seen` becomes true when a model call has carried it."""

    id: str = field(repr=False)
    text: str
    _run: Run = field(repr=False)

    @property
    def seen(self) -> bool:
        """Whether a model has seen the message on the run's present line."""
        return self.id in self._run.desk.history.injections.heard

    def recall(self) -> None:
        """Take the message back. Raises `UsageError` when a model has seen it already."""
        self._run.control.do(lambda: self._run.desk.history.recall(self.id, time.time()))


class Branches(list[list[Entry]]):
    """The lines of a tree, the present one first; each is a list of entries."""

    __repr__ = show.branches


def result_of(run: Run) -> Result:
    """Say how a run stands now."""
    desk = run.control.settled
    answer = desk.history.stepper.answer
    reason = (
        answer.interrupted
        if answer
        else run.interrupted or desk.hold or (error_line(desk.error) if desk.error else "paused")
    )
    unheard = tuple(note.data["text"] for note in desk.history.unheard())
    text = answer.text if answer else ""
    output, misfit = answers.result(run.task, text) if answer else (None, None)
    error = misfit if answer and not desk.history.behind.waiting else desk.error
    return Result(text, error, bool(reason), reason, desk.usage, run, desk.steps, desk.tool_calls, unheard, output)
