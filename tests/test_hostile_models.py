"""Models, engines and parameters that misbehave: a clear error, and a run that can be tried again."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit import Agent, Answer, Chat, Loop, Think, tool
from agentkit.errors import EngineError, NotRecorded, Unknown, UsageError
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.parametrize("output", [None, 7, object()])
def test_an_invalid_reply_is_a_typed_error_and_the_run_can_be_tried_again(output: Any) -> None:
    outputs = [output, "fine"]
    run = Agent(lambda request: outputs.pop(0), journal="memory").start("q", paused=True)
    assert run.drive().error is not None and run.status == "failed"
    assert run.drive().answer == "fine"


def test_a_script_that_is_too_short_says_what_was_requested() -> None:
    result = Agent(Scripted(['Action: add\nAction Input: {"a": 1, "b": 2}']), [add], journal="memory").run("q")
    assert isinstance(result.error, NotRecorded) and "1" in str(result.error)


@pytest.mark.parametrize(
    "text", ["Action: add\nAction Input: {" * 40_000, "Observation:\n" * 80_000, "<think>" * 150_000, "```\n" * 250_000]
)
def test_a_megabyte_of_markers_can_be_read_and_ends_the_run(text: str) -> None:
    result = Agent(Scripted([text, text, text]), [add], journal="memory", engine=Loop("react", max_iterations=2)).run(
        "q", timeout=60
    )
    assert result.error is None or isinstance(result.error, NotRecorded)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"engine": Loop("react", max_iterations=0)}, ValueError, "at least 1"),
        ({"engine": Loop("react", max_iterations=True)}, ValueError, "must be an integer"),
        ({"engine": Loop("react", max_iterations="3")}, ValueError, "must be an integer"),
        ({"engine": Loop("react", max_iteration=3)}, Unknown, "did you mean 'max_iterations'"),
        ({"max_iterations": 3}, Unknown, r'engine=Loop\("react", max_iterations='),
        ({"instruction": "x"}, Unknown, "did you mean 'instructions'"),
        ({"engine": Loop("react", force_answer="no")}, ValueError, "force_answer"),
        ({"engine": "recat"}, Unknown, "did you mean 'react'"),
        ({"engine": lambda task: None}, UsageError, "generator function"),
        ({"model": "offlin"}, Unknown, "did you mean 'offline'"),
        ({"dialect": "natve"}, ValueError, "dialect must be 'native', 'json' or 'text'"),
        ({"tools": ["maths"]}, Unknown, "did you mean 'math'"),
        ({"tools": [42]}, UsageError, "42"),
        ({"repair": 3}, ValueError, "repair"),
        ({"max_tool_calls": 0}, ValueError, "max_tool_calls"),
    ],
)
def test_a_bad_parameter_is_refused_at_construction(options: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        Agent(**{"model": "offline", **options})


def raises_at_once(task: Any) -> Any:
    raise KeyError("before the first step")
    yield


def yields_nonsense(task: Any) -> Any:
    yield 42


def returns_nothing(task: Any) -> Any:
    yield Think(Chat.of(task))


def swallows_its_end(task: Any) -> Any:
    try:
        for _ in range(9):
            yield Think(Chat.of(task))
    except GeneratorExit:
        yield Think(Chat.of(task))


@pytest.mark.parametrize(
    ("engine", "says"),
    [
        (raises_at_once, "before the first step"),
        (yields_nonsense, "yields steps"),
        (returns_nothing, "must return Answer"),
    ],
)
def test_a_broken_engine_is_an_error_that_names_it(engine: Any, says: str) -> None:
    result = Agent("echo", engine=engine, journal="memory").run("q")
    assert isinstance(result.error, EngineError) and says in str(result.error)
    with pytest.raises(EngineError, match=says):
        next(result.run)


def test_an_engine_that_refuses_to_end_can_still_be_undone() -> None:
    run = Agent("echo", engine=swallows_its_end, journal="memory").start("q", paused=True)
    next(run)
    next(run)
    run.undo()
    assert len(run) == 2
    run.trace.stepper.close()


def test_an_engine_without_steps_is_done_at_once() -> None:
    def knows(task: Any) -> Any:
        return Answer("42", Chat.of(task))
        yield

    run = Agent("echo", engine=knows, journal="memory").start("q")
    assert (run.status, run.wait().answer) == ("done", "42")
    assert [event.kind for event in run.events()] == ["started", "concluding", "completed", "resume_done"]
