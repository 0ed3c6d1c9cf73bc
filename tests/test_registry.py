"""Engines by name, id, entry point and spec; personas; broken plug-ins."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentkit import Agent, Answer, Chat, Loop, Think
from agentkit.agent import persona
from agentkit.config import plugins
from agentkit.engines.react import react
from agentkit.engines.reflexion import reflexion
from agentkit.engines.registry import ALIASES, ENGINES, check, find, load_engine, loops
from agentkit.errors import Unknown, UsageError
from agentkit.models.scripted import Scripted

PERSONA = {
    "solvers": ["ovos-reflexion-loop"],
    "plugin-config": {
        "ovos-reflexion-loop": {
            "brain": "ovos-chat-openai-plugin",
            "max_reflections": 2,
            "max_iterations": 8,
            "toolboxes": ["ovos-web-search-tools", "ovos-filesystem-tools"],
        }
    },
}

MODULE = """
from agentkit import Answer, Chat, Conclude, ToolBox, Think, tool

def shout(task, *, tools=(), loudness=1):
    reply = yield Think(Chat.of(task), tools)
    return Answer(reply.answer.upper() + "!" * loudness, Chat.of(task))

@tool(effect="pure")
def whisper(text: str) -> str:
    "Whisper."
    return text.lower()

box = ToolBox([whisper], name="soft")

def parrot(request):
    return "FINAL_ANSWER: " + request.chat[-1].text
"""

POINTS = """\
[agentkit.engines]
shout = loud_plugin:shout
broken = no_such_module_at_all:engine
[agentkit.toolboxes]
soft = loud_plugin:box
broken-box = no_such_module_at_all:box
[agentkit.models]
parrot = loud_plugin:parrot
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a package with an engine, a toolbox and a model, and with others that cannot be loaded."""
    info = tmp_path / "loud_plugin-1.0.dist-info"
    info.mkdir()
    (tmp_path / "loud_plugin.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: loud-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.cache_clear()
    yield
    plugins.cache_clear()
    sys.modules.pop("loud_plugin", None)


def test_plug_ins_of_a_package_are_found_by_name(installed: None) -> None:
    agent = Agent("parrot", ["soft"], engine=Loop("shout", loudness=2), journal="memory")
    assert agent.run("hello").answer == "HELLO!!" and [tool.name for tool in agent.tools.tools] == ["whisper"]
    assert agent.engine_name == "loud_plugin:shout"
    assert Agent("parrot", engine=Loop("reflexion", actor="shout"), journal="memory").engine_options == {
        "actor": "shout"
    }


def test_a_broken_plug_in_breaks_nothing_else(installed: None) -> None:
    with (
        pytest.warns(RuntimeWarning, match="cannot load the plug-in 'broken' of agentkit.engines"),
        pytest.raises(Unknown),
    ):
        Agent("echo", engine="broken")
    config = {
        "solvers": ["broken", "shout"],
        "plugin-config": {"shout": {"toolboxes": ["broken-box", "soft"], "loudness": 3}},
    }
    with pytest.warns(RuntimeWarning) as caught:
        agent = persona.load(config, "parrot")
    assert [tool.name for tool in agent.tools.tools] == ["whisper"] and agent.engine_options == {"loudness": 3}
    assert any("broken-box" in str(warning.message) for warning in caught)


@pytest.mark.parametrize("name", ALIASES)
def test_the_seven_ids_resolve(name: str) -> None:
    assert load_engine(name).__name__ == ALIASES[name] in ENGINES
    assert Agent("echo", engine=name).engine_name == ENGINES[ALIASES[name]]


def test_the_documented_persona_loads() -> None:
    with pytest.warns(RuntimeWarning) as caught:
        agent = persona.load(PERSONA)
    assert agent.engine is reflexion and agent.engine_options == {"max_reflections": 2, "max_iterations": 8}
    assert sum("ovos-" in str(warning.message) for warning in caught) == 3


def test_a_typo_in_a_persona_is_reported_and_one_without_an_engine_is_refused() -> None:
    config = {
        "solvers": "react",
        "plugin-config": {"react": {"max_iteration": 3, "max_iterations": 4, "max_tool_calls": 20}},
    }
    with pytest.warns(RuntimeWarning, match="'max_iteration'"):
        agent = persona.load(config, "echo")
    assert agent.engine_options == {"max_iterations": 4} and agent.options == {"max_tool_calls": 20}
    with pytest.warns(RuntimeWarning), pytest.raises(UsageError, match="none of the engines"):
        persona.load({"solvers": ["nothing-like-it"]})


@pytest.mark.parametrize(
    "config",
    [{"plugin-config": None}, {"plugin-config": {"react": None}}, {"plugin-config": {"react": {"tools": None}}}],
)
def test_empty_values_of_a_persona_are_left_out(config: Any) -> None:
    assert persona.load({"solvers": ["react"], **config}, "echo").options == {}


@pytest.mark.parametrize("config", [None, [], "react", {"plugin-config": ["react"]}])
def test_an_invalid_persona_is_refused(config: Any) -> None:
    with pytest.raises(UsageError, match="a persona must be a dict"):
        persona.load(config, "echo")


def test_inner_engines_are_recorded_as_data_and_found_again(tmp_path: Path) -> None:
    inner = {"engine": "plan_and_execute", "actor": {"engine": "react", "max_iterations": 2}, "max_steps": 3}
    agent = Agent(
        Scripted(["1. a", "A", "done", "SATISFACTORY"]),
        engine=Loop("reflexion", actor=inner),
        journal=tmp_path / "runs.db",
    )
    run = agent.start("q", paused=True)
    assert run[0].result["options"] == {"actor": inner}
    next(run)
    run.close()
    again = Agent(Scripted(["A", "done", "SATISFACTORY"]), engine="reflexion", journal=tmp_path / "runs.db").resume(
        run.id
    )
    assert again.drive().answer == "done"
    again.close()


def mine(task: Any, *, tools: tuple[Any, ...] = ()) -> Any:
    """A user's engine."""
    return Answer((yield Think(Chat.of(task))).text, Chat.of(task))


