"""Spans and metrics over OTLP, and spans of HTTP clients: a receiver on a real socket reads exactly what arrives."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest
from loopback import Loopback, answer, calling, completion
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind
from spans import Collected, check

from agentkit import Agent, Call, Reply, tool
from agentkit.core.usage import Usage
from agentkit.models import OpenAI, Scripted
from agentkit.models.base import Abilities
from agentkit.telemetry import trace


class Receiver:
    """A receiver of OTLP over HTTP, which takes nothing but complete protobuf requests."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.metrics: dict[str, Any] = {}
        self.services: set[str] = set()
        self.faults: list[str] = []

    def take(self, path: str, headers: Any, body: bytes) -> bytes:
        """Read one request, and return the response."""
        if headers["content-type"] != "application/x-protobuf":
            self.faults.append(f"content type {headers['content-type']}")
        if headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        if path == "/v1/traces":
            traces = ExportTraceServiceRequest.FromString(body)
            for resource in traces.resource_spans:
                self.services |= {item.value.string_value for item in resource.resource.attributes}
                for scope in resource.scope_spans:
                    assert scope.scope.name == "agentkit"
                    self.spans += scope.spans
            return bytes(ExportTraceServiceResponse().SerializeToString())
        if path == "/v1/metrics":
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for scope in resource.scope_metrics:
                    self.metrics |= {metric.name: metric for metric in scope.metrics}
            return bytes(ExportMetricsServiceResponse().SerializeToString())
        self.faults.append(f"path {path}")
        return b""


@contextmanager
def receiving() -> Iterator[tuple[Receiver, str]]:
    """Yield a receiver and its address."""
    receiver = Receiver()

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                body = receiver.take(self.path, self.headers, self.rfile.read(int(self.headers["content-length"])))
            except Exception as error:
                receiver.faults.append(repr(error))
                body = b""
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield receiver, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def attributes(span: Any) -> dict[str, Any]:
    """Return the attributes of a span that arrived."""
    return {item.key: getattr(item.value, str(item.value.WhichOneof("value"))) for item in span.attributes}


def test_a_receiver_of_otlp_gets_whole_spans_and_metrics_with_their_units() -> None:
    @tool(effect="pure")
    def look(city: str) -> str:
        """Look at the weather."""
        return f"rain in {city}"

    calls = tuple(Call("look", {"city": city}, city) for city in ("Ulm", "Bonn"))
    replies = [Reply("", calls, usage=Usage(input=70, output=5, cost=0.5)), Reply("done", usage=Usage(input=90))]
    resource = Resource.create({"service.name": "shop-service"})
    with receiving() as (receiver, url):
        provider = TracerProvider(resource=resource)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{url}/v1/traces")))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{url}/v1/metrics"), 3_600_000)
        meters = MeterProvider([reader], resource=resource)
        traced = trace(name="shop", tracer_provider=provider, meter_provider=meters)
        model = Scripted(replies, abilities=Abilities(tools=True))
        run = Agent(model, [look], journal="memory", within=[traced]).run("q").run
        provider.shutdown()
        meters.shutdown()
    assert receiver.faults == []
    assert "shop-service" in receiver.services
    spans = {span.span_id: span for span in receiver.spans}
    assert sorted(span.name for span in receiver.spans) == sorted(
        ["invoke_agent shop", *["agentkit.turn"] * 2, *["chat scripted"] * 2, *["execute_tool look"] * 2]
    )
    assert len({span.trace_id for span in receiver.spans}) == 1
    for span in receiver.spans:
        assert len(span.trace_id) == 16 and len(span.span_id) == 8
        assert 1_700_000_000e9 < span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.kind == SpanKind.INTERNAL.value + 1
        if span.parent_span_id:
            parent = spans[span.parent_span_id]
            assert parent.start_time_unix_nano <= span.start_time_unix_nano
            assert span.end_time_unix_nano <= parent.end_time_unix_nano
    (root,) = [span for span in receiver.spans if not span.parent_span_id]
    assert attributes(root)["agentkit.run.id"] == run.id
    assert attributes(root)["gen_ai.usage.input_tokens"] == 160
    units = {name: metric.unit for name, metric in receiver.metrics.items()}
    assert units == {
        "gen_ai.client.token.usage": "{token}",
        "gen_ai.client.operation.duration": "s",
        "gen_ai.execute_tool.duration": "s",
        "gen_ai.invoke_agent.duration": "s",
        "agentkit.cost": "{USD}",
    }
    tokens = receiver.metrics["gen_ai.client.token.usage"].histogram.data_points
    assert sum(point.sum for point in tokens) == 165
    assert tokens[0].explicit_bounds[:3] == [1.0, 4.0, 16.0]
    (cost,) = receiver.metrics["agentkit.cost"].sum.data_points
    assert cost.as_double == 0.5


@pytest.fixture
def instrumented(monkeypatch: pytest.MonkeyPatch) -> Collected:
    """Instrument the HTTP client as OpenTelemetry's packages do: with a span around each request of its transport."""
    collected = Collected()
    send = httpx2.AsyncHTTPTransport.handle_async_request

    async def traced(self: Any, request: Any) -> Any:
        with collected.tracer.start_as_current_span(f"{request.method}", kind=SpanKind.CLIENT):
            return await send(self, request)

    monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", traced)
    return collected


def test_the_requests_of_a_model_over_http_are_inside_its_call(instrumented: Collected) -> None:
    @tool(effect="pure")
    def look(city: str) -> str:
        """Look at the weather."""
        return f"rain in {city}"

    usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
    acts = [answer(calling("look", '{"city": "Ulm"}')), answer(completion("done", usage=usage))]
    with Loopback(list(acts)) as host:
        model = OpenAI("gpt-test", base_url=f"{host.url}/v1", api_key="none")
        result = instrumented.agent(model, [look]).run("q")
    assert result.answer == "done"
    address, port = host.host.split(":")
    assert instrumented.tree() == [
        "invoke_agent shop",
        "  agentkit.turn",
        "    chat gpt-test",
        "      POST",
        "    execute_tool look",
        "  agentkit.turn",
        "    chat gpt-test",
        "      POST",
    ]
    check(instrumented, rests=1)
    chat = instrumented.named("chat")[-1]
    expected = {
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-test",
        "gen_ai.request.stream": True,
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 3,
        "server.address": address,
        "server.port": int(port),
    }
    assert {key: chat.attributes[key] for key in expected} == expected
    assert chat.kind is SpanKind.CLIENT and chat.attributes["gen_ai.response.time_to_first_chunk"] > 0
