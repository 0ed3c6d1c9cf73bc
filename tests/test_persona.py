"""Personas in the spellings of OVOS, and memories in its interface, without OVOS."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import pytest

from agentkit import Agent
from agentkit.agent import persona
from agentkit.errors import OptionError, UsageError
from agentkit.models.scripted import Scripted

OPTIONS = {"max_reflections": 2, "max_iterations": 8, "brain": "echo"}


def load(config: dict[str, Any], **more: Any) -> Agent:
    """Load a persona that gives no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return persona.load(config, journal="memory", **more)


@pytest.mark.parametrize("engine", ["reflexion", "ovos-reflexion-loop", "agentkit-reflexion"])
@pytest.mark.parametrize("key", ["solvers", "handlers"])
def test_the_options_of_an_engine_are_under_its_name(engine: str, key: str) -> None:
    for config in ({key: [engine], engine: OPTIONS}, {key: [engine], "plugin-config": {engine: OPTIONS}}):
        agent = load(config)
        assert agent.engine_options == {"max_reflections": 2, "max_iterations": 8} and agent.model.name == "echo"


def test_a_handler_that_is_switched_off_is_left_out() -> None:
    config = {"handlers": ["react", "dag"], "react": {"enabled": False}, "dag": {"enabled": True}}
    assert load(config, model="echo").engine_name.endswith(":dag")


@pytest.mark.parametrize(
    ("engine", "written", "read"),
    [
        ("react", {"max_iterations": "4"}, {"max_iterations": 4}),
        ("react", {"max_iterations": 4.0}, {"max_iterations": 4}),
        ("tree_of_thoughts", {"min_score": "2.5", "search": "dfs"}, {"min_score": 2.5, "search": "dfs"}),
    ],
)
def test_numbers_may_be_written_as_strings(engine: str, written: Any, read: Any) -> None:
    options = load({"solvers": [engine], engine: written}, model="echo").engine_options
    assert options == read and all(type(options[name]) is type(read[name]) for name in read)


def test_numbers_among_the_options_of_the_agent_may_be_strings_too() -> None:
    options = load({"react": {"max_tool_calls": "5", "instructions": "7", "window": "3"}}, model="echo").options
    assert {name: options[name] for name in ("max_tool_calls", "instructions", "window")} == {
        **{"max_tool_calls": 5, "instructions": "7", "window": 3}
    }


@pytest.mark.parametrize("value", ["0", "four", "", "4.5", 4.5, "nan", "inf", "9" * 5000, True, None, [4]])
def test_what_is_not_a_number_in_range_is_refused(value: Any) -> None:
    with pytest.raises(OptionError, match="max_iterations must be"):
        load({"react": {"max_iterations": value}}, model="echo")


def test_system_prompts_become_instructions() -> None:
    options = {"system_prompt": "Be brief.", "instructions": "Be kind."}
    agent = load({"system_prompt": "You are Ada.", "react": options}, model="echo")
    assert agent.options["instructions"] == "You are Ada.\n\nBe brief.\n\nBe kind."
    with pytest.raises(UsageError, match="a system_prompt of a persona must be a string"):
        load({"system_prompt": ["You are Ada."]}, model="echo")


def test_plug_ins_of_ovos_that_are_not_installed_are_left_out_with_a_warning() -> None:
    config = {"memory_module": "ovos-agents-short-term-memory-plugin", "react": {"toolboxes": ["ovos-math-tools"]}}
    with pytest.warns(RuntimeWarning) as warned:
        agent = persona.load(config, "echo", journal="memory")
    assert agent.options.get("session_memory") is None and not agent.tools.tools
    assert len(warned) == 2 and "ovos-agents-short-term-memory-plugin" in str(warned[1].message)


# -- a memory in the interface of OVOS ---------------------------------------------------------------------------------


class Memory:
    """A memory that numbers the turns of a session."""

    def __init__(self) -> None:
        self.kept: dict[str, list[Any]] = {}

    def build_conversation_context(self, utterance: str, session_id: str) -> list[Any]:
        turn = SimpleNamespace(role="user", content=f"{len(self.kept.get(session_id, ())) // 2 + 1}. {utterance}")
        return [SimpleNamespace(role="developer", content="Be brief."), *self.kept.get(session_id, ()), turn]

    def update_history(self, new_messages: list[Any], session_id: str) -> None:
        self.kept.setdefault(session_id, []).extend(new_messages)


def test_a_memory_of_another_library_decides_what_a_session_is_told() -> None:
    memory, model = Memory(), Scripted(["one", "two"])
    agent = Agent(model, session_memory=memory, journal="memory")
    for question in ("What?", "And then?"):
        agent.run(question, session="numbered")
    told = [(message["role"], message["content"]) for message in model.requests[-1]["messages"]]
    turn = [("user", "What?"), ("assistant", "one")]
    assert told == [("system", "Be brief."), *turn, ("user", "2. And then?")]
    assert [turn.question for turn in agent.memory.turns("numbered")] == ["What?", "And then?"]


def test_a_fork_and_a_run_without_a_session_leave_a_memory_alone() -> None:
    memory = Memory()
    agent = Agent("echo", session_memory=memory, journal="memory")
    agent.run("no session")
    run = agent.run("What?", session="s").run
    run.fork(1).drive()
    assert [message.content for message in memory.kept["s"]] == ["What?", "1. What?"] and len(memory.kept) == 1


@pytest.mark.parametrize("memory", ["forever", 5, object()])
def test_anything_else_is_not_a_session_memory(memory: Any) -> None:
    with pytest.raises(OptionError, match="session_memory must be"):
        Agent("echo", session_memory=memory)
