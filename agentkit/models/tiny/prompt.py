"""What Tiny reads: one short line for each tool, then the question, and what happened since, all as one text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from agentkit.core.messages import Message
from agentkit.models.base import Request
from agentkit.models.tiny.tokenizer import END

MAX_DESCRIPTION = 60  # characters
MAX_LINE = 240  # characters of a question or an observation

ANSWER = "FINAL_ANSWER: "
"""What the prompt ends with if no tool may be called, so that an answer follows."""


def prompt(request: Request) -> str:
    """Return a request as Tiny reads it. System messages are left out: it was trained without any."""
    lines = [tool_line(tool.name, _required(tool.parameters), tool.description) for tool in request.offered]
    text = header(lines) + "".join(map(_written, request.chat))
    return f"{text}\n{ANSWER}" if request.choice == "none" else text


def header(lines: Iterable[str]) -> str:
    """Return the beginning of a prompt, with one line for each tool."""
    return "\n".join(("Tools:", *lines))


def tool_line(name: str, parameters: Mapping[str, str], description: str) -> str:
    """Return a tool as Tiny reads it: `price(item): Look up the price of an item`.

    `parameters` are the required ones with their JSON types; only those that are not strings are named. Of the
    description it reads the beginning of the first line.
    """
    written = ", ".join(name if kind == "string" else f"{name}: {kind}" for name, kind in parameters.items())
    about = one_line(description.strip().partition("\n")[0], MAX_DESCRIPTION).rstrip(".")
    return f"{name}({written}): {about}".rstrip(": ")


def one_line(text: str, length: int = MAX_LINE) -> str:
    """Return a text on one line, cut off after the last word that fits."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length + 1].rpartition(" ")[0] or text[:length]


def _written(message: Message) -> str:
    if message.role == "user":
        return f"\nQuestion: {one_line(message.text)}"
    if message.role == "tool":
        return f"\nObservation: {one_line(message.text)}"
    if message.role != "assistant":
        return ""
    end = "" if message.calls else END
    if message.dialect == "text" and message.raw:
        return f"\n{message.raw.strip()}{end}"
    if not message.calls:
        return f"\nFINAL_ANSWER: {one_line(message.text)}{end}"
    call = message.calls[0]
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return f"\nThought: {one_line(message.text)}\nAction: {call.name}\nAction Input: {arguments}"


def _required(schema: Mapping[str, Any]) -> dict[str, str]:
    """Return the required parameters of a tool, each with its JSON type."""
    properties = schema.get("properties", {})
    return {name: _type(properties.get(name, {})) for name in schema.get("required", ())}


def _type(schema: Mapping[str, Any]) -> str:
    kinds = {each.get("type", "string") for each in schema.get("anyOf", [schema])}
    return "number" if kinds <= {"integer", "number"} else str(schema.get("type", "string"))
