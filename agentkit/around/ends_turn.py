"""End the run after a tool that hands over to somebody else."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around, calls_of, perform, result_of
from agentkit.core.steps import Act, All, Step
from agentkit.errors import Finish


def ends_turn(names: frozenset[str]) -> Around:
    """Return an around that ends the run after one of these tools succeeds; the tool's result is the answer."""

    @around(Act, does="ends the run after a handover")
    def end_after(step: Act | All, memory: dict[str, Any]) -> Generator[Step, Any, Any]:
        messages = yield from perform(step, calls_of(step))
        for message in messages:
            if message.ok and message.name in names:
                raise Finish(message.text, "ends_turn")
        return result_of(step, messages)

    return end_after
