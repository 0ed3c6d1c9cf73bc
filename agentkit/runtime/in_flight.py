"""A step that is being performed."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from agentkit.core.messages import EMPTY, Chat
from agentkit.core.steps import Step
from agentkit.core.usage import Usage
from agentkit.hooks.calling import Ruling
from agentkit.hooks.hook import Hook
from agentkit.journal.entries import Entry
from agentkit.stepper.stepper import Pending

Outcome = tuple[bool, Any]
"""Whether the step succeeded, and its result or its exception."""


@dataclass(slots=True, eq=False)
class InFlight:
    """A step that is being performed, and the entry that it will become.

    `step` is the pending step with the injected messages that are sent with it. `seconds` is what is left of the time
    limits around it, and `in_budget` is true if the nearest of them is that of a budget. `limit` and `deadline` are
    those of the current call, in seconds and by the monotonic clock, and `future` is the future of the event loop that
    works on it, which `cancel()` cancels. `has_begun` is true as soon as a model or a tool was called, and `used` is
    what the model has reported so far, or what was counted when the call was lost. `raised` is the error of a tool, and
    `is_late` is true if the call took too long. `cancelled` is why it was cancelled, or "". If it is `given_up`, its
    result is not used any more. `is_logged` is true if its end is in the audit log.

    If there are hooks to ask `before` the step, only they are asked, about the step and the `task` of the run: the
    outcome is their ruling, and the step stays pending. The hooks `after` a step are asked about its result, and
    `ruling` is what they decide.

    If something surrounds the run, `context` is the context in which the step is performed and its end is recorded.
    """

    pending: Pending
    step: Step
    entry: Entry
    place: tuple[int, str, int]
    seconds: float | None = None
    in_budget: bool = False
    limit: float | None = None
    deadline: float = float("inf")
    future: Future[Any] | None = None
    outcome: Outcome | None = None
    has_begun: bool = False
    used: Usage | None = None
    raised: BaseException | None = None
    is_late: bool = False
    given_up: bool = False
    cancelled: str = ""
    before: tuple[Hook, ...] = ()
    after: tuple[Hook, ...] = ()
    task: Chat = EMPTY
    ruling: Ruling | None = None
    is_logged: bool = False
    context: contextvars.Context | None = None

    def cancel(self, why: str) -> None:
        """Cancel the call as far as possible."""
        self.cancelled = why
        if (future := self.future) is not None:
            future.cancel()

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function in the context of the step; a copy, because the thread of a late call is still in it."""
        return function(*args) if self.context is None else self.context.copy().run(function, *args)
