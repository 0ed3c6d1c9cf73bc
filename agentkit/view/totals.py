"""The totals of one branch: they grow and shrink with it, and are not added up again at every step."""

from __future__ import annotations

from typing import Any

from agentkit.core.usage import Usage
from agentkit.journal.entries import Entry


class Totals:
    """The model calls, the tool calls and the usage of the first entries of a branch, for each number of them."""

    def __init__(self) -> None:
        self._sums: list[tuple[int, int, Usage]] = [(0, 0, Usage())]

    def add(self, entry: Entry) -> None:
        """Count one more entry; only what a model or a tool was asked for counts."""
        models, tools, usage = self._sums[-1]
        models += entry.kind == "think" and entry.author == "model"
        tools += entry.kind == "act" and entry.author == "tool"
        self._sums.append((models, tools, usage if entry.usage is None else usage + entry.usage))

    def cut(self, length: int) -> None:
        """Forget all entries but the first ones."""
        del self._sums[length + 1 :]

    def data(self) -> dict[str, Any]:
        """Return the totals of the whole branch."""
        models, tools, usage = self._sums[-1]
        return {
            "model_calls": models,
            "tool_calls": tools,
            "usage": {name: getattr(usage, name) for name in Usage.__slots__},
        }
