"""What a person types by mistake, and the sentence that says what to type instead."""

from __future__ import annotations

import asyncio
import copy
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import agentkit
from agentkit import (
    Act,
    Agent,
    All,
    Answer,
    Ask,
    Budget,
    Call,
    Chat,
    Conclude,
    Message,
    Reply,
    Think,
    Tool,
    Usage,
    tool,
)
from agentkit.errors import Unknown, UsageError
from agentkit.models import Abilities, Scripted
from agentkit.tools.sources import source


def read(path: str) -> str:
    """Read a file."""
    return path


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        (lambda: next(Agent("echo")), r"run = agent\.start\(task, paused=True\), then next\(run\)"),
        (lambda: tool(readonly=True), "unknown option 'readonly' of @tool; use effect=\"pure\""),  # type: ignore[call-overload]
        (lambda: tool(read, read_only=True), "unknown option 'read_only' of @tool; use effect=\"pure\""),  # type: ignore[call-overload]
        (lambda: tool(return_direct=True), "use ends_turn=True"),  # type: ignore[call-overload]
        (lambda: tool(efect="pure"), "did you mean 'effect'?"),  # type: ignore[call-overload]
        (lambda: Budget(tokens=5), "unknown limit of a budget 'tokens'; did you mean 'max_tokens'?"),  # type: ignore[call-arg]
        (lambda: Budget.of({"max_token": 5}), "did you mean 'max_tokens'?"),
        (lambda: Agent(modle="echo"), "unknown agent option 'modle'; did you mean 'model'?"),  # type: ignore[call-arg]
        (lambda: Agent("echo", journal=None).run(" \n"), "the task is empty"),
    ],
)
def test_a_mistake_gets_one_sentence_that_says_what_to_type(mistake: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as error:
        mistake()
    assert "\n" not in str(error.value)


FORGETFUL = Agent("echo", journal=None)
PUBLIC = [
    *(value for name in agentkit.__all__ if not isinstance(value := getattr(agentkit, name), Tool)),
    *(getattr(agentkit.models, name) for name in agentkit.models.__all__),
    *(FORGETFUL.run, FORGETFUL.start, FORGETFUL.resume, FORGETFUL.look, source),
]
VALUES = (Abilities, Act, All, Answer, Ask, Call, Chat, Conclude, Message, Reply, Think, Usage)
"""Plain values, most of which a run makes often: their arguments are not checked, and Python names the wrong one."""
OF_RUNS = (agentkit.Result, agentkit.Run, agentkit.Status, agentkit.Stepper)
"""Classes whose objects people are given, and do not make."""


def required(function: Any) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {p.name: "x" for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD,)}


