"""What telemetry costs: CPU per turn of a ReAct run with a free model and a free tool, without it and with it.

A turn is one model call and one tool call, so three spans. Without a provider, telemetry should cost next to nothing. All
take turns within a round, and the best round counts.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from loop_overhead import print_costs
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from rich.console import Console
from rich.table import Table

from agentkit.telemetry import trace


class Nowhere(SpanExporter):
    """An exporter that drops all spans."""

    def export(self, spans: Any) -> SpanExportResult:
        """Drop spans."""
        return SpanExportResult.SUCCESS


def cases() -> dict[str, list[Any]]:
    """Return what surrounds the runs of each case."""
    tracers, unsampled = TracerProvider(), TracerProvider(sampler=ALWAYS_OFF)
    tracers.add_span_processor(BatchSpanProcessor(Nowhere()))
    meters = MeterProvider([InMemoryMetricReader()])
    return {
        "no telemetry": [],
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
    print_costs("telemetry", {name: {"within": within} if within else {} for name, within in cases().items()})
    imports = Table("import", "ms")
    for statement in ("import agentkit", "import agentkit.telemetry", "import agentkit.telemetry as t; t.trace()"):
        imports.add_row(statement, f"{import_seconds(statement) * 1000:,.0f}")
    Console().print(imports)


if __name__ == "__main__":
    main()
