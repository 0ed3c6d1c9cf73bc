"""Metrics of runs: tokens, money, and how long runs, model calls and tool calls take.

The sums of tokens and money are those of `run.usage`: what failed and abandoned calls have used counts, too. The
attributes have few values: there is no id of a run among them, and no name that a model has invented.
"""

from __future__ import annotations

import time
from typing import Any

from opentelemetry.metrics import Histogram, Meter, get_meter

from agentkit.core.steps import Think
from agentkit.core.usage import Usage
from agentkit.runtime.in_flight import InFlight, Outcome
from agentkit.runtime.scheduler import Scheduler
from agentkit.telemetry import names
from agentkit.telemetry.asked import asked_by, error_type, tool_name


class Instruments:
    """The instruments of a meter; all runs that are traced alike share them."""

    def __init__(self, meter_provider: Any, version: str) -> None:
        meter: Meter = get_meter(names.SCOPE, version, meter_provider)

        def seconds(name: str, description: str) -> Histogram:
            buckets = names.SECOND_BUCKETS
            return meter.create_histogram(name, "s", description, explicit_bucket_boundaries_advisory=buckets)

        self.tokens = meter.create_histogram(
            names.TOKEN_USAGE,
            unit="{token}",
            description="Tokens that model calls have used",
            explicit_bucket_boundaries_advisory=names.TOKEN_BUCKETS,
        )
        self.cost = meter.create_counter(names.COST, unit="{USD}", description="What model calls have cost")
        self.model_seconds = seconds(names.MODEL_DURATION, "How long model calls have taken")
        self.tool_seconds = seconds(names.TOOL_DURATION, "How long tool calls have taken")
        self.agent_seconds = seconds(names.AGENT_DURATION, "How long runs were driven before they rested")


class RunMetrics:
    """The metrics of one run."""

    def __init__(self, instruments: Instruments, scheduler: Scheduler, name: str) -> None:
        self._instruments = instruments
        self._scheduler, self._performer = scheduler, scheduler.performer
        self._about = {names.OPERATION: names.INVOKE_AGENT, **({names.AGENT: name} if name else {})}
        self._begun: float | None = None
        self._calls: dict[InFlight, float] = {}

    def begins(self) -> None:
        """Begin to measure how long the run is driven, unless it is over."""
        self._begun = time.monotonic() if self._scheduler.trace.stepper.answer is None else None

    def rests(self) -> None:
        """Record how long the run was driven."""
        self._calls.clear()
        if self._begun is not None:
            error = self._scheduler.state.error
            failed = {names.ERROR_TYPE: type(error).__name__} if error is not None else {}
            self._instruments.agent_seconds.record(time.monotonic() - self._begun, {**self._about, **failed})
            self._begun = None

    def step_begins(self, flight: InFlight) -> None:
        """Begin to measure how long a call takes."""
        self._calls[flight] = time.monotonic()

    def step_ends(self, flight: InFlight, outcome: Outcome) -> None:
        """Record how long a call took, and what it has used."""
        begun = self._calls.pop(flight, None)
        if begun is None:
            return
        seconds, step, failure = time.monotonic() - begun, flight.step, error_type(flight, outcome)
        failed = {names.ERROR_TYPE: failure} if failure else {}
        if type(step) is not Think:
            tool = {names.OPERATION: names.EXECUTE_TOOL, names.TOOL: tool_name(self._performer, step)}  # type: ignore[arg-type]
            self._instruments.tool_seconds.record(seconds, {**tool, **failed})
            return
        asked = asked_by(self._performer, step)
        about = {names.OPERATION: names.CHAT, names.PROVIDER: asked.provider, names.REQUEST_MODEL: asked.model}
        self._instruments.model_seconds.record(seconds, {**about, **failed})
        used = flight.entry.usage if outcome[0] else flight.used
        if used is not None:
            self._count(used, about)

    def _count(self, used: Usage, about: dict[str, str]) -> None:
        for kind, tokens in (("input", used.input), ("output", used.output)):
            if tokens > 0:
                self._instruments.tokens.record(tokens, {**about, names.TOKEN_TYPE: kind})
        if used.cost > 0:
            self._instruments.cost.add(used.cost, about)
