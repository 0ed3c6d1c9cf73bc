"""The loops of OVOS and our engines, with the same brain: where they differ, there is a reason."""

from __future__ import annotations

import json
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from ovos.scripts import SCRIPTS, Script
from ovos_plugin_manager.templates.agent_tools import AgentTool, ToolArguments, ToolBox, ToolOutput
from ovos_plugin_manager.templates.agents import AgentMessage, ChatEngine, MessageRole

REASONS = json.loads(Path(__file__).with_name("differences.json").read_text(encoding="utf-8"))
"""For each script in which we differ, what OVOS does, what we do, and why."""


class Query(ToolArguments):
    query: str


class Measure(ToolArguments):
    value: int
    unit: str


class Found(ToolOutput):
    text: str


class Noting(ToolBox):
    """A toolbox that notes the calls of its tools."""

    def __init__(self) -> None:
        self.called: list[Any] = []
        super().__init__("noting")

    def discover_tools(self) -> list[AgentTool]:
        return [
            AgentTool("search", "Search.", Query, Found, lambda given: self.note("search", given)),
            AgentTool("convert", "Convert.", Measure, Found, lambda given: self.note("convert", given)),
            AgentTool("fail", "Fail.", Query, Found, lambda given: self.note("fail", given)),
            AgentTool("now", "Tell the time.", ToolArguments, Found, lambda given: self.note("now", given)),
        ]

    def note(self, name: str, given: ToolArguments) -> dict[str, Any]:
        self.called.append((name, given.model_dump()))
        if name == "fail":
            raise ConnectionError("down")
        return {"text": "in France"}


class Brain(ChatEngine):
    """A brain that says the lines of a script, and raises when there are no more."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.lines, self.scores, self.asked = iter(script.lines), iter(script.scores), 0

    def continue_chat(self, messages: list[AgentMessage], *about: Any, tools: Any = None, **more: Any) -> AgentMessage:
        self.asked += 1
        wants_score = "score" in messages[-1].content.lower()
        for line in self.scores if wants_score else self.lines:
            return AgentMessage(MessageRole.ASSISTANT, line)
        raise LookupError("the script is at its end")


def outcome(script: Script, package: str) -> dict[str, Any]:
    """Return the answer, the calls of tools that were made, and how often the brain was asked."""
    points = entry_points(group="opm.agents.chat", name=script.engine)
    engine = next(point for point in points if point.value.startswith(package)).load()(script.config)
    box, brain = Noting(), Brain(script)
    engine.load_toolboxes([box] if script.tools else [])
    engine.set_brain(brain)
    try:
        answer = engine.continue_chat([AgentMessage(MessageRole.USER, "What is it?")]).content
    except Exception as error:
        answer = f"raises {type(error).__name__}"
    return {"answer": answer, "calls": box.called, "asked": brain.asked}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_gives_the_same_or_has_a_reason(script: Script) -> None:
    theirs, ours = outcome(script, "ovos_agentic_loop"), outcome(script, "agentkit")
    difference = [f"{key}: {theirs[key]!r} -> {ours[key]!r}" for key in theirs if theirs[key] != ours[key]]
    listed = REASONS.get(script.name)
    assert difference == (listed["difference"] if listed else [])


def test_every_reason_belongs_to_a_script() -> None:
    names = [script.name for script in SCRIPTS]
    assert REASONS.keys() <= set(names) and len(set(names)) == len(names) >= 80
    assert all(reason["why"].strip() for reason in REASONS.values())
