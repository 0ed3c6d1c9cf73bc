"""Spans and metrics of agentkit, collected in memory by OpenTelemetry's SDK."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agentkit import Agent
from agentkit.telemetry import trace

CALLS = ("chat", "execute_tool")


class Collected:
    """What a tracer provider and a meter provider have collected."""

    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.begun: list[str] = []
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider(metric_readers=[self.reader])
        self.tracer = self.provider.get_tracer("test")

    def agent(self, model: Any, tools: Any = (), *, content: bool = False, **options: Any) -> Agent:
        """Return an agent whose runs are traced."""
        traced = trace(name="shop", content=content, tracer_provider=self.provider, meter_provider=self.meters)
        return Agent(model, tools, within=[traced], **{"journal": "memory", **options})

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans that have ended, in the order in which they began."""
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time)

    def named(self, name: str) -> list[ReadableSpan]:
        """Return the spans whose name begins with a word."""
        return [span for span in self.spans if span.name.split()[0] == name]

    def tree(self) -> list[str]:
        """Return the names of the spans, each indented by how deep it is inside others, and what has failed."""
        children: dict[int, list[ReadableSpan]] = {}
        for span in self.spans:
            children.setdefault(span.parent.span_id if span.parent else 0, []).append(span)
        lines = list[str]()

        def add(parent: int, depth: int) -> None:
            for span in children.pop(parent, ()):
                failed = span.attributes.get("error.type")
                lines.append("  " * depth + span.name + (f" ({failed})" if failed else ""))
                add(span.context.span_id, depth + 1)

        add(0, 0)
        assert not children, "a parent has not ended"
        return lines

    def metric(self, name: str) -> list[Any]:
        """Return the data points of a metric."""
        data = self.reader.get_metrics_data()
        found = [
            metric
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
        ]
        return [point for metric in found for point in metric.data.data_points]

    def tokens(self) -> tuple[int, int]:
        """Return the sums of the input tokens and of the output tokens."""
        sums = {"input": 0, "output": 0}
        for point in self.metric("gen_ai.client.token.usage"):
            sums[point.attributes["gen_ai.token.type"]] += point.sum
        return sums["input"], sums["output"]

    def cost(self) -> float:
        """Return the sum of the money."""
        return sum(point.value for point in self.metric("agentkit.cost"))


def check(collected: Collected, rests: int) -> None:
    """Check what is always true of the spans of runs that rest."""
    spans = {span.context.span_id: span for span in collected.spans}
    roots = [span for span in spans.values() if span.parent is None]
    assert len(roots) == rests
    assert all(span.name == "invoke_agent shop" for span in roots)
    for span in spans.values():
        assert span.end_time is not None and span.start_time <= span.end_time
        if span.parent is None:
            continue
        parent = spans[span.parent.span_id]
        assert parent.context.trace_id == span.context.trace_id
        assert parent.start_time <= span.start_time and span.end_time <= parent.end_time, (parent.name, span.name)
        if span.name.split()[0] in CALLS:
            assert parent.name == "agentkit.turn"
        elif span.name == "agentkit.turn":
            assert parent.name in ("agentkit.turn", "invoke_agent shop")
