"""Arounds leave alone what does not concern them: pinned results, forced answers, other errors."""

from __future__ import annotations

from typing import Any

import pytest
from splitting import split

from agentkit import Agent, Call, Message, Reply, Result, tool
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def read(page: int = 1) -> str:
    """Read a page."""
    return f"page {page} " * 400


@tool(effect="pure")
def fail(why: str) -> str:
    """Fail."""
    raise RuntimeError(why)


@tool(effect="pure", ends_turn=True)
def hand_over(to: str) -> str:
    """Hand over to a person."""
    raise RuntimeError(f"{to} is not there")


def call(name: str, id: str = "c", **arguments: Any) -> Reply:
    return Reply("", (Call(name, arguments, id),))


def go(replies: list[Any], task: Any = "q", **options: Any) -> tuple[Result, Scripted]:
    model = Scripted(replies, abilities=Abilities(tools=True))
    return Agent(model, [read, fail, hand_over], journal="memory", **split(options)).run(task), model


def roles(model: Scripted) -> list[str]:
    return [request["role"] for request in model.requests]


PINNED = [
    Message("user", "Read."),
    Message("assistant", "", (Call("read", {"page": 0}, "p"),)),
    Message("tool", "keep this " * 50, (), "p", "read", pinned=True),
    Message("assistant", "I read it."),
    Message("user", "Read on."),
]


@pytest.mark.parametrize("options", [{"clear_results": 1}, {"window": 1}])
def test_a_pinned_result_is_neither_cleared_nor_left_out(options: dict[str, Any]) -> None:
    result, model = go([*(call("read", f"c{n}", page=n) for n in range(4)), "done"], PINNED, **options)
    contents = [message["content"] for message in model.requests[-1]["messages"]]
    assert (
        result.answer == "done"
        and any("keep this " * 50 in text for text in contents)
        and contents[-1].startswith("page 3")
    )


@pytest.mark.parametrize("options", [{}, {"self_check": 1}, {"structured_thinking": True}])
def test_the_forced_answer_is_requested_once_and_nothing_else_is_asked(options: dict[str, Any]) -> None:
    replies = (
        ['{"known": [], "missing": [], "next": "read", "confidence": 1}'] if "structured_thinking" in options else []
    )
    result, model = go([*replies, call("read"), ""], max_iterations=1, **options)
    assert roles(model)[-2:] == ["thought", "answer"] and "No answer was reached" in result.answer


def test_after_a_failed_hand_over_the_model_continues() -> None:
    result, _ = go([call("hand_over", to="Ada"), "I do it myself"])
    assert (result.answer, result.reason) == ("I do it myself", "")


def test_a_result_of_read_result_is_shown_in_full() -> None:
    def read_on(request: Any) -> Reply:
        shown = request.chat[-1].text.rpartition("address='")[2].partition("'")[0]
        return call("read_result", "r", address=shown, start=100)

    _, model = go([call("read"), read_on, "done"], offload={"over": 1_000, "preview": 100})
    first, then = (message["content"] for message in model.requests[-1]["messages"] if message["role"] == "tool")
    assert len(first) < 400 and len(then) > 2_000
