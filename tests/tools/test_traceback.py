"""If a tool raises, a person sees the traceback from the tool's code on; the model sees only the error."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from agentkit import Agent, Call, Reply, tool
from agentkit.core.messages import message_from_json, message_to_json
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.tools.builtin.math import calculate
from agentkit.tools.observations import TRACEBACK, raised


def look_up(key: str) -> str:
    try:
        return {"a": "b"}[key]
    except KeyError as error:
        raise ValueError("no such key") from error


def traceback_of(message: Any) -> str:
    return message.value["mime"][TRACEBACK]


def act(failing: Any, *, play: bool) -> tuple[Any, str]:
    """Run an agent that calls the tool once; return the run and what the model read about the call."""
    model = Scripted([Reply("", (Call("fail", {}, "c"),)), "done"], abilities=Abilities(tools=True))
    agent = Agent(model, [failing], journal="memory")
    run = agent.start("q", paused=not play)
    run.wait(30) if play else run.drive()
    return run, model.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize("play", [False, True])
@pytest.mark.parametrize("timeout", [None, 5.0])
@pytest.mark.parametrize("is_async", [False, True])
def test_the_traceback_begins_in_the_tool_and_shows_the_cause(
    play: bool, timeout: float | None, is_async: bool
) -> None:
    if is_async:

        @tool(name="fail", timeout=timeout)
        async def fail() -> str:
            return look_up("k")

    else:

        @tool(name="fail", timeout=timeout)
        def fail() -> str:
            return look_up("k")

    run, observed = act(fail, play=play)
    assert observed == "Error: tool 'fail' failed: ValueError: no such key (caused by KeyError: 'k')"
    message = next(entry for entry in run.entries if entry.kind == "act").result
    text = traceback_of(message)
    assert text.count("Traceback (most recent call last):") == 2 and "KeyError: 'k'" in text
    frames = [line for line in text.splitlines() if line.startswith("  File ")]
    assert [frame.rpartition(" in ")[2] for frame in frames] == ["look_up", "fail", "look_up"]
    assert text.endswith("ValueError: no such key")
    assert "look_up" in run.to_html() and "look_up" in run.to_markdown()


def test_an_error_without_a_frame_has_no_traceback() -> None:
    assert raised(Call("f"), ValueError("x")).value is None


def test_a_built_in_tool_that_refuses_has_no_traceback() -> None:
    run, observed = act(tool(name="fail")(functools.partial(calculate.function, "1/0")), play=False)
    assert "division by zero" in observed
    assert next(entry for entry in run.entries if entry.kind == "act").result.value is None


class Mute(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


def deep(n: int) -> None:
    deep(n + 1)


@pytest.mark.parametrize(
    "error", [Mute(), RecursionError, ValueError("\ud800" * 10), ValueError("x" * 1_000_000)], ids=repr
)
def test_the_traceback_of_a_hostile_error_is_bounded_and_can_be_stored(error: Any) -> None:
    try:
        if error is RecursionError:
            deep(0)
        raise error
    except BaseException as caught:
        message = raised(Call("f"), caught)
    text = traceback_of(message)
    assert text.encode() and len(text) < 21_000
    assert message_from_json(message_to_json(message)) == message
