"""What model calls use: tokens, money and calls."""

from __future__ import annotations

from dataclasses import dataclass

from agentkit.core.display import Displayed


@dataclass(slots=True)
class Usage(Displayed):
    """Tokens, money and calls; `+` adds them up.

    `cached` is the part of `input` that the provider read from its cache, `reasoning` the part of `output` that is
    reasoning.
    """

    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0
    cost: float = 0.0
    calls: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cached + other.cached,
            self.reasoning + other.reasoning,
            self.cost + other.cost,
            self.calls + other.calls,
        )

    @property
    def total(self) -> int:
        """Input and output tokens together."""
        return self.input + self.output
