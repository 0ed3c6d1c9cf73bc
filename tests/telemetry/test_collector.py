"""A real collector, Arize Phoenix, takes the spans of a run over OTLP and shows them as what they are.

It runs if `PHOENIX` names its program; `make collector-test` installs it into an environment of its own.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from agentkit import Agent, Call, Reply, tool
from agentkit.core.usage import Usage
from agentkit.models import Scripted
from agentkit.models.base import Abilities
from agentkit.telemetry import trace

PROGRAM = os.environ.get("PHOENIX", "")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not PROGRAM, reason="PHOENIX names no program: make collector-test")]

SECONDS_TO_START = 180


def free_ports(count: int) -> list[int]:
    """Return ports that nothing listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def read(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as response:
        return json.loads(response.read())


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[str]:
    """Start a collector, and yield its address."""
    port, other = free_ports(2)
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    settings = {"HOST": "127.0.0.1", "PORT": port, "GRPC_PORT": other, "WORKING_DIR": tmp_path}
    own |= {f"PHOENIX_{name}": str(value) for name, value in settings.items()}
    own["PHOENIX_TELEMETRY_ENABLED"] = "false"
    url = f"http://127.0.0.1:{port}"
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([PROGRAM, "serve"], env=own, cwd=tmp_path, stdout=log, stderr=log)
    try:
        end = time.monotonic() + SECONDS_TO_START
        while True:
            try:
                read(f"{url}/v1/projects")
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < end, (tmp_path / "log").read_text()[-2000:]
                time.sleep(0.5)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def test_a_collector_shows_an_agent_with_its_model_calls_and_tools(collector: str) -> None:
    @tool(effect="pure")
    def look(city: str) -> str:
        """Look at the weather."""
        if city == "Bonn":
            raise LookupError("no such city")
        return "rain"

    calls = tuple(Call("look", {"city": city}, city) for city in ("Ulm", "Bonn"))
    replies = [Reply("", calls, usage=Usage(input=70, output=5)), Reply("It rains.", usage=Usage(input=90, output=4))]
    provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{collector}/v1/traces")))
    within = [trace(name="shop", content=True, tracer_provider=provider)]
    model = Scripted(replies, abilities=Abilities(tools=True))
    run = Agent(model, [look], journal="memory", within=within).run("What is the weather?").run
    provider.shutdown()

    spans: dict[str, Any] = {}
    end = time.monotonic() + 60
    while len(spans) < 7 and time.monotonic() < end:
        found = read(f"{collector}/v1/projects/default/spans?limit=100")["data"]
        spans = {span["context"]["span_id"]: span for span in found}
        time.sleep(0.2)
    shown = sorted((span["name"], span["span_kind"], span["status_code"]) for span in spans.values())
    assert shown == [
        ("agentkit.turn", "UNKNOWN", "UNSET"),
        ("agentkit.turn", "UNKNOWN", "UNSET"),
        ("chat scripted", "LLM", "UNSET"),
        ("chat scripted", "LLM", "UNSET"),
        ("execute_tool look", "TOOL", "ERROR"),
        ("execute_tool look", "TOOL", "UNSET"),
        ("invoke_agent shop", "AGENT", "UNSET"),
    ]
    (root,) = [span for span in spans.values() if span["parent_id"] is None]
    assert root["name"] == "invoke_agent shop" and root["attributes"]["session.id"] == run.id
    parents = {span["name"]: spans[span["parent_id"]]["name"] for span in spans.values() if span["parent_id"]}
    assert parents == {
        "agentkit.turn": "invoke_agent shop",
        "chat scripted": "agentkit.turn",
        "execute_tool look": "agentkit.turn",
    }
