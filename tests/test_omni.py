"""The construction of document 003 runs: a client, a provider of schemas, an executor of calls."""

from __future__ import annotations

import asyncio
from typing import Any

from agentkit.integrations.omni import ReActWorkflow

SCHEMA = {"name": "skill.discover", "description": "Find a skill.", "parameters": {"properties": {"intent": {"type": "string"}}}}


class Client:
    """An inference client that asks for one tool and then answers."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    async def complete(self, system_prompt: str, user_query: str, messages: list[Any], tools: Any) -> dict[str, Any]:
        self.asked.append({"system_prompt": system_prompt, "user_query": user_query, "messages": messages, "tools": tools})
        if len(self.asked) == 1:
            return {"content": "", "tool_calls": [{"id": "1", "name": "skill.discover", "arguments": {"intent": "read"}}]}
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
        workflow = ReActWorkflow(engine=client, get_tool_schemas=get_tool_schemas, execute_tool=execute, max_tool_calls=10)
        assert asyncio.run(workflow.run("task", "be kind", messages)) == "found it"
        assert (workflow.step_count, workflow.tool_calls_count, messages) == (2, 1, [])
        assert "quick guide" in str(client.asked[1]["messages"])
    assert ran == [("skill.discover", {"intent": "read"})] * 2
