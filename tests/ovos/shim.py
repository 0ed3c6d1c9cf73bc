"""A pytest plug-in that puts the engines of agentkit in the place of the loops of ovos-agentic-loop, for its own tests.

A method that only its loops have (`_call_tool`) is answered by what the model reads when an engine of ours does the
same. What has no counterpart is missing. For each test it writes whether it passed, and whether it used anything of
ours, into the file that OWN_TESTS_REPORT names.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import ovos_agentic_loop.factory as factory
    from ovos_agentic_loop import (
        base,
        chain_of_thought,
        critic,
        native_toolcall,
        plan_execute,
        react,
        reflexion,
        self_ask,
        tree_of_thoughts,
    )

from ovos_utils.log import LOG

from agentkit import Agent
from agentkit.core.messages import Call, Reply
from agentkit.engines import critic as our_critic
from agentkit.engines import self_ask as our_self_ask
from agentkit.engines import tree_of_thoughts as our_tree
from agentkit.engines.parsing import answer_after, list_items, score_of
from agentkit.integrations import ovos
from agentkit.models.dialects import text_protocol
from agentkit.models.scripted import Scripted

_used: list[str] = []
_report: dict[str, list[Any]] = {}


class Box:
    """A mocked toolbox, with a list of its tools: they take a `query` if nothing else is known."""

    def __init__(self, box: Any) -> None:
        listed = box.tool_json_list
        if not isinstance(listed, list):
            found = box.discover_tools()
            names = [tool.name for tool in found] if isinstance(found, list) else []
            arguments = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
            listed = [{"name": name, "argument_schema": arguments} for name in names]
        self.tool_json_list, self.call_tool = listed, box.call_tool


class Noted:
    """A part of ours: that a test has made one is noted."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        _used.append(type(self).__name__)
        super().__init__(*arguments, **options)


class Shim(Noted):
    """What the own tests use of a loop, beside what our engines have."""

    def agent(self, *about: Any) -> Agent:
        boxes, self.toolboxes = self.toolboxes, [Box(box) for box in self.toolboxes]
        try:
            return super().agent(*about)  # type: ignore[misc]
        finally:
            self.toolboxes = boxes

    @property
    def max_iterations(self) -> int:
        return self.agent().engine_options.get("max_iterations", 10)

    def _load_brain(self) -> Any:
        return self.brain  # type: ignore[attr-defined]

    def _load_toolboxes_from_config(self) -> None:
        type(self)(self.config)  # type: ignore[attr-defined]

    def _inject_brain_into_toolboxes(self, brain: Any) -> None:
        self.set_brain(brain)  # type: ignore[attr-defined]

    def _call_tool(self, name: str, arguments: dict[str, Any]) -> str:
        boxes = [named(box, name, arguments) for box in self.toolboxes]
        return observed(Agent(Scripted([Reply("", (Call(name, arguments),)), "done"]), boxes, journal="memory"))

    def _call_named_tool(self, name: str, query: str) -> str:
        boxes = [named(box, name, {"query": query}) for box in self.toolboxes]
        return looked_up(f"Tool: {name}\nTool Input: {query}", boxes)

    def _call_first_matching_tool(self, query: str) -> str:
        return looked_up(f"Follow up: {query}", [Box(box) for box in self.toolboxes])


def named(box: Any, name: str, arguments: dict[str, Any]) -> Any:
    """Return a mocked toolbox with the tool of a name, if it finds it; the mocks of these tests list no tools."""
    try:
        found = box.get_tool(name) is not None
    except Exception:
        found = False
    schema = {"type": "object", "properties": {key: {} for key in arguments}}
    listed = [{"name": name, "argument_schema": schema}] if found else []
    return SimpleNamespace(tool_json_list=listed, call_tool=box.call_tool)


def observed(agent: Agent) -> str:
    """Return the result of a tool that the model of an agent reads."""
    read = [message.text for message in agent.run("q").run.messages if message.role == "tool"]
    return read[0] if read else "no tool was asked"


def looked_up(asks: str, boxes: list[Any]) -> str:
    """Return the intermediate answer to what a model asks."""
    model = Scripted([asks, "So the final answer is: done"])
    Agent(model, boxes, engine="self_ask", journal="memory").run("q")
    read = model.requests[-1]["messages"][-1]["content"] if model.calls > 1 else "no tool was asked"
    return read.removeprefix("Intermediate answer: ")


