"""What telemetry costs: CPU per turn of a ReAct run with a free model and a free tool, without it and with it.

A turn is one model call and one tool call, so three spans. Without a provider, telemetry should cost next to nothing. All
take turns within a round, and the best round counts.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

from loop_overhead import Free, add
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from rich.console import Console
from rich.table import Table

from agentkit import Agent, Loop
from agentkit.telemetry import trace

TURNS = 300
ROUNDS = 7


class Nowhere(SpanExporter):
    """An exporter that drops all spans."""

    def export(self, spans: Any) -> SpanExportResult:
        """Drop spans."""
        return SpanExportResult.SUCCESS


def measure(within: list[Any] | None) -> float:
    """Return the microseconds of CPU per turn of one run."""
    options: dict[str, Any] = {"within": within} if within else {}
    agent = Agent(Free(TURNS), [add], engine=Loop("react", max_iterations=TURNS + 1), journal="memory", **options)
    begun = time.process_time()
    result = agent.run("q")
    seconds = time.process_time() - begun
    assert result.answer == "3", result
    return seconds / TURNS * 1e6


def cases() -> dict[str, list[Any] | None]:
    """Return what surrounds the runs of each case."""
    tracers, unsampled = TracerProvider(), TracerProvider(sampler=ALWAYS_OFF)
    tracers.add_span_processor(BatchSpanProcessor(Nowhere()))
    meters = MeterProvider([InMemoryMetricReader()])
    return {
        "no telemetry": None,
        "no provider": [trace()],
        "metrics": [trace(meter_provider=meters)],
        "spans that are not sampled": [trace(tracer_provider=unsampled)],
        "spans": [trace(tracer_provider=tracers)],
        "spans and metrics": [trace(tracer_provider=tracers, meter_provider=meters)],
        "spans with content": [trace(tracer_provider=tracers, content=True)],
    }


def import_seconds(statement: str) -> float:
    """Return how long a statement takes in a new process; the best of five."""
    program = f"import time; begun = time.perf_counter(); {statement}; print(time.perf_counter() - begun)"
    runs = (subprocess.run([sys.executable, "-c", program], capture_output=True, text=True) for _ in range(5))
    return min(float(run.stdout) for run in runs)


def main() -> None:
    """Print the figures."""
    best: dict[str, float] = {}
    tried = cases()
    for _ in range(ROUNDS):
        for name, within in tried.items():
            best[name] = min(best.get(name, float("inf")), measure(within))
    table = Table("telemetry", "µs per turn", "more than without")
    for name, cost in best.items():
        table.add_row(name, f"{cost:,.0f}", f"{cost - best['no telemetry']:,.0f}")
    Console().print(table)
    imports = Table("import", "ms")
    for statement in ("import agentkit", "import agentkit.telemetry", "import agentkit.telemetry as t; t.trace()"):
        imports.add_row(statement, f"{import_seconds(statement) * 1000:,.0f}")
    Console().print(imports)


if __name__ == "__main__":
    main()
