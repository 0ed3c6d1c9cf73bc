"""The logger `agentkit`: with nothing but `logging.basicConfig`, a run is logged step by step."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from agentkit import Agent, Call, Loop, Reply, tool
from agentkit.models import Scripted
from agentkit.models.base import Abilities

PROGRAM = """
import logging
from agentkit import Agent

logging.basicConfig(level="{}")
Agent("offline", ["math"], journal="memory").run("What is 17 * 23?")
"""
LINES = [
    "DEBUG:agentkit:ReAct: tools count = 1",
    "DEBUG:agentkit:ReAct: step=1, tool_calls=0, max=10",
    "DEBUG:agentkit:ReAct: tool_calls in response = 1",
    "DEBUG:agentkit:ReAct: tool_names = ['calculate']",
    'INFO:agentkit:[1/10] 🔧 calculate(expression="17 * 23")',
    "INFO:agentkit:→ 391",
    "DEBUG:agentkit:ReAct: step=2, tool_calls=1, max=10",
    "DEBUG:agentkit:ReAct: tool_calls in response = 0",
    "INFO:agentkit:✅ Completed in 2 steps, 1 tool call",
]


@pytest.mark.parametrize("level", ["DEBUG", "INFO", "WARNING"])
def test_basic_config_is_all_that_a_program_needs(level: str) -> None:
    finished = subprocess.run([sys.executable, "-c", PROGRAM.format(level)], capture_output=True, text=True)
    own = [line for line in finished.stderr.splitlines() if ":agentkit:" in line]
    expected = {"DEBUG": LINES, "INFO": [line for line in LINES if line.startswith("INFO")], "WARNING": []}
    assert own == expected[level] and finished.returncode == 0


def test_the_log_counts_parallel_calls_up_to_the_limit_of_calls(caplog: pytest.LogCaptureFixture) -> None:
    @tool(effect="pure")
    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    reply = Reply("", (Call("double", {"number": 1}, "a"), Call("double", {"number": 2}, "b")))
    model = Scripted([reply, "done"], abilities=Abilities(tools=True))
    with caplog.at_level(logging.INFO, "agentkit"):
        Agent(model, [double], journal="memory", max_tool_calls=20).run("q")
    assert [line for line in caplog.messages if "🔧" in line] == [
        "[1/20] 🔧 double(number=1)",
        "[2/20] 🔧 double(number=2)",
    ]


def test_the_end_of_a_run_that_was_cut_short_says_why(caplog: pytest.LogCaptureFixture) -> None:
    call = Reply("", (Call("calculate", {"expression": "1 + 1"}, "a"),))
    model = Scripted([call] * 2, abilities=Abilities(tools=True))
    engine = Loop("react", max_iterations=2, force_answer=False)
    with caplog.at_level(logging.INFO, "agentkit"):
        Agent(model, ["math"], engine=engine, journal="memory").run("q")
    assert caplog.messages[-1] == "✅ Completed in 2 steps, 2 tool calls (interrupted: max_turns)"