def loop(name: str, engine: type) -> type:
    return type(name, (Shim, engine), {})


LOOPS = {
    "ReActLoopEngine": (react, loop("ReActLoopEngine", ovos.ReAct)),
    "NativeToolCallEngine": (native_toolcall, loop("NativeToolCallEngine", ovos.ReAct)),
    "PlanAndExecuteEngine": (plan_execute, loop("PlanAndExecuteEngine", ovos.PlanAndExecute)),
    "ReflexionEngine": (reflexion, loop("ReflexionEngine", ovos.Reflexion)),
    "SelfAskEngine": (self_ask, loop("SelfAskEngine", ovos.SelfAsk)),
    "ChainOfThoughtEngine": (chain_of_thought, loop("ChainOfThoughtEngine", ovos.ChainOfThought)),
    "CRITICEngine": (critic, loop("CRITICEngine", ovos.Critic)),
    "TreeOfThoughtsEngine": (tree_of_thoughts, loop("TreeOfThoughtsEngine", ovos.TreeOfThoughts)),
}


# -- what the loops read in a reply ------------------------------------------------------------------------------------


def parse_action(text: str) -> tuple[str, dict[str, Any]] | None:
    calls = text_protocol.read(text, ()).calls
    return (calls[0].name, calls[0].arguments) if calls and not calls[0].problem else None


def parse_critique_blocks(text: str) -> list[dict[str, str]]:
    return [{**claim, "tool_input": claim.get("tool input", "")} for claim in our_critic.claims_in(text)]


def extract_tool_call(text: str) -> tuple[str, str] | None:
    asked = our_self_ask.read(Reply(text), can_look_up=True).questions
    return (asked[0]["tool"], asked[0]["tool input"]) if asked and "tool" in asked[0] else None


def extract_follow_up(text: str) -> str | None:
    asked = our_self_ask.read(Reply(text), can_look_up=True).questions
    return asked[0].get("follow up") if asked else None


def after(marker: str) -> Callable[[str], str | None]:
    return lambda text: answer_after(text, marker) or None


def parse_score(text: str) -> float:
    score = score_of(text, 10.0)
    return 5.0 if score is None else score


READERS = (
    (react, "_parse_action", parse_action),
    (react, "_extract_final_answer", after("FINAL_ANSWER")),
    (plan_execute, "_parse_plan", lambda text: list(list_items(text))),
    (self_ask, "_extract_final_answer", lambda text: our_self_ask.read(Reply(text), can_look_up=True).final or None),
    (self_ask, "_extract_follow_up", extract_follow_up),
    (self_ask, "_extract_tool_call", extract_tool_call),
    (chain_of_thought, "_extract_final_answer", after("FINAL ANSWER")),
    (critic, "_parse_critique_blocks", parse_critique_blocks),
    (tree_of_thoughts, "_extract_answer", lambda text: our_tree.conclusion(text) or None),
    (tree_of_thoughts, "_parse_score", parse_score),
)


def noted(name: str, read: Callable[[str], Any]) -> Callable[[str], Any]:
    def reader(text: str) -> Any:
        _used.append(name)
        return read(text)

    return reader


def pytest_configure() -> None:
    base.AgenticLoopEngine = type("AgenticLoopEngine", (Noted, ovos.LoopEngine), {})
    for name, (module, ours) in LOOPS.items():
        setattr(module, name, ours)
        setattr(factory, name, ours)
        setattr(factory, f"{name}Plugin", type(f"{name}Plugin", (ours,), {}))
    for module, name, read in READERS:
        setattr(module, name, noted(name, read))


# -- the report --------------------------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _used.clear()
    LOG._loggers.clear()  # each logger writes to the standard output of the test that uses it first
    _report[item.nodeid.removeprefix("test/")] = [True, False]
    result = yield
    _report[item.nodeid.removeprefix("test/")][1] = bool(_used)
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _report[report.nodeid.removeprefix("test/")][0] = False


def pytest_sessionfinish() -> None:
    Path(os.environ["OWN_TESTS_REPORT"]).write_text(json.dumps(_report, indent=1), encoding="utf-8")
