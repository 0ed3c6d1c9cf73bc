"""Read a request as a model gets it: the tools, what is asked, and what was called and observed so far.

Rule 1: only the wire is read, `messages` and `tools`, never the objects behind them.
Rule 2: what stands in an observation is a value. It is no instruction, no tool and no question, whatever it says.
"""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal

Protocol = Literal["text", "json", "native", "plain"]
INTERRUPT = "[USER INTERRUPT]"
OBSERVATION = "Observation:"
LONGEST_INPUT = 20_000  # characters of an Action Input
MOST_ARRAYS = 16  # arrays in a system message that are tried
_ARRAY = re.compile(r"\[\s{0,80}\{")


@dataclass(slots=True)
class Schema:
    """A tool as the wire describes it; `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]

    @property
    def fields(self) -> dict[str, dict[str, Any]]:
        """The schema of each argument."""
        found = self.parameters.get("properties")
        return (
            {name: each if isinstance(each, dict) else {} for name, each in found.items()}
            if isinstance(found, dict)
            else {}
        )

    @property
    def required(self) -> list[str]:
        """The arguments that must be given."""
        return [name for name in self.parameters.get("required") or () if name in self.fields]


@dataclass(slots=True)
class Exchange:
    """A call of this conversation and what came back, None while nothing did."""

    name: str
    arguments: dict[str, Any]
    observation: str | None = None


@dataclass(slots=True)
class Talk:
    """A request, read. `task` is the question, `asides` are the messages that were injected since; `forced`: answer now."""

    protocol: Protocol = "plain"
    tools: list[Schema] = field(default_factory=list)
    task: str = ""
    asides: list[str] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    forced: bool = False


def read(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Talk:
    """Read the messages and the tools of a request."""
    told = "\n".join(_content(each) for each in messages if each.get("role") == "system")
    talk = Talk(_protocol(told, tools), _native_tools(tools) or _described_tools(told))
    open_calls: dict[str, Exchange] = {}
    finished = True  # whether the last assistant message ended a turn: only then does a user message ask something new
    for message in messages:
        role, text = message.get("role"), _content(message)
        if role == "assistant":
            made = _calls(message, text)
            open_calls = dict(made)
            talk.exchanges += open_calls.values()
            finished = not made
        elif role == "tool":
            _observe(open_calls, str(message.get("tool_call_id", "")), text)
        elif role == "user" and text.startswith(OBSERVATION) and talk.exchanges:
            _observe(open_calls, "", text.removeprefix(OBSERVATION).strip())
        elif role == "user":
            finished = _heard(talk, text, finished)
    return talk


def _heard(talk: Talk, text: str, finished: bool) -> bool:
    """Take in what a person says; returns whether a turn is still to begin."""
    if text.lstrip().startswith(INTERRUPT):
        talk.asides += _numbered(text.lstrip().removeprefix(INTERRUPT).strip())
        talk.forced = False
        return False
    low = text[:400].lower()
    if ("final_answer" in low or "final answer" in low) and "now" in low:
        talk.forced = True
    elif finished:
        talk.task, talk.asides, talk.exchanges, talk.forced = text, [], [], False
    return finished


def _numbered(text: str) -> list[str]:
    """Take a list "1. … 2. …" apart; anything else is one message."""
    found: list[str] = []
    for line in text.splitlines():
        if line.startswith(f"{len(found) + 1}. "):
            found.append(line.split(". ", 1)[1])
        elif found:
            found[-1] += "\n" + line
        else:
            return [text]
    return found or [text]


def _content(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content)


def _protocol(told: str, tools: list[dict[str, Any]]) -> Protocol:
    if tools:
        return "native"
    if "Action Input" in told:
        return "text"
    return "json" if '"tool_call"' in told and '"final_answer"' in told else "plain"


def _native_tools(tools: list[dict[str, Any]]) -> list[Schema]:
    functions = [each.get("function", each) for each in tools]
    return [
        Schema(str(f["name"]), str(f.get("description") or ""), f.get("parameters") or {})
        for f in functions
        if f.get("name")
    ]


def _described_tools(told: str) -> list[Schema]:
    """Find the JSON array of tools in what the system message says."""
    decoder = json.JSONDecoder()
    for start in itertools.islice(_ARRAY.finditer(told), MOST_ARRAYS):
        try:
            found, _ = decoder.raw_decode(told, start.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(found, list) and all(isinstance(each, dict) and each.get("name") for each in found):
            return [
                Schema(str(each["name"]), str(each.get("description") or ""), _arguments_of(each)) for each in found
            ]
    return []


def _arguments_of(tool: dict[str, Any]) -> dict[str, Any]:
    found = tool.get("argument_schema") or tool.get("parameters") or tool.get("input_schema")
    return found if isinstance(found, dict) else {}


def _calls(message: dict[str, Any], text: str) -> dict[str, Exchange]:
    """Give the calls of an assistant message by their ids; calls that are written in words have none, and get one."""
    made = {}
    for call in message.get("tool_calls") or ():
        function = call.get("function", call)
        given = function.get("arguments")
        made[str(call.get("id", ""))] = Exchange(
            str(function.get("name")), given if isinstance(given, dict) else _json(str(given))
        )
    return made or _calls_in_words(text) or _calls_in_json(text)


def _calls_in_words(text: str) -> dict[str, Exchange]:
    found: dict[str, Exchange] = {}
    name, at = "", 0
    for line in text.splitlines(keepends=True):
        at += len(line)
        mark, colon, rest = line.partition(":")
        mark = mark[:40].strip(" \t>#*_`-").lower()
        if mark == "action" and colon:
            name = rest.strip(" \t\r\n*_`")
        elif mark == "action input" and colon and name:
            found[f"#{len(found)}"] = Exchange(
                name, _json(text[at - len(rest) : at - len(rest) + LONGEST_INPUT].lstrip(" \t*_`"))
            )
            name = ""
        elif mark in ("final_answer", "final answer") and colon:
            break
    return found


def _calls_in_json(text: str) -> dict[str, Exchange]:
    found: dict[str, Exchange] = {}
    for line in text.splitlines():
        data = _json(line) if line.lstrip().startswith("{") else {}
        if data.get("type") == "tool_call":
            given = data.get("tool_args")
            found[f"#{len(found)}"] = Exchange(str(data.get("tool_name")), given if isinstance(given, dict) else {})
    return found


def _json(text: str) -> dict[str, Any]:
    try:
        found, _ = json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _observe(calls: dict[str, Exchange], call_id: str, text: str) -> None:
    """Give an observation to its call, or, where ids do not tell, to the first that has none."""
    waiting = [each for each in calls.values() if each.observation is None]
    exchange = calls.get(call_id) or (waiting[0] if waiting else None)
    if exchange is not None:
        exchange.observation = text
