"""What model calls use: tokens, money and calls."""

from __future__ import annotations

from dataclasses import dataclass, fields

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


@dataclass(slots=True)
class Lost(Usage):
    """What calls have used that have no result: model calls that failed, and calls of any kind that were abandoned.

    The tokens are those that the provider had reported; for an abandoned call of which it had reported nothing, `input`
    is an estimate. `seconds` is the time that they took, `tool_calls` how many were calls of tools.
    """

    tool_calls: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Lost:
        more = other if isinstance(other, Lost) else Lost()
        used = Usage.__add__(self, other)
        return Lost(
            *(used.input, used.output, used.cached, used.reasoning, used.cost, used.calls),
            self.tool_calls + more.tool_calls,
            self.seconds + more.seconds,
        )

    def __sub__(self, other: Lost) -> Lost:
        """Return what was used after an earlier moment."""
        return Lost(*(getattr(self, each.name) - getattr(other, each.name) for each in fields(Lost)))
