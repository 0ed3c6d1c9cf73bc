"""What a person types by mistake, and the sentence that says what to type instead."""

from __future__ import annotations

import asyncio
import copy
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import agentkit
from agentkit import Agent, Budget, Call, Reply, tool
from agentkit.errors import UsageError
from agentkit.models import Scripted


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
