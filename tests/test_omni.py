"""The workflow class of document 003: a client, a provider of schemas, an executor of calls."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from agentkit.integrations.omni import ReActWorkflow

SCHEMA = {
    "name": "skill.discover",
    "description": "Find a skill.",
    "parameters": {"properties": {"intent": {"type": "string"}}},
}


class Client:
    """An inference client that asks for one tool and then answers."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    async def complete(self, system_prompt: str, user_query: str, messages: list[Any], tools: Any) -> dict[str, Any]:
        self.asked.append(
            {"system_prompt": system_prompt, "user_query": user_query, "messages": messages, "tools": tools}
        )
        if len(self.asked) == 1:
            return {
                "content": "",
                "tool_calls": [{"id": "1", "name": "skill.discover", "arguments": {"intent": "read"}}],
            }
        return {"content": "found it", "tool_calls": []}


async def get_tool_schemas() -> list[dict[str, Any]]:
    return [SCHEMA]


def test_a_workflow_of_two_callables_runs_with_one_and_with_two_arguments() -> None:
    ran: list[Any] = []

    async def by_call(tool_call: dict[str, Any]) -> str:
        ran.append((tool_call["name"], tool_call["arguments"]))
        return "quick guide"

    def by_name(name: str, arguments: dict[str, Any]) -> str:
        ran.append((name, arguments))
        return "quick guide"

    for execute in (by_call, by_name):
        messages: list[Any] = []
        client = Client()
        workflow = ReActWorkflow(
            engine=client, get_tool_schemas=get_tool_schemas, execute_tool=execute, max_tool_calls=10
        )
        assert asyncio.run(workflow.run("task", "be kind", messages)) == "found it"
        assert (workflow.step_count, workflow.tool_calls_count, messages) == (2, 1, [])
        assert "quick guide" in str(client.asked[1]["messages"])
    assert ran == [("skill.discover", {"intent": "read"})] * 2


CONFIG = {"max_tokens": 128_000, "retained_turns": 10, "max_tool_calls": 20, "verbose": False}


def test_its_configuration_has_the_documented_defaults_and_can_be_a_dict() -> None:
    known = inspect.signature(ReActWorkflow).parameters
    assert {name: known[name].default for name in CONFIG} == CONFIG
    asked: list[list[Any]] = []

    class Talker:
        def complete(self, system_prompt: str, user_query: str, messages: list[Any], tools: Any) -> dict[str, Any]:
            asked.append(messages)
            return {"content": "done", "tool_calls": []}

    workflow = ReActWorkflow(Talker(), get_tool_schemas, lambda call: "", **{**CONFIG, "retained_turns": 1})
    history = [
        ("user", "u0"),
        ("assistant", "a0"),
        ("user", "u1"),
        ("assistant", "a1"),
        ("user", "u2"),
        ("assistant", "a2"),
    ]
    before = [{"role": role, "content": text} for role, text in history]
    assert asyncio.run(workflow.run("task", "be kind", before)) == "done"
    assert "u2" in str(asked[0]) and "u1" not in str(asked[0])


@pytest.mark.parametrize("name", ["max_tokens", "retained_turns", "max_tool_calls"])
def test_a_number_out_of_range_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        ReActWorkflow(Client(), get_tool_schemas, lambda call: "", **{name: 0})
