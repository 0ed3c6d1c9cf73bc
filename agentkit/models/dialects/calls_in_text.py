"""Read tool calls that a model spelled out in its text, whatever it was asked for.

Three forms, at a line's start only: `[TOOL_CALL: name]({…})`, `<tool_call>{…}</tool_call>`, and a JSON object, fenced
or alone, that names a registered tool and holds nothing but a call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentkit.core.messages import Call
from agentkit.models.dialects import loose_json
from agentkit.models.dialects.call_parsing import ARGUMENT_KEYS, NAME_KEYS, find, from_object, make
from agentkit.models.dialects.text_protocol import Reading, prose

if TYPE_CHECKING:
    from agentkit.tools.tool import Tool

_MOST = 64
_OPENING = re.compile(
    r"""(?:^|(?<=\))|(?<=</tool_call>))[ \t]*+
        (?:\[TOOL_CALL:[ \t]*+(?P<name>[^\]\n]{1,200}+)\]\s{0,8}+\((?=\s{0,80}+[{)])
          |(?P<tag><tool_call>)(?=\s{0,80}+\{)
          |(?P<fence>```(?:json|tool_call|tool_code)?+)[ \t]*+\r?\n(?=\s{0,80}+\{))""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_CLOSING = re.compile(r"\s*+(?:\)|</tool_call>|```)?+", re.IGNORECASE)
_FENCED_END = re.compile(r"\s*+(?:```|\Z)")
_SPACE = re.compile(r"\s*+")
_CALL_KEYS = {*NAME_KEYS, *ARGUMENT_KEYS, "type", "id", "reasoning", "thought"}
UNREADABLE = "a tool call in the text could not be read"


def read(text: str, tools: tuple[Tool, ...]) -> Reading:
    """Read all calls that are spelled out in a text, in order; the thought is the text without them."""
    calls: list[Call] = []
    said: list[str] = []
    problems: list[str] = []
    at = 0
    if text.lstrip().startswith("{") and (alone := _alone(text.strip(), tools)):
        return Reading("", (alone,))
    for tries, opening in enumerate(_OPENING.finditer(text)):
        if opening.start() < at:
            continue
        if tries >= _MOST:
            break
        start = _SPACE.match(text, opening.end()).end()  # type: ignore[union-attr]
        call, end = _call(text, opening, start, tools, len(calls), mend=tries == 0)
        if call:
            calls.append(call)
            said.append(text[at : opening.start()])
            at = _CLOSING.match(text, end).end()  # type: ignore[union-attr]
        elif not opening["fence"]:
            problems.append(UNREADABLE)
    said.append(text[at:])
    return Reading(prose("".join(said)), tuple(calls), None, tuple(problems[:1]))


def _call(
    text: str, opening: re.Match[str], start: int, tools: tuple[Tool, ...], position: int, *, mend: bool
) -> tuple[Call | None, int]:
    """Make the call whose object begins at `start`, and say where that ends."""
    if text[start : start + 1] == ")":
        return make(find(opening["name"], tools)[0], {}, position), start
    found = loose_json.object_at(text, start) if mend else loose_json.strict(text, start)
    if not isinstance(found.value, dict):
        return None, start
    if opening["name"]:
        name = find(opening["name"], tools)[0]
        return make(name, found.value, position, coerced=(found.mended,) if found.mended else ()), found.end
    call = from_object(found.value, tools, position=position, mended=found.mended)
    if opening["fence"] and not (call and _is_call(found.value, call, tools) and _FENCED_END.match(text, found.end)):
        return None, start
    return call, found.end


def _alone(text: str, tools: tuple[Tool, ...]) -> Call | None:
    """Make a call of a text that is one JSON object and nothing else."""
    found = loose_json.strict(text)
    if not isinstance(found.value, dict) or found.end != len(text):
        return None
    call = from_object(found.value, tools)
    return call if call and _is_call(found.value, call, tools) else None


def _is_call(data: dict[str, object], call: Call, tools: tuple[Tool, ...]) -> bool:
    """Say whether an object is a call of a registered tool, and no data that only looks like one."""
    names_arguments = any(key in data for key in ARGUMENT_KEYS) or any(
        isinstance(data.get(key), dict) for key in NAME_KEYS
    )
    return names_arguments and data.keys() <= _CALL_KEYS and any(tool.name == call.name for tool in tools)