def test_functions_and_partials_are_accepted_too() -> None:
    def local(task: Any) -> Any:
        return Answer((yield Think(Chat.of(task))).text + " here", Chat.of(task))

    assert Agent("echo", engine=Loop("reflexion", actor=react)).engine_options == {"actor": "react"}
    assert Agent("echo", engine=Loop("reflexion", actor=mine)).engine_options == {"actor": f"{__name__}:mine"}
    spec = Agent("echo", engine=Loop("reflexion", actor=functools.partial(react, max_iterations=2))).engine_options
    assert spec == {"actor": {"engine": "react", "max_iterations": 2}}
    run = Agent(Scripted(["a", "SATISFACTORY"]), engine=Loop("reflexion", actor=local), journal="memory").start(
        "q", paused=True
    )
    assert run.drive().answer == "a here"


def test_the_parameters_that_take_an_engine_are_known() -> None:
    assert {engine: sorted(loops(load_engine(engine))) for engine in ENGINES if loops(load_engine(engine))} == {
        "plan_and_execute": ["actor"],
        "reflexion": ["actor"],
        "self_ask": ["actor"],
        "critic": ["actor"],
        "dag": ["actor"],
        "auto": ["planned", "stepwise"],
        "self_refine": ["actor"],
    }


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("system", "instructions=…"),
        ("max_turns", 'engine=Loop("react", max_iterations=…)'),
        ("temperature", 'settings={"temperature": …}'),
        ("api_key", "Agent(OpenAI(…, api_key=…))"),
    ],
)
def test_the_name_of_an_option_in_another_library_is_understood(option: str, hint: str) -> None:
    with pytest.raises(Unknown) as refused:
        Agent("echo", **{option: 1})
    assert f"; use {hint}" in str(refused.value)
    with pytest.raises(Unknown, match="known: "):
        check(find("chain_of_thought")[0], {option: 1})
