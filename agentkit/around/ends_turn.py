"""End the run after a tool that hands over to somebody else."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around
from agentkit.core.steps import Act, Step
from agentkit.errors import Finish


def ends_turn(names: frozenset[str]) -> Around:
    """End the run with the tool's own words after one of these tools did its work."""

    @around(Act)
    def end_after(step: Act, memory: dict[str, Any]) -> Generator[Step, Any, Any]:
        messages = yield step
        for message in messages:
            if message.ok and message.name in names:
                raise Finish(message.text, "ends_turn")
        return messages

    return end_after
