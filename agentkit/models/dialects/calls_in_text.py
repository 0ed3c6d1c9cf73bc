"""Read tool calls that a model wrote into its text instead of making them, whatever it was asked for.

Three forms, at the start of a line only: `[TOOL_CALL: name]({…})`, `<tool_call>{…}</tool_call>`, and a JSON object,
fenced or alone, that names a registered tool and contains nothing but a call.
"""

from __future__ import annotations

import re

from agentkit.core.messages import Call
from agentkit.core.steps import Tools
from agentkit.models.dialects.reading import Reading
from agentkit.models.dialects.text_protocol import prose
from agentkit.tools import loose_json
from agentkit.tools.call_parsing import ARGUMENT_KEYS, NAME_KEYS, call_from_object, find_tool, make_call

UNREADABLE = "a tool call in the text could not be read"

_MAX_TRIES = 64
_OPENING = re.compile(
    r"""(?:^|(?<=\))|(?<=</tool_call>))[ \t]*+
        (?:\[TOOL_CALL:[ \t]*+(?P<name>[^\]\n]{1,200}+)\]\s{0,8}+\((?=\s{0,80}+[{)])
          |(?P<tag><tool_call>)(?=\s{0,80}+\{)
          |(?P<fence>```(?:json|tool_call|tool_code)?+)[ \t]*+\r?\n(?=\s{0,80}+\{))""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_CLOSING = re.compile(r"\s*+(?:\)|</tool_call>|```)?+", re.IGNORECASE)
_END_OF_FENCE = re.compile(r"\s*+(?:```|\Z)")
_SPACE = re.compile(r"\s*+")
_CALL_KEYS = {*NAME_KEYS, *ARGUMENT_KEYS, "type", "id", "reasoning", "thought"}


def read(text: str, tools: Tools) -> Reading:
    """Return all calls that are written out in a text, in order; the thought is the text without them."""
    if text.lstrip().startswith("{") and (only_call := _only_call(text.strip(), tools)):
        return Reading("", (only_call,))
    calls: list[Call] = []
    thoughts: list[str] = []
    problems: list[str] = []
    at = 0
    for tries, opening in enumerate(_OPENING.finditer(text)):
        if opening.start() < at:
            continue
        if tries >= _MAX_TRIES:
            break
        start = _SPACE.match(text, opening.end()).end()  # type: ignore[union-attr]
        call, end = _call_at(text, opening, start, tools, len(calls), mend=tries == 0)
        if call:
            calls.append(call)
            thoughts.append(text[at : opening.start()])
            at = _CLOSING.match(text, end).end()  # type: ignore[union-attr]
        elif not opening["fence"]:
            problems.append(UNREADABLE)
    thoughts.append(text[at:])
    return Reading(prose("".join(thoughts)), tuple(calls), None, tuple(problems[:1]))


def _call_at(
    text: str, opening: re.Match[str], start: int, tools: Tools, position: int, *, mend: bool
) -> tuple[Call | None, int]:
    """Return the call whose object begins at `start`, and the end of that object."""
    if text[start : start + 1] == ")":
        return make_call(find_tool(opening["name"], tools)[0], {}, position), start
    parsed = loose_json.object_at(text, start) if mend else loose_json.strict(text, start)
    if not isinstance(parsed.value, dict):
        return None, start
    if opening["name"]:
        name, _ = find_tool(opening["name"], tools)
        return make_call(name, parsed.value, position, coerced=(parsed.mended,) if parsed.mended else ()), parsed.end
    call = call_from_object(parsed.value, tools, position=position, mended=parsed.mended)
    if opening["fence"]:
        is_alone = _END_OF_FENCE.match(text, parsed.end)
        if not (call and is_alone and _is_call(parsed.value, call, tools)):
            return None, start
    return call, parsed.end


def _only_call(text: str, tools: Tools) -> Call | None:
    """Return the call in a text that is one JSON object and nothing else."""
    parsed = loose_json.strict(text)
    if not isinstance(parsed.value, dict) or parsed.end != len(text):
        return None
    call = call_from_object(parsed.value, tools)
    return call if call and _is_call(parsed.value, call, tools) else None


def _is_call(data: dict[str, object], call: Call, tools: Tools) -> bool:
    """Return whether an object is a call of a registered tool, and not data that only resembles one."""
    has_arguments = any(key in data for key in ARGUMENT_KEYS) or any(
        isinstance(data.get(key), dict) for key in NAME_KEYS
    )
    return has_arguments and data.keys() <= _CALL_KEYS and any(tool.name == call.name for tool in tools)
