"""What a run, or a part of it, has spent: read from its entries, each of them once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from agentkit.core.steps import Act, Think
from agentkit.core.text import call_text, one_line
from agentkit.core.usage import Usage
from agentkit.journal.entries import Entry
from agentkit.models.tokens import tokens, tokens_of_tools

if TYPE_CHECKING:
    from agentkit.stepper.stepper import Pending
    from agentkit.trace.history import History

OUTPUT = 4_000
"""Tokens that are reserved for a reply as long as no reply is known, where the settings say nothing."""

_STEPS, _TEXT = 20, 200


class Meter:
    """Count what the entries at a frame path, and below it, have spent. Money is in the unit of the model's prices.

    Time is that in which at least one step was under way; a run that is held spends none.
    """

    def __init__(self, path: str = "") -> None:
        self.path = path
        self.usage = Usage()
        self.largest = Usage()
        self.model_calls = self.tool_calls = self.iterations = 0
        self.seconds = 0.0
        self._last = 0
        self._until = 0.0

    def read(self, history: History, failed: Mapping[str, Usage]) -> dict[str, float]:
        """Take in the entries that have come since the last time; give all that was spent, by the name of the limit.

        `failed` is what calls have used that failed for good, by frame path.
        """
        for number in range(self._last + 1, history.latest + 1):
            entry = history.entries.get(number)
            if entry is not None and entry.run == history.run and not entry.replaces and self._within(entry.path):
                self._take(entry)
        self._last = max(self._last, history.latest)
        used = sum((usage for path, usage in list(failed.items()) if self._within(path)), self.usage)
        return {
            "max_tokens": used.total,
            "max_input_tokens": used.input,
            "max_output_tokens": used.output,
            "max_cost": used.cost,
            "max_seconds": self.seconds,
            "max_model_calls": self.model_calls,
            "max_tool_calls": self.tool_calls,
            "max_iterations": self.iterations,
        }

    def covers(self, pending: Pending) -> bool:
        """Say whether a step lies at this meter's path or below it."""
        return self._within(pending.path)

    def _within(self, path: str) -> bool:
        return path.startswith(self.path) and (
            len(path) == len(self.path) or not self.path or path[len(self.path)] in ".["
        )

    def _take(self, entry: Entry) -> None:
        if entry.usage is not None:
            self.usage += entry.usage
            self.largest = Usage(
                max(self.largest.input, entry.usage.input), max(self.largest.output, entry.usage.output)
            )
        if entry.kind == "think" and entry.author == "model":
            self.model_calls += 1
            self.iterations += entry.step is not None and entry.step.role == "thought"
        elif entry.kind == "act" and entry.author == "tool":
            self.tool_calls += 1
        elif entry.author not in ("model", "tool"):
            return
        self.seconds += max(0.0, entry.ended - max(entry.started, self._until))
        self._until = max(self._until, entry.ended)

    def expected(self, pending: Pending, settings: dict[str, Any]) -> dict[str, float]:
        """Estimate what a step that is under way will have spent, by the name of the limit."""
        step = pending.step
        if isinstance(step, Act):
            return {"max_tool_calls": 1}
        if not isinstance(step, Think):
            return {}
        asked = max(self.largest.input, sum(map(tokens, step.chat)) + tokens_of_tools(step.tools))
        told = self.largest.output or int(settings.get("max_tokens") or OUTPUT)
        price = self.usage.cost / self.usage.total if self.usage.total and self.usage.cost else float("inf")
        return {
            "max_tokens": asked + told,
            "max_input_tokens": asked,
            "max_output_tokens": told,
            "max_cost": (asked + told) * price,
            "max_model_calls": 1,
            "max_iterations": step.role == "thought",
        }


def done(entries: Iterable[Entry], meter: Meter) -> str:
    """Say in lines which tools were called and what they said, and what was thought last."""
    own = [entry for entry in entries if meter._within(entry.path)]
    acts = [entry for entry in own if entry.kind == "act"]
    told = [
        f"Step {number}: called {call_text(entry.step.calls[0])} → {one_line(entry.result[0].text, _TEXT)}"  # type: ignore[union-attr]
        for number, entry in enumerate(acts, 1)
    ]
    if len(told) > _STEPS:
        told = [f"({len(told) - _STEPS} earlier steps)", *told[-_STEPS:]]
    thoughts = [entry.result for entry in own if entry.kind == "think" and entry.result.text]
    if thoughts:
        told.append(f"The last thought: {thoughts[-1].text}")
    return "\n".join(told)
