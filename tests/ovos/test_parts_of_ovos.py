"""Chat engines, toolboxes, memories and persona files of OVOS in an agent of agentkit."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest
from loopback import Loopback, answer
from ovos.scripted_brains import NativeBrain, TextBrain
from ovos_persona.memory import BasicShortTermMemory
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from agentkit import Agent
from agentkit.agent import persona
from agentkit.errors import Unknown, UsageError
from agentkit.integrations import ovos

NATIVE = [["evaluate_expression", {"expression": "6 * 7"}], "It is 42."]


def completion(**message: Any) -> bytes:
    choice = {"message": {"role": "assistant", "content": None, **message}}
    return answer(json.dumps({"choices": [choice]}), kind="application/json")


def test_a_real_chat_engine_of_ovos_is_a_model_that_calls_tools_natively() -> None:
    function = {"name": "evaluate_expression", "arguments": '{"expression": "6 * 7"}'}
    call = {"id": "c1", "type": "function", "function": function}
    with Loopback([completion(tool_calls=[call]), completion(content="It is 42.")]) as host:
        engine = ovos.chat_engine("ovos-chat-openai-plugin", {"api_url": f"{host.url}/v1", "key": "x", "model": "m"})
        agent = Agent(engine, [ovos.toolbox("ovos-math-tools")], journal="memory")
        assert agent.run("What is 6 times 7?").answer == "It is 42."
    first, second = (got.json for got in host.got)
    assert first["tools"][0]["function"]["name"] == "evaluate_expression"
    assert second["messages"][1]["tool_calls"][0] == call
    assert second["messages"][2]["tool_call_id"] == "c1" and '"result": 42.0' in second["messages"][2]["content"]


def test_a_chat_engine_states_whether_it_calls_tools(brains: type[TextBrain]) -> None:
    assert Agent(NativeBrain({})).model.abilities.tools and not Agent(TextBrain({})).model.abilities.tools


@pytest.mark.parametrize("box", ["ovos-clock-tools", "ovos-filesystem-tools", "ovos-shell-tools", "ovos-math-tools"])
def test_toolboxes_of_ovos_are_tools(box: str) -> None:
    real = ovos.toolbox(box)
    agent = Agent("echo", [real], journal="memory")
    assert [tool.name for tool in agent.tools.tools] == [tool.name for tool in real.discover_tools()]
    assert all(tool.parameters["type"] == "object" for tool in agent.tools.tools)


def test_the_configuration_of_a_toolbox_reaches_it(tmp_path: Any) -> None:
    (tmp_path / "note.txt").write_text("hello")
    box = ovos.toolbox("ovos-filesystem-tools", {"root_path": str(tmp_path)})
    model = NativeBrain({"script": [["read_file", {"path": "note.txt"}], "read"]})
    run = Agent(model, [box], journal="memory").run("Read it.").run
    assert "hello" in next(message.text for message in run.messages if message.role == "tool")


@pytest.mark.parametrize("make", [ovos.chat_engine, ovos.toolbox, ovos.memory])
def test_an_unknown_or_broken_plug_in_is_an_error_with_a_hint(make: Any) -> None:
    with pytest.raises(Unknown, match="plug-in of OVOS 'no-such-plug-in'"):
        make("no-such-plug-in")


def test_a_plug_in_that_cannot_be_made_says_why() -> None:
    with pytest.raises(UsageError, match="cannot make the OVOS plug-in 'broken-brain': OSError: the model file"):
        ovos.chat_engine("broken-brain")


# -- memory ------------------------------------------------------------------------------------------------------------


def test_a_memory_of_ovos_keeps_the_sessions_of_an_agent(brains: type[TextBrain]) -> None:
    memory = ovos.memory("ovos-agents-short-term-memory-plugin", {"system_prompt": "Be brief.", "max_history": 4})
    agent = Agent(TextBrain({"echo": True}), session_memory=memory, journal="memory")
    for session, text in (("a", "one"), ("b", "two"), ("a", "three"), ("a", "four")):
        agent.run(text, session=session)
    told = [(message.role.value, message.content) for message in brains.seen[-1]["messages"]]
    turns = [("user", "one"), ("assistant", "default: one"), ("user", "three"), ("assistant", "default: three")]
    assert told == [("system", "Be brief."), *turns, ("user", "four")]
    kept = memory.get_history("a")
    assert [message.content for message in kept] == ["three", "default: three", "four", "default: four"]
    assert all(type(message) is AgentMessage and type(message.role) is MessageRole for message in kept)
    agent.run("no session")
    assert [message.content for message in brains.seen[-1]["messages"]] == ["no session"]
    assert memory.get_history("a") == kept


class Reminding(BasicShortTermMemory):
    """A memory that adds what it knows to the question."""

    def build_conversation_context(self, utterance: str, session_id: str) -> list[AgentMessage]:
        context = super().build_conversation_context(utterance, session_id)
        context[-1].content += " (It is Monday.)"
        return context


def test_a_memory_may_add_to_the_question_but_keeps_what_was_asked(brains: type[TextBrain]) -> None:
    memory = Reminding()
    agent = Agent(TextBrain({"echo": True}), session_memory=memory, journal="memory", instructions="Be kind.")
    run = agent.run("What day is it?", session="s").run
    asked = [message.content for message in brains.seen[-1]["messages"]]
    assert asked == ["Be kind.", "What day is it? (It is Monday.)"]
    assert memory.get_history("s")[0].content == "What day is it?"
    assert [turn.question for turn in agent.memory.turns("s")] == ["What day is it?"]
    assert run.messages[1].text.endswith("(It is Monday.)")


class Forgetful(BasicShortTermMemory):
    def build_conversation_context(self, utterance: str, session_id: str) -> list[AgentMessage]:
        return []


def test_a_memory_that_loses_the_question_is_refused() -> None:
    with pytest.raises(UsageError, match="Forgetful must return messages of which the last one is the user's"):
        Agent("echo", session_memory=Forgetful(), journal="memory").run("q", session="s")


def test_a_run_with_a_memory_of_ovos_is_resumed_with_what_it_was_told() -> None:
    memory = ovos.memory("ovos-agents-short-term-memory-plugin")
    agent = Agent(TextBrain({"echo": True}), session_memory=memory)
    agent.run("one", session="s")
    run = agent.start("two", session="s", paused=True)
    run.close()
    assert [message.text for message in agent.resume(run.id).messages] == ["one", "default: one", "two"]


# -- persona files -----------------------------------------------------------------------------------------------------


def quiet(config: dict[str, Any], **more: Any) -> Agent:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return persona.load(config, journal="memory", **more)


OPTIONS = {
    "brain": "native-brain",
    "native-brain": {"script": NATIVE},
    "toolboxes": ["ovos-math-tools"],
    "ovos-math-tools": {},
    "max_reflections": "2",
    "max_iterations": "8",
    "enabled": True,
}


@pytest.mark.parametrize(
    "config",
    [
        {"solvers": ["ovos-reflexion-loop"], "plugin-config": {"ovos-reflexion-loop": OPTIONS}},
        {"solvers": ["ovos-reflexion-loop"], "ovos-reflexion-loop": OPTIONS},
        {"handlers": ["ovos-reflexion-loop"], "ovos-reflexion-loop": OPTIONS},
        {"name": "Ada", "handlers": ["not-installed", "agentkit-reflexion"], "agentkit-reflexion": OPTIONS},
    ],
)
def test_a_persona_file_is_read_in_each_spelling(config: dict[str, Any], recwarn: pytest.WarningsRecorder) -> None:
    agent = persona.load(config, journal="memory")
    assert agent.engine_options == {"max_reflections": 2, "max_iterations": 8}
    assert agent.model.name == "NativeBrain" and len(agent.tools.tools) == 4
    assert [str(warning.message)[:14] for warning in recwarn] == ["unknown engine"] * ("name" in config)


def test_a_persona_of_a_chat_engine_alone_talks_to_it(brains: type[TextBrain]) -> None:
    config = {"handlers": ["text-brain"], "text-brain": {"echo": True}}
    assert quiet(config).run("Hello").answer == "default: Hello"
    assert [message.content for message in brains.seen[-1]["messages"]] == ["Hello"]


def test_the_memory_and_the_system_prompts_of_a_persona_are_used(brains: type[TextBrain]) -> None:
    memory = "ovos-agents-short-term-memory-plugin"
    config = {
        "handlers": ["switched-off", "ovos-react-loop"],
        "switched-off": {"enabled": False},
        "memory_module": memory,
        memory: {"system_prompt": "You are Ada.", "max_history": "many"},
        "ovos-react-loop": {"brain": "text-brain", "text-brain": {"echo": True}, "system_prompt": "Be brief."},
    }
    config[memory]["max_history"] = 2
    agent = quiet(config)
    for text in ("one", "two"):
        agent.run(text, session="s")
    told = [message.content for message in brains.seen[-1]["messages"]]
    assert told == ["You are Ada.\n\nBe brief.", "one", "default: one", "two"]
    assert quiet(config).options["instructions"] == "You are Ada.\n\nBe brief."


def test_a_memory_that_is_not_installed_is_left_out_with_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match="unknown memory plug-in of OVOS 'no-memory'"):
        agent = persona.load({"handlers": ["react"], "memory_module": "no-memory"}, "echo", journal="memory")
    assert "session_memory" not in agent.options


def test_the_brains_of_roles_may_be_chat_engines_of_ovos() -> None:
    options = {"brain": "text-brain", "text-brain": {"script": ["Paris"]}, "native-brain": {"script": ["SATISFACTORY"]}}
    config = {"solvers": ["reflexion"], "reflexion": {**options, "roles": {"evaluate": "native-brain"}}}
    agent = quiet(config)
    assert agent.run("Capital of France?").answer == "Paris" and agent.roles["evaluate"].name == "NativeBrain"
