"""Steering: a queue of the program that uses agentkit, whose messages are sent to the model of a run on the way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

from agentkit.core.log import logger
from agentkit.core.text import error_line
from agentkit.errors import Ended
from agentkit.run.run import Run

_WHEN = ("started", "thought", "tool_result")
"""After these events a model call may follow."""


@runtime_checkable
class Steering(Protocol):
    """A queue of messages for the model."""

    def pop_all(self) -> Iterable[str]:
        """Remove all messages from the queue, and return them in their order."""


def follow(run: Run, queue: Steering) -> None:
    """Inject what is in a queue, at the start of a run and after each thought and each tool result."""

    def on_event(event: Any) -> None:
        if event.kind not in _WHEN:
            return
        try:
            for text in queue.pop_all():
                if text.strip():
                    run.inject(text)
        except Ended:
            logger.warning("a message for run %s came too late: it is over", run.id, extra={"run": run.id})
        except Exception as error:
            logger.warning("the steering queue of run %s failed: %s", run.id, error_line(error), extra={"run": run.id})

    run.on_event(on_event)