@pytest.mark.parametrize("function", PUBLIC, ids=lambda function: function.__qualname__)
def test_a_misspelled_argument_of_anything_public_gets_the_right_name(function: Any) -> None:
    if function in OF_RUNS or function in (
        agentkit.recommend,
        agentkit.structured,
        agentkit.Loop,
        agentkit.models.Echo,
    ):
        return
    if function is Tool:
        function = tool
    names = {Budget: list(Budget.__dataclass_fields__)}.get(function) or [
        p.name
        for p in inspect.signature(function).parameters.values()
        if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    for name in (name for name in names if name != "self" and len(name) > 2):
        given = {key: value for key, value in required(function).items() if key != name}
        if function in VALUES:
            with pytest.raises(TypeError, match=name + "x"):
                function(**given, **{name + "x": 1})
        else:
            with pytest.raises(Unknown, match=f"unknown .* '{name}x' ?.*did you mean '{name}'\\?|use"):
                function(**given, **{name + "x": 1})


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        (lambda: Scripted(5), "replies of Scripted must be a list, not 5"),
        (lambda: Scripted(["a"], chunks="4"), "chunks of Scripted must be an int, not '4'"),
        (lambda: agentkit.models.Fallback(5), "models of Fallback must be a list, not 5"),
        (lambda: agentkit.models.OpenAI(5), "model of OpenAI must be a str, not 5"),
        (lambda: agentkit.models.OpenAI("m", api_key=7), "api_key of OpenAI must be a str or None, not 7"),
        (lambda: agentkit.models.OpenAI("m", timeout="9"), "timeout of Remote must be a number, not '9'"),
        (lambda: agentkit.models.Ollama("m", base_url=5), "base_url of Ollama must be a str or None, not 5"),
        (lambda: agentkit.ToolBox(5), "tools of ToolBox must be a list, not 5"),
        (lambda: agentkit.compare("q", 5), "engines of compare must be a list, not 5"),
        (lambda: agentkit.compare("q", agents="ab"), "an agent must be an Agent, not 'a'"),
        (lambda: agentkit.compare("q", ["react"], shared=[]), "shared of compare must be a dict"),
        (lambda: agentkit.load({}, "echo"), "agent of load must be an? Agent or None, not 'echo'"),
        (lambda: Agent("echo").run("q", session=5), "session"),
        (lambda: source(5, print), "get_tool_schemas of source must be a function, not 5"),
    ],
)
def test_a_value_of_a_wrong_type_gets_one_sentence(mistake: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as error:
        mistake()
    assert "\n" not in str(error.value)


RUN = Agent("echo", journal="memory").run("q").run


@pytest.mark.parametrize(
    ("owner", "name", "sentence"),
    [
        (RUN, "chat", "'Run' object has no attribute 'chat'; use run.messages"),
        (RUN, "steps", "use run.entries"),
        (RUN, "text", "use run.answer"),
        (RUN, "resume", r"use run.play\(\), or run.drive\(\) to wait"),
        (RUN, "entrys", "did you mean 'entries'?"),
        (RUN, "perfomer", "did you mean 'performer'?"),
        (RUN.result, "chat", "'Result' object has no attribute 'chat'; use result.run.messages"),
        (RUN.result, "trace", "use result.run.trace"),
        (RUN.result, "fork", "use result.run.fork"),
        (RUN.result, "text", "use result.answer$"),
        (RUN.result, "cost", "use result.usage$"),
        (RUN.result, "anwser", "did you mean 'answer'?"),
        (Agent("echo"), "invoke", r"'Agent' object has no attribute 'invoke'; use agent.run\(task\)"),
        (Agent("echo"), "strat", "did you mean 'start'?"),
    ],
)
def test_a_missing_attribute_names_the_right_one(owner: Any, name: str, sentence: str) -> None:
    assert not hasattr(owner, name)
    with pytest.raises(AttributeError, match=sentence):
        getattr(owner, name)


@pytest.mark.parametrize("owner", [RUN, RUN.result, Agent("echo")])
def test_each_hint_names_attributes_that_exist(owner: Any) -> None:
    known = {"run": RUN, "result": RUN.result, "agent": Agent("echo"), "agentkit": agentkit}
    for name, hint in owner.meant_by.items():
        assert not hasattr(owner, name) or name in dir(owner)
        for first, rest in re.findall(r"\b(run|result|agent|agentkit)((?:\.\w+)+)", hint):
            value = known[first]
            for part in rest[1:].split("."):
                assert hasattr(value, part), (name, hint)
                value = getattr(value, part)


@pytest.mark.parametrize("owner", [RUN, RUN.result, Agent("echo")])
def test_names_that_python_and_notebooks_look_for_are_just_missing(owner: Any) -> None:
    for name in ("_repr_png_", "_ipython_canary_method_should_not_exist_", "__deepcopy__", "_ansers"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'$"):
            getattr(owner, name)


def test_an_error_inside_of_a_property_is_not_hidden() -> None:
    class Broken(type(RUN)):  # type: ignore[misc]
        @property
        def chat(self) -> Any:
            return self.no_such_part

    with pytest.raises(AttributeError, match="no_such_part"):
        _ = object.__new__(Broken).chat


def test_a_budget_is_copied_as_before() -> None:
    budget = Budget(max_tokens=5, ask=True)
    assert copy.copy(budget) == copy.deepcopy(budget) == replace(budget) == Budget(5, ask=True) == budget


def test_a_result_may_be_awaited() -> None:
    async def main() -> str:
        return (await Agent("echo", journal=None).run("hello")).answer

    assert asyncio.run(main()) == "hello"


def test_a_script_with_calls_needs_no_abilities() -> None:
    model = Scripted([Reply("", (Call("read", {"path": "a"}),)), "done"])
    result = Agent(model, [tool(effect="pure")(read)], journal=None).run("q")
    assert (result.answer, result.error, result.tool_calls_count) == ("done", None, 1)


def test_an_engine_is_recommended_at_the_front() -> None:
    assert [choice.engine for choice in agentkit.recommend("facts")] == ["critic"]


PROGRAM = """
import pdb, sys
from agentkit import Agent, Call, Reply, tool
from agentkit.models import Scripted

@tool(effect="pure")
def divide(number: int) -> float:
    return 1 / number

sys.ps1 = ">>> "
run = Agent(Scripted([Reply("", (Call("divide", {"number": 0}),)), "x"]), [divide], journal=None).start("q", paused=True)
next(run), next(run)
pdb.pm()
"""


def test_where_a_person_types_the_debugger_opens_the_tool_that_raised() -> None:
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM], input="p 'number is', number\nq\n", capture_output=True, text=True
    )
    assert "('number is', 0)" in finished.stdout, finished.stderr


def test_the_end_of_a_line_is_visible_in_a_trace() -> None:
    run = Agent(Scripted(["one\n\n  two"]), journal=None).run("first\nsecond").run
    assert repr(run).splitlines()[1:] == [
        "  0 Task         first ⏎ second",
        "  1 Thought      one ⏎ two",
        "  2 Answer       one ⏎ two",
    ]
