"""Recorded runs as parts of a real agent: the recorded turns are the model, the recorded results are the tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from agentkit.core.messages import Call, Reply, canonical
from agentkit.models.base import Abilities, Request
from agentkit.tools.tool import Tool


class Turns:
    """A model that replies according to the number of its turns in the chat; `count` is called for each model call."""

    def __init__(self, replies: list[Reply | str], before: int, abilities: Abilities, count: Callable[[], Any]) -> None:
        self.name, self.abilities = "recorded", abilities
        self.replies, self.before, self.count = replies, before, count

    def __call__(self, request: Request) -> Reply | str:
        self.count()
        return self.replies[sum(message.role == "assistant" for message in request.chat) - self.before]


def native_model(run: dict[str, Any], count: Callable[[], Any] = lambda: None) -> Turns:
    """Return the model of a line of native_runs.jsonl."""
    replies: list[Reply | str] = []
    for turn in run["turns"]:
        message = turn["response"]["choices"][0]["message"]
        calls = tuple(
            Call(call["function"]["name"], json.loads(call["function"]["arguments"]), call["id"])
            for call in message.get("tool_calls") or ()
        )
        replies.append(Reply(message.get("content") or "", calls))
    before = sum(message["role"] == "assistant" for message in run["messages"])
    return Turns(replies, before, Abilities(tools=True), count)


def native_results(run: dict[str, Any]) -> dict[str, str]:
    """Return the recorded result of each call of a line of native_runs.jsonl, by `key_of` the call."""
    results: dict[str, str] = {}
    for turn in run["turns"]:
        by_id = {result["tool_call_id"]: text_of(result["content"]) for result in turn.get("tool_results", ())}
        for call in turn["response"]["choices"][0]["message"].get("tool_calls") or ():
            key = key_of(call["function"]["name"], json.loads(call["function"]["arguments"]))
            assert results.setdefault(key, by_id[call["id"]]) == by_id[call["id"]]
    return results


def native_tools(run: dict[str, Any], effect: Callable[[str], Any] = lambda key: None) -> list[Tool]:
    """Return the tools of a line of native_runs.jsonl; `effect` is called for each call that really runs."""
    return [recorded_tool(schema, native_results(run), effect) for schema in run["tools"]]


def recorded_tool(schema: dict[str, Any], results: dict[str, str], effect: Callable[[str], Any]) -> Tool:
    """Return a tool that returns the recorded result for its arguments."""

    def answer(**arguments: Any) -> str:
        key = key_of(schema["name"], arguments)
        effect(key)
        return results[key]

    return Tool(schema["name"], schema.get("description") or "", schema["parameters"], answer, timeout=None)


def key_of(name: str, arguments: dict[str, Any]) -> str:
    """Return a key for a call: its name and its arguments."""
    return f"{name} {canonical(arguments).decode()}"


def text_of(content: Any) -> str:
    """Return the text of a tool result, even if a provider sends it in parts."""
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)
