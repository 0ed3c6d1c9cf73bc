"""The logger `agentkit`: with nothing but `logging.basicConfig`, a run is logged step by step, and records have fields."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
from fake_secrets import KEYS
from spans import Collected

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


def test_each_record_has_fields_for_programs_that_read_logs(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "agentkit"):
        run = Agent("offline", ["math"], journal="memory").run("What is 17 * 23?", session="lesson 1").run
    own = [record for record in caplog.records if record.name == "agentkit"]
    assert {(record.run, record.session) for record in own} == {(run.id, "lesson 1")}
    assert [(record.step, record.tool) for record in own if record.levelno == logging.INFO] == [
        ("", "calculate"),  # a pure call in memory begins without a row, so it has no name yet
        ("tool_call_1_0", "calculate"),
        ("", ""),
    ]
    result = next(record for record in own if record.getMessage() == "→ 391")
    assert 0 <= result.seconds < 60
    assert [record.step for record in own if "step=" in record.getMessage()] == ["model_call_1", "model_call_2"]


def test_a_record_that_is_about_no_run_has_the_fields_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "agentkit"):
        logging.getLogger("agentkit").warning("a warning")
    (record,) = caplog.records
    form = "%(run)s|%(session)s|%(step)s|%(tool)s|%(seconds)s|%(message)s"
    assert logging.Formatter(form).format(record) == "||||None|a warning"


def test_a_field_is_one_inert_line_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    hostile = f"find\n\x1b[2J {KEYS[0].text}"
    model = Scripted([Reply("", (Call(hostile, {}, "a"),)), "done"], abilities=Abilities(tools=True))
    with caplog.at_level(logging.DEBUG, "agentkit"):
        Agent(model, ["math"], journal="memory").run("q", session=f"mine\n\x1b[1m {KEYS[1].text}")
    fields = [getattr(record, name) for record in caplog.records for name in ("tool", "session", "message")]
    written = "".join(map(str, fields))
    assert "find" in written and "mine" in written
    assert not {"\n", "\x1b"} & set(written)
    assert KEYS[0].secret not in written and KEYS[1].secret not in written


def test_a_record_of_a_traced_run_has_the_ids_of_its_span(caplog: pytest.LogCaptureFixture) -> None:
    collected = Collected()
    with caplog.at_level(logging.DEBUG, "agentkit"):
        collected.agent("offline", ["math"]).run("What is 17 * 23?")
        logging.getLogger("agentkit").warning("outside of any span")
    (root,), chats, (called,) = (collected.named(name) for name in ("invoke_agent", "chat", "execute_tool"))
    ids = {record.getMessage(): (record.trace_id, record.span_id) for record in caplog.records}
    trace_id = f"{root.context.trace_id:032x}"
    span = {name: f"{each.context.span_id:016x}" for name, each in {"root": root, "tool": called}.items()}
    assert ids["→ 391"] == (trace_id, span["tool"])
    assert ids['[1/10] 🔧 calculate(expression="17 * 23")'] == (trace_id, span["root"])
    assert ids["✅ Completed in 2 steps, 1 tool call"] == (trace_id, span["root"])
    assert ids["ReAct: step=1, tool_calls=0, max=10"] == (trace_id, f"{chats[0].context.span_id:016x}")
    assert ids["outside of any span"] == ("", "")
