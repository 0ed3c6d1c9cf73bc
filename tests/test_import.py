"""Importing agentkit is cheap: heavy modules are imported when they are used."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import json, sys, time
start = time.perf_counter()
from agentkit import Agent, tool
print(json.dumps({"seconds": time.perf_counter() - start, "modules": sorted(sys.modules)}))
"""
LATE = {
    "IPython",
    "anywidget",
    "httpx2",
    "inscriptis",
    "ipywidgets",
    "json_repair",
    "lxml",
    "mcp",
    "nbformat",
    "opentelemetry",
    "prompt_toolkit",
    "requests",
    "rich",
    "sqlite3",
    "starlette",
    "traitlets",
    "typer",
    "urllib3",
    "uvicorn",
    "websockets",
    "yaml",
}


def test_importing_agent_and_tool_loads_nothing_of_jupyter_http_the_terminal_or_a_database() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    print(f"import agentkit: {found['seconds']:.3f} s")
    assert LATE.isdisjoint(found["modules"])
