"""Errors of an around name the around, and say what it forgot."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit import Agent, tool
from agentkit.around.base import around
from agentkit.core.steps import Act, Think
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def look(query: str) -> str:
    """Look."""
    return "found"


@around(Think)
def forgets_the_reply(step: Any, memory: Any) -> Any:
    yield step


@around(Act)
def forgets_the_message(step: Any, memory: Any) -> Any:
    yield step


@around(Think)
def breaks_before(step: Any, memory: Any) -> Any:
    memory["missing"]
    return (yield step)


@around(Think)
def breaks_after(step: Any, memory: Any) -> Any:
    reply = yield step
    return reply.nonsense


def is_no_generator(step: Any, memory: Any) -> Any:
    return step


def takes_one(step: Any) -> Any:
    return (yield step)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (forgets_the_reply, "returned None for a Think, not the Reply; it forgot to return"),
        (forgets_the_message, "returned None for a Act, not the tool's Message; it forgot to return"),
        (breaks_before, "raised KeyError: 'missing'"),
        (breaks_after, "raised AttributeError"),
        (is_no_generator, "is not a generator function"),
        (takes_one, "raised TypeError"),
    ],
)
def test_the_error_names_the_around_and_what_it_forgot(wrong: Any, said: str) -> None:
    replies = ["Action: look\nAction Input: x", "FINAL_ANSWER: 42"]
    result = Agent(Scripted(replies), [look], arounds=[wrong], journal="memory").run("q")
    assert str(result.error).startswith(f"the around {wrong.__name__} ") and said in str(result.error), result.error


def test_an_around_may_be_marked_without_parentheses() -> None:
    seen = []

    @around
    def watch(step: Any, memory: Any) -> Any:
        seen.append(step.kind)
        return (yield step)

    replies = ["Action: look\nAction Input: x", "FINAL_ANSWER: 42"]
    assert Agent(Scripted(replies), [look], arounds=[watch], journal="memory").run("q").answer == "42"
    assert seen == ["think", "act", "think", "conclude"]
