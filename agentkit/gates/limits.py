"""Budgets: limits on what a run, or a part of it, may spend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentkit.errors import Unknown

NAMES = {
    "max_tokens": ("tokens", "token"),
    "max_input_tokens": ("input tokens", "input token"),
    "max_output_tokens": ("output tokens", "output token"),
    "max_cost": ("cost", "cost"),
    "max_seconds": ("time", "time"),
    "max_model_calls": ("model calls", "model call"),
    "max_tool_calls": ("tool calls", "tool call"),
    "max_iterations": ("iterations", "iteration"),
}
"""The limits, and what they are called in a sentence."""


@dataclass(slots=True)
class Budget:
    """What a run may spend; None means no limit. Tokens and money are as reported by the models; time is in seconds.

    A call that is still running when the time is used up is abandoned, unless a person steps by hand.

    When the fraction `warn_at` of a limit is reached, there is an event. At the limit, the run waits for a person if
    `ask` is true, or if it is None and this is a notebook: `approve()` then allows as much again, and `reject()` ends
    the run. Otherwise the run ends, and its answer is what it has done so far. Raises `ValueError` for a limit that is
    not above 0.
    """

    max_tokens: float | None = None
    max_input_tokens: float | None = None
    max_output_tokens: float | None = None
    max_cost: float | None = None
    max_seconds: float | None = None
    max_model_calls: float | None = None
    max_tool_calls: float | None = None
    max_iterations: float | None = None
    warn_at: float = 0.8
    ask: bool | None = None

    def __new__(cls, *limits: Any, **named: Any) -> Budget:
        """Check the names of the limits. Raises `Unknown`."""
        known = cls.__dataclass_fields__
        for name in named:
            if name not in known:
                meant = f"max_{name}"
                raise Unknown("limit of a budget", name, known, f"did you mean {meant!r}?" if meant in known else "")
        return object.__new__(cls)

    def __post_init__(self) -> None:
        for name in NAMES:
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value > 0):
                raise ValueError(f"{name} of a budget must be a number above 0, or None for no limit, not {value!r}")
        warn_at = self.warn_at
        if isinstance(warn_at, bool) or not isinstance(warn_at, int | float) or not 0 < warn_at <= 1:
            raise ValueError(f"warn_at of a budget must be a fraction above 0 and up to 1, not {warn_at!r}")

    @classmethod
    def of(cls, spec: Budget | Mapping[str, Any]) -> Budget:
        """Return a budget with limits given by name. Raises `Unknown` for an unknown name."""
        if isinstance(spec, Budget):
            return spec
        if not isinstance(spec, Mapping):
            raise ValueError(f"a budget must be a Budget or a dict of limits ({', '.join(NAMES)}), not {spec!r}")
        return cls(**spec)

    @property
    def limits(self) -> dict[str, float]:
        """The limits that are set, by name."""
        return {name: value for name in NAMES if (value := getattr(self, name)) is not None}
