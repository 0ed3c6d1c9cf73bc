"""Plain text: deterministic, complete enough for debugging, and without characters that a terminal interprets."""

from __future__ import annotations

import re

import pytest

from agentkit import Agent, Call, Loop, Message, Reply, Run, Usage, tool
from agentkit.core.text import one_line
from agentkit.errors import ModelError
from agentkit.export import html, markdown
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    return f"rain in {city}"


def finished_run() -> Run:
    model = Scripted(
        [Reply("I look", (Call("look", {"city": "Oslo"}, "c"),)), "Take an umbrella"], abilities=Abilities(tools=True)
    )
    agent = Agent(model, [look], journal="memory", engine=Loop("react", max_iterations=4))
    run = agent.start("How is Oslo?", paused=True)
    list(run)
    return run


TRACE = """\
Run done: 4 steps, 2 model calls, 1 tool call
  0 Task         How is Oslo?
  1 Thought      I look → look(city='Oslo')
  2 Action       look(city='Oslo')
    Observation  rain in Oslo
  3 Thought      Take an umbrella
  4 Answer       Take an umbrella"""


def test_a_run_shows_its_trace() -> None:
    assert repr(finished_run()) == TRACE


def test_a_paused_run_shows_the_next_step_and_who_edited_what() -> None:
    run = finished_run()
    run.edit(2, text="sun", reason="looked out of the window")
    assert "Observation  sun  [edited by human: looked out of the window]" in repr(run)
    assert repr(run).endswith("  > next: think (thought)") and repr(run).startswith("Run paused")


def test_every_value_has_a_repr_without_ids_times_and_addresses() -> None:
    shown = [
        repr(finished_run()[2]),
        repr(finished_run().agent),
        repr(finished_run().result),
        repr(Message("tool", "rain", (), "call_1", "look", False)),
        repr(look),
        repr(Usage(1, 2)),
    ]
    assert shown[:4] == [
        "Action       look(city='Oslo')\nObservation  rain in Oslo",
        "Agent(model='scripted', engine=Loop('react', max_iterations=4), tools=[look])",
        "Result('Take an umbrella', model_calls=2, tool_calls=1, tokens=0)",
        "tool: ✗ rain",
    ]
    assert not re.search(r"0x[0-9a-f]{6}|\d{9}", "".join(shown))


@pytest.mark.parametrize("hostile", ["\x1b[2J", "a\rb", "\u202egnp.exe", "\ud800", "\x07"])
def test_a_line_contains_no_characters_that_a_terminal_interprets(hostile: str) -> None:
    assert hostile not in one_line(f"x{hostile}y") and one_line(f"x{hostile}y").encode()


def test_a_long_text_is_truncated_with_a_note() -> None:
    assert one_line("x" * 1000) == "x" * 200 + "… (+800 characters)"


def test_the_text_of_an_error_is_shown_once() -> None:
    failed = Agent(Scripted([ModelError("nobody there")]), journal=None).run("q")
    for shown in (repr(failed), html.result(failed), markdown.result(failed)):
        assert shown.count("nobody there") == 1
    assert failed.reason == "ModelError: nobody there"
