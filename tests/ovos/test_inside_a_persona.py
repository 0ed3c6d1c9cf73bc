"""The engines as plug-ins inside a real persona of OVOS, with real toolboxes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from ovos.scripted_brains import NativeBrain, TextBrain
from ovos_bus_client.session import Session
from ovos_persona import Persona
from ovos_plugin_manager.agents import find_chat_plugins
from ovos_plugin_manager.templates.agent_tools import AgentTool, ToolArguments, ToolBox, ToolOutput
from ovos_plugin_manager.templates.agents import AgentMessage, ChatEngine, MessageRole

import agentkit
from agentkit.engines.registry import ALIASES, ENGINES
from agentkit.errors import OptionError, UsageError
from agentkit.integrations import ovos
from agentkit.journal import open_journal

IDS = [name for name in ALIASES if name.startswith("ovos-")]
MULTIPLY = {"expression": "6 * 7"}
NATIVE = [["evaluate_expression", MULTIPLY], "It is 42."]
TEXT = [
    'Thought: I multiply.\nAction: evaluate_expression\nAction Input: {"expression": "6 * 7"}',
    "Thought: done\nFINAL_ANSWER: It is 42.",
]


def persona(engine: str, *others: str, **options: Any) -> Persona:
    blocks = {name: options.pop(name) for name in others if name in options}
    return Persona("Ada", {"handlers": [engine, *others], engine: options, **blocks})


def ask(persona: Persona, utterance: str = "What is 6 times 7?", session: str = "kitchen", **about: Any) -> str | None:
    place = Session(session, **about)
    messages = persona.get_messages(utterance, place)
    answer = persona.chat(messages, place)
    persona.remember(utterance, answer, place)
    return answer


def user(text: str) -> list[AgentMessage]:
    return [AgentMessage(MessageRole.USER, text)]


# -- found -------------------------------------------------------------------------------------------------------------

FOUND = (
    "from ovos_plugin_manager.agents import find_chat_plugins as f; [print(k, v.__module__) for k, v in f().items()]"
)


def test_the_engines_are_found_under_the_ids_of_the_loops_of_ovos() -> None:
    command = [sys.executable, "-W", "ignore", "-c", FOUND]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # without ovos-agentic-loop
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=True)
    found = dict(line.split() for line in done.stdout.splitlines() if line.count(" ") == 1)
    assert {found.get(name) for name in IDS} == {"agentkit.integrations.ovos"} and len(IDS) == 8


def test_each_engine_is_found_under_an_id_that_no_other_package_has() -> None:
    found = find_chat_plugins()
    ours = {name for name, made in found.items() if issubclass(made, ovos.LoopEngine) and name.startswith("agentkit-")}
    assert {found[name].engine for name in ours} == ENGINES.keys() and len(ours) == len(ENGINES)
    assert all(ALIASES[name] == found[name].engine for name in ours)


def test_the_ids_name_the_same_engines_for_ovos_and_for_agentkit() -> None:
    points = [point for point in entry_points(group="opm.agents.chat") if "agentkit" in point.value]
    assert {point.name: point.load().engine for point in points} == ALIASES


# -- a run -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("brain", "script"), [("text-brain", TEXT), ("native-brain", NATIVE)])
def test_a_persona_answers_with_a_brain_and_a_toolbox_of_ovos(
    brain: str, script: list[Any], brains: type[TextBrain]
) -> None:
    options = {"brain": brain, brain: {"script": script}, "toolboxes": ["ovos-math-tools"], "max_iterations": "4"}
    assert ask(persona("agentkit-react", **options), lang="en-us") == "It is 42."
    first, second = brains.seen
    assert (first["session"], first["lang"]) == ("kitchen", "en-US") and first["units"]
    assert '"result": 42.0' in second["messages"][-1].content
    if brain == "native-brain":
        asked, answered = second["messages"][-2:]
        assert (asked.tool_calls[0].name, asked.tool_calls[0].arguments) == ("evaluate_expression", MULTIPLY)
        assert (answered.role, answered.tool_call_id) == (MessageRole.TOOL, asked.tool_calls[0].id)
        assert len(ToolBox.normalize_tools(second["tools"])) == 4
    else:
        assert second["messages"][-1].role == MessageRole.USER and second["tools"] is None


def test_every_answer_is_a_run_in_the_journal_unless_it_is_switched_off() -> None:
    options = {"brain": "native-brain", "native-brain": {"script": NATIVE}, "toolboxes": ["ovos-math-tools"]}
    ask(persona("agentkit-react", **options))
    [info] = open_journal("sqlite").runs()
    run = agentkit.look(info.run)
    assert [message.role for message in run.messages] == ["user", "assistant", "tool", "assistant"]
    ask(persona("agentkit-react", **options, journal=None))
    assert len(list(open_journal("sqlite").runs())) == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_answers_in_a_persona(engine: str) -> None:
    name = f"agentkit-{engine.replace('_', '-')}"
    options = {"brain": "text-brain", "text-brain": {"script": ["FINAL_ANSWER: 42"]}, "toolboxes": ["ovos-math-tools"]}
    assert "42" in (ask(persona(name, **options)) or "")


def test_the_engine_is_streamed_in_sentences() -> None:
    options = {"brain": "text-brain", "text-brain": {"script": ["One.\nTwo."]}}
    asked = persona("agentkit-react", **options)
    assert list(asked.stream(user("Count."), Session("s"))) == ["One.", "Two."]
    engine = asked.solvers.loaded_modules["agentkit-react"]
    assert list(engine.stream_tokens(user("Count."))) == ["One.", "Two."]
    assert engine.get_response("Count.") == "One.\nTwo."


def test_a_memory_of_the_persona_keeps_its_sessions_apart(brains: type[TextBrain]) -> None:
    asked = persona("agentkit-react", brain="text-brain", **{"text-brain": {"echo": True}})
    ask(asked, "I am Ada.", "kitchen")
    ask(asked, "I am Bob.", "hall")
    assert ask(asked, "Who am I?", "kitchen") == "kitchen: Who am I?"
    assert [message.content for message in brains.seen[-1]["messages"]] == [
        *("I am Ada.", "kitchen: I am Ada.", "Who am I?"),
    ]


def test_many_sessions_ask_at_once() -> None:
    asked = persona("agentkit-react", brain="text-brain", **{"text-brain": {"echo": True}})
    start = threading.Barrier(8)

    def talk(number: int) -> list[str | None]:
        start.wait()
        return [ask(asked, f"{number}.{turn}", f"session {number}") for turn in range(5)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(talk, range(8)))
    assert answers == [[f"session {n}: {n}.{turn}" for turn in range(5)] for n in range(8)]
    assert len(list(open_journal("sqlite").runs())) == 40


def test_a_brain_is_asked_by_one_thread_at_a_time() -> None:
    class Guarded(TextBrain):
        def continue_chat(self, *arguments: Any, **more: Any) -> AgentMessage:
            assert self.busy.acquire(blocking=False), "two threads ask at once"
            try:
                threading.Event().wait(0.01)
                return super().continue_chat(*arguments, **more)
            finally:
                self.busy.release()

    engine = ovos.TreeOfThoughts({"n_branches": 4, "max_depth": 2})
    engine.set_brain(Guarded({"script": ["Score: 5"]}))
    assert engine.continue_chat(user("q")).content == "Score: 5"


# -- failures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"brain": "text-brain", "text-brain": {"raises": "the host is down"}},
        {"brain": "text-brain", "text-brain": {"script": ["no"]}, "max_iterations": 0},
        {"brain": "text-brain", "text-brain": {"script": ["no"]}, "max_iterations": "many"},
        {"brain": "text-brain", "text-brain": {"script": [5]}},
        {"brain": "text-brain", "text-brain": {"script": [""]}},
    ],
)
def test_a_persona_falls_through_to_its_next_handler(options: dict[str, Any]) -> None:
    asked = persona("agentkit-react", "text-brain", **options)
    asked.solvers.loaded_modules["text-brain"].config = {"script": ["I am the next one."]}
    assert ask(asked) == "I am the next one."
    assert list(asked.stream(user("q"), Session("s"))) == ["I am the next one."]


def test_the_error_is_that_of_the_brain() -> None:
    engine = ovos.ReAct({"brain": "text-brain", "text-brain": {"raises": "the host is down"}})
    with pytest.raises(ConnectionError, match="the host is down"):
        engine.continue_chat(user("q"))
    with pytest.raises(OptionError, match="max_iterations"):
        ovos.ReAct({"max_iterations": 0}).continue_chat(user("q"))


@pytest.mark.parametrize("name", IDS)
def test_without_a_brain_an_engine_says_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTKIT_MODEL", "echo")
    assert ask(persona(name)) == "Error: no brain configured."


@pytest.mark.parametrize("brain", [None, "", "no-such-brain", "broken-brain", 5, [], {"a": 1}, "ovos-math-tools"])
def test_what_is_not_a_brain_is_none(brain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTKIT_MODEL", "echo")
    assert ovos.ReAct({"brain": brain}).continue_chat(user("q")).content == "Error: no brain configured."


def test_a_brain_that_is_set_takes_the_place_of_that_of_the_configuration() -> None:
    engine = ovos.ReAct({"brain": "echo", "tools": ["math"], "toolboxes": ["ovos-clock-tools"]})
    engine.set_brain(TextBrain({"script": ["FINAL_ANSWER: set"]}))
    assert engine.continue_chat(user("q")).content == "set"
    assert {tool.name for tool in engine.agent().tools.tools} > {"get_current_datetime"}


def test_an_engine_is_the_brain_of_another() -> None:
    inner = {"brain": "text-brain", "text-brain": {"script": ["FINAL ANSWER: 42"]}}
    engine = ovos.ReAct({"brain": "agentkit-chain-of-thought", "agentkit-chain-of-thought": inner})
    assert engine.continue_chat(user("q")).content == "42"


def test_a_model_of_agentkit_is_a_brain() -> None:
    assert ask(persona("agentkit-react", brain="echo"), "Hello!") == "Hello!"


@pytest.mark.parametrize(
    "boxes", [["no-such-tools", "ovos-math-tools"], ["broken-tools", "ovos-math-tools"], "ovos-math-tools"]
)
def test_a_toolbox_that_cannot_be_loaded_does_not_stop_the_others(boxes: Any) -> None:
    options = {"brain": "native-brain", "native-brain": {"script": NATIVE}, "toolboxes": boxes}
    asked = persona("agentkit-react", **options)
    assert ask(asked) == "It is 42."


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "options",
    [
        {"toolboxes": 5},
        {"toolboxes": {"a": 1}},
        {"toolboxes": [5, None, []]},
        {"toolboxes": ["ovos-math-tools"], "ovos-math-tools": 5},
        {"no_such_option": 1, "journal": "/tmp/x.db", "discover": "/"},
        {"lang": "de-de", "enabled": True},
    ],
)
def test_a_strange_configuration_does_not_keep_the_engine_from_answering(options: dict[str, Any]) -> None:
    assert ask(persona("agentkit-react", brain="text-brain", **{"text-brain": {"script": ["42"]}}, **options)) == "42"


@pytest.mark.parametrize("messages", [[], [AgentMessage(MessageRole.USER, "  ")]])
def test_nothing_to_answer_is_an_error(messages: list[AgentMessage]) -> None:
    with pytest.raises(UsageError, match="the task is empty"):
        ovos.ReAct({"brain": "echo"}).continue_chat(messages)


class Divide(ToolArguments):
    by: int


class Quotient(ToolOutput):
    result: float


class Division(ToolBox):
    """A toolbox whose tool fails, and that wants a brain."""

    def __init__(self, config: dict[str, Any] | None = None, bus: Any = None) -> None:
        super().__init__("division", config, bus)
        self.brain: Any = None

    def set_brain(self, brain: Any) -> None:
        self.brain = brain

    def discover_tools(self) -> list[AgentTool]:
        return [AgentTool("divide", "Divide one.", Divide, Quotient, lambda arguments: {"result": 1 / arguments.by})]


def test_the_model_reads_the_error_of_a_tool(brains: type[TextBrain]) -> None:
    engine = ovos.ReAct()
    engine.load_toolboxes([box := Division()])
    engine.set_brain(brain := NativeBrain({"script": [["divide", {"by": 0}], ["divide", {"by": "x"}], "Sorry."]}))
    assert engine.continue_chat(user("q")).content == "Sorry." and box.brain is brain
    failed, refused = brains.seen[1]["messages"][-1].content, brains.seen[2]["messages"][-1].content
    assert "division by zero" in failed and "by" in refused


def test_the_final_answer_is_asked_for_without_tools(brains: type[TextBrain]) -> None:
    engine = ovos.ReAct({"max_iterations": 1, "toolboxes": ["ovos-math-tools"]})
    engine.set_brain(NativeBrain({"script": NATIVE}))
    assert engine.continue_chat(user("q")).content == "It is 42."
    assert brains.seen[0]["tools"] and brains.seen[1]["tools"] is None


def test_an_engine_is_a_chat_engine_that_calls_its_own_tools() -> None:
    engine = ovos.ReAct({"brain": "echo"})
    assert isinstance(engine, ChatEngine) and engine.supports_tools is False
    noop = {"type": "function", "function": {"name": "noop"}}
    assert engine.continue_chat(user("hi"), tools=[noop]).content == "hi"


def test_loading_a_persona_imports_nothing_of_ovos_that_it_does_not_name(tmp_path: Path) -> None:
    code = "import sys; from agentkit.agent import persona; persona.load({}, 'echo'); print(*sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
    assert "agentkit.agent.persona" in done.stdout and "ovos" not in done.stdout


# -- the page on OVOS --------------------------------------------------------------------------------------------------

PAGE = (Path(__file__).parents[2] / "docs" / "ovos.md").read_text(encoding="utf-8")


def test_the_documented_persona_is_one() -> None:
    config = json.loads(PAGE.split("```json")[1].split("```")[0])
    made = Persona(config["name"], config)
    assert list(made.solvers.loaded_modules) == sorted(config["handlers"])
    engine = made.solvers.loaded_modules["agentkit-reflexion"]
    assert type(engine.brain).__name__ == "OpenAIChatEngine" and len(engine.toolboxes) == 2
    assert engine.agent().engine_options == {"max_reflections": 2, "max_iterations": 8}


def test_the_documented_ids_are_all_that_there_are() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)} == ALIASES.keys()
