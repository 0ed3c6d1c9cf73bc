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


class Published:
    """A client as document 003's system publishes it: the question is used only if there are no messages."""

    def __init__(self, turns: int) -> None:
        self.turns = turns
        self.sent: list[list[str]] = []
        self.tools: list[Any] = []

    async def complete(
        self,
        system_prompt: str,
        user_query: str,
        messages: list[dict[str, Any]] | None = None,
        tools: list[Any] | None = None,
    ) -> dict[str, Any]:
        asked = messages or [{"role": "user", "content": user_query}]
        assert all(message.keys() == {"role", "content"} for message in asked)
        self.sent.append([f"{message['role']}: {message['content']}" for message in asked])
        self.tools.append(tools)
        if len(self.sent) > self.turns or not tools:
            return {"content": "✅ Completed", "tool_calls": []}
        call = {"id": f"c{len(self.sent)}", "name": "skill.discover", "arguments": {"intent": f"read {len(self.sent)}"}}
        return {"content": "", "tool_calls": [call]}


def test_the_client_is_sent_the_question_in_every_call_and_the_schemas_as_given() -> None:
    client = Published(2)
    workflow = ReActWorkflow(client, get_tool_schemas, lambda call: "quick guide")
    history = [{"role": "user", "content": "u0"}, {"role": "assistant", "content": "a0"}]
    assert asyncio.run(workflow.run("task", "be kind", history)) == "✅ Completed"
    before = ["user: u0", "assistant: a0", "user: task"]
    assert client.sent == [before, [*before, "user: quick guide"], [*before, *["user: quick guide"] * 2]]
    assert all(tools == [SCHEMA] and tools[0] is SCHEMA for tools in client.tools)
    client = Published(0)
    asyncio.run(ReActWorkflow(client, get_tool_schemas, lambda call: "").run("task"))
    assert client.sent == [["user: task"]]


def test_twenty_calls_are_made_by_default_and_logged_as_documented(caplog: pytest.LogCaptureFixture) -> None:
    import logging

    client = Published(99)
    workflow = ReActWorkflow(client, get_tool_schemas, lambda call: "guide", verbose=True)
    with caplog.at_level(logging.DEBUG, "agentkit"):
        assert asyncio.run(workflow.run("task")) == "✅ Completed"
    assert workflow.tool_calls_count == 20 and len(client.sent) == 21
    lines = caplog.messages
    assert lines[:6] == [
        "ReAct: tools count = 1",
        "ReAct: step=1, tool_calls=0, max=20",
        "ReAct: tool_calls in response = 1",
        "ReAct: tool_names = ['skill.discover']",
        '[1/20] 🔧 skill.discover(intent="read 1")',
        "→ guide",
    ]
    assert "ReAct: step=2, tool_calls=1, max=20" in lines and '[20/20] 🔧 skill.discover(intent="read 20")' in lines


def test_a_batch_over_the_limit_is_cut_at_the_limit() -> None:
    class Batch(Published):
        async def complete(self, **more: Any) -> dict[str, Any]:  # type: ignore[override]
            reply = await super().complete(**more)
            return {**reply, "tool_calls": reply["tool_calls"] * 5}

    client = Batch(99)
    workflow = ReActWorkflow(client, get_tool_schemas, lambda call: "guide", 3)
    asyncio.run(workflow.run("task"))
    assert workflow.tool_calls_count == 3
