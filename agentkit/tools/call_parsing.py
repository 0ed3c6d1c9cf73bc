"""Make calls out of what a model wrote: find the tool, read the arguments, and say why they cannot be used."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from agentkit.core.messages import Call, canonical, digest
from agentkit.core.steps import OfferedTool, Tools
from agentkit.tools import loose_json
from agentkit.tools.name_matching import match_name, strip_decoration
from agentkit.tools.tool import Tool

NAME_KEYS = ("tool_name", "function_name", "name", "tool", "action", "function", "tool_call", "function_call")
"""The keys under which models put the name of a tool, or an object with its name and its arguments. Case and
underscores do not count.
"""

ARGUMENT_KEYS = (
    *("tool_args", "tool_arguments", "tool_input", "function_args", "function_arguments", "arguments", "args"),
    *("action_input", "parameters", "params", "input"),
)
"""The keys under which models put its arguments."""

LIST_KEYS = ("tool_calls", "function_calls", "calls", "actions")
"""The keys under which models put several calls."""

_OTHER_KEYS = ("type", "id", "tool_call_id", "reasoning", "thought")
"""The other keys of a call."""

LEFT_OUT = "text after the object was left out"

_WORDS_FOR_NOTHING = {"", "{}", "none", "null", "nil", "n/a", "na", "no input", "empty", "-", "()", '""', "''"}
_NOTHING = ("", "null", "[]", '""', "none")
"""What APIs send as the arguments of a call that has none."""

_MAX_QUOTED = 3
"""How often arguments may be JSON in a JSON text."""

_CLOSING_SIGNS = re.compile(r"(?:[}\]`\s]|</\w{1,40}>|<\|\w{1,40}\|>)++")
_FENCE = re.compile(r"^[ \t]*+```", re.MULTILINE)
_KEYWORD = re.compile(
    r"""\"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|["'].*+|(?<!\w)(?P<name>[^\W\d]\w*+)\s*+=(?!=)""", re.DOTALL
)
_QUESTIONS = ("query", "q", "text")


def find_tool(name: str, tools: Tools) -> tuple[str, OfferedTool | None]:
    """Return the registered name of a tool, and the tool; for an unknown tool its name without decoration, and None."""
    for tool in tools:
        if tool.name == name:
            return name, tool
    known = {tool.name: tool for tool in tools}
    match = match_name(name, known)
    return (match, known[match]) if match is not None else (strip_decoration(name) or name.strip(), None)


def call_id(name: str, arguments: Any, position: int) -> str:
    """Return an id that follows from the call, so that the same reply always gets the same ids."""
    return f"call_{digest(canonical([name, arguments, position]))[:16]}"


def make_call(name: str, arguments: dict[str, Any], position: int = 0, **more: Any) -> Call:
    """Return a call with an id."""
    return Call(name, arguments, call_id(name, arguments or more.get("raw"), position), **more)


def call_from_text(name: str, text: str, tools: Tools, *, cut_off: bool = False) -> Call:
    """Return the call of a tool whose input was written as `text`. `cut_off`: the end of the text may be missing."""
    name, tool = find_tool(name, tools)
    sole_text = _argument_for_text(tool)
    body, is_fenced = unfenced(text)
    body = _lines_as_object(_keywords_as_object(body, tool), tool)
    if body.startswith('"') and (inner := unquoted(body).strip()).startswith("{"):
        body = inner if not sole_text or _is_object_for(inner, tool) else body
    raw: dict[str, Any] = {"raw": text.strip()}
    if body.startswith("{") and not (tool and takes_no_arguments(tool) and body == "{}"):
        parsed = loose_json.object_at(body)
        if parsed.value is None:
            return make_call(name, {}, problem=_unusable(parsed.problem), **raw)
        notes = (parsed.mended,) if parsed.mended else ()
        if body[parsed.end :].strip().strip("`").strip():
            notes = (*notes, LEFT_OUT)
        return make_call(name, parsed.value, coerced=notes, **raw)
    needs_none = tool and not (cut_off or sole_text or tool.parameters.get("required"))
    if tool and body.casefold() in _WORDS_FOR_NOTHING and (takes_no_arguments(tool) or needs_none):
        note = f"{repr(body) if body else 'an empty input'} was read as no arguments"
        return make_call(name, {}, coerced=() if body == "{}" else (note,), **raw)
    if cut_off:
        return make_call(name, {}, problem=_unusable(loose_json.CUT_OFF), **raw)
    if sole_text is None:
        return make_call(name, {}, problem=_unusable(loose_json.NO_OBJECT), **raw)
    if not body:
        return make_call(name, {}, problem=f"The input is empty; {name!r} needs {sole_text!r}.", **raw)
    value = body if is_fenced else unquoted(body)
    return make_call(name, {sole_text: value}, coerced=(f"the bare text was taken as {sole_text!r}",), **raw)


def _argument_for_text(tool: OfferedTool | None) -> str | None:
    """Return the argument that a bare text goes to: the only one that can take it, or else the one for a question."""
    properties = tool.parameters.get("properties", {}) if tool else {}
    sole_text = tool.sole_text if isinstance(tool, Tool) else None
    return sole_text or next((name for name in _QUESTIONS if name in properties), None)


def _keywords_as_object(body: str, tool: OfferedTool | None) -> str:
    """Return keyword arguments (`city="Oslo", days=3`) as the text of an object; any other text as it is."""
    properties = tool.parameters.get("properties", {}) if tool else {}
    first = _KEYWORD.match(body)
    if not first or first["name"] not in properties:
        return body
    if not properties.keys() >= {match["name"] for match in _KEYWORD.finditer(body) if match["name"]}:
        return body
    pairs = _KEYWORD.sub(lambda match: f'"{name}": ' if (name := match["name"]) else match[0], body)
    return f"{{{pairs}}}"


def _lines_as_object(body: str, tool: OfferedTool | None) -> str:
    """Return lines like `city: Oslo`, each with an argument of the tool, as the text of an object; else the text."""
    properties = tool.parameters.get("properties", {}) if tool else {}
    lines = [line.partition(":") for line in body.splitlines() if line.strip()]
    names = [name.strip() for name, colon, _ in lines if colon]
    if not lines or len(names) != len(lines) or len(set(names)) != len(names) or not properties.keys() >= set(names):
        return body
    return json.dumps({name.strip(): unquoted(value.strip()) for name, _, value in lines})


def _is_object_for(text: str, tool: OfferedTool | None) -> bool:
    """Return whether a text is a JSON object of arguments of a tool."""
    value = _only_object(text)
    return bool(value and tool and value.keys() <= tool.parameters.get("properties", {}).keys())


def calls_from_data(data: Any, tools: Tools, *, mended: str = "") -> list[Call]:
    """Return the calls that a JSON object or a list of objects describes, under any of the usual keys.

    The list is empty if any of them names no tool.
    """
    rows = data
    if isinstance(data, dict):
        calls = _field(data, LIST_KEYS)
        rows = calls if isinstance(calls, list) else [data]
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        return []
    found = [call_from_object(row, tools, position=position, mended=mended) for position, row in enumerate(rows)]
    return [call for call in found if call] if all(found) else []


def call_from_object(data: dict[str, Any], tools: Tools, *, position: int = 0, mended: str = "") -> Call | None:
    """Return the call that a JSON object describes, under any of the usual keys; None if it names no tool."""
    outer, data = data, next((value for value in _fields(data, NAME_KEYS) if isinstance(value, dict)), data)
    name = next((value for value in _fields(data, NAME_KEYS) if isinstance(value, str) and value.strip()), None)
    if name is None:
        return None
    arguments = _field(data, ARGUMENT_KEYS, _field(outer, ARGUMENT_KEYS))
    notes = (mended,) if mended else ()
    name, tool = find_tool(name, tools)
    if arguments is None and (beside := _beside_name(data, tool)):
        arguments, notes = beside, (*notes, "the arguments were beside the name")
    if isinstance(arguments, str):
        call = call_from_text(name, arguments, tools)
        return replace(call, coerced=notes + call.coerced, id=call_id(name, call.arguments or call.raw, position))
    if isinstance(arguments, dict) or arguments is None:
        return make_call(name, arguments or {}, position, coerced=notes)
    problem = _unusable(loose_json.NO_OBJECT)
    return make_call(name, {}, position, raw=json.dumps(arguments), problem=problem, coerced=notes)


def is_only_a_call(data: Any, calls: Sequence[Call], tools: Tools) -> bool:
    """Return whether data describes calls of registered tools and nothing else, and does not only resemble one."""
    known = {tool.name for tool in tools}
    if not calls or not all(call.name in known for call in calls):
        return False
    if isinstance(data, list):
        return all(_is_shaped_like_a_call(row) for row in data)
    listed = _field(data, LIST_KEYS)
    if isinstance(listed, list):
        return len(data) == 1 and all(_is_shaped_like_a_call(row) for row in listed)
    return _is_shaped_like_a_call(data)


def has_arguments(data: dict[str, Any]) -> bool:
    """Return whether an object has a key for the arguments of a call."""
    return any(True for _ in _fields(data, ARGUMENT_KEYS))


def _is_shaped_like_a_call(data: dict[str, Any]) -> bool:
    usual = _CALL_KEYS.issuperset(map(_plain, data))
    return usual and (has_arguments(data) or any(isinstance(value, dict) for value in _fields(data, NAME_KEYS)))


def _beside_name(data: dict[str, Any], tool: OfferedTool | None) -> dict[str, Any]:
    """Return the fields of an object that are not those of a call, if they are all arguments of the tool."""
    others = {key: value for key, value in data.items() if _plain(key) not in _CALL_KEYS}
    return others if tool and others.keys() <= tool.parameters.get("properties", {}).keys() else {}


def _field(data: dict[str, Any], keys: tuple[str, ...], default: Any = None) -> Any:
    return next(_fields(data, keys), default)


def _fields(data: dict[str, Any], keys: tuple[str, ...]) -> Iterator[Any]:
    """Yield the values under these keys, in the order of the keys; case and underscores do not count."""
    plain = {_plain(key): value for key, value in data.items()}
    return (plain[name] for key in keys if (name := _plain(key)) in plain)


def _plain(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


_CALL_KEYS = frozenset(map(_plain, (*NAME_KEYS, *ARGUMENT_KEYS, *_OTHER_KEYS)))


def call_from_api(name: str, arguments: Any, id: str = "") -> Call:
    """Return the call that an API sent. Its arguments must be a JSON object, as data or as text.

    The object may be in a frame, which is left out and noted (`_framed`), but nothing is mended inside it.
    """
    if isinstance(arguments, dict):
        return Call(name, arguments, id)
    if not isinstance(arguments, str):
        return Call(name, {}, id, repr(arguments)[:1000], _unusable(loose_json.NO_OBJECT))
    start = len(arguments) - len(arguments.lstrip())
    parsed = loose_json.strict(arguments, start)
    if isinstance(parsed.value, dict) and not arguments[parsed.end :].strip():
        return Call(name, parsed.value, id, arguments)
    value, note = _framed(arguments.strip())
    if value is not None:
        return Call(name, value, id, arguments, coerced=(note,))
    if not arguments.strip():
        return Call(name, {}, id, arguments, _unusable("empty"))
    cut_off = arguments[start] == "{" and parsed.value is None and loose_json.is_cut_off(arguments, start)
    reason = loose_json.CUT_OFF if cut_off else parsed.problem or loose_json.NO_OBJECT
    return Call(name, {}, id, arguments, _unusable(reason))


def _framed(text: str) -> tuple[dict[str, Any] | None, str]:
    """Return the one JSON object in a text that holds nothing else of meaning, and what is around it; else None."""
    if text.startswith("```"):
        inside, _ = unfenced(text)
        is_all = text.endswith("```") and text.count("```") == 2
        return (_only_object(inside) if is_all else None), "the arguments were in a code fence"
    if text.startswith('"'):
        inner = loose_json.strict(text)
        for _ in range(_MAX_QUOTED):
            if not isinstance(inner.value, str) or inner.end != len(text):
                break
            text = inner.value.strip()
            if (value := _only_object(text)) is not None:
                return value, "the arguments were JSON in a JSON text"
            inner = loose_json.strict(text)
        return None, ""
    if text.startswith("{") and (end := loose_json.end_of(text, 0)):
        value, rest = json.loads(text[:end], strict=False), text[end:].strip()
        if not rest:
            return value, "raw line breaks inside a text were accepted"
        if _CLOSING_SIGNS.fullmatch(rest):
            return value, "closing signs after the arguments were left out"
        if (other := _only_object(rest)) is not None and value in ({}, other):
            return other, "the arguments came twice" if value else "an empty object before the arguments was left out"
    return None, ""


def _only_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that is the whole text, or None."""
    parsed = loose_json.strict(text)
    return parsed.value if isinstance(parsed.value, dict) and parsed.end == len(text) else None


def without_arguments(call: Call, tool: OfferedTool | None) -> Call:
    """Return a call whose arguments say "nothing" as a call without arguments, if its tool needs none."""
    is_nothing = (call.raw or "").strip().casefold() in _NOTHING
    if not (call.problem and tool and is_nothing) or tool.parameters.get("required"):
        return call
    note = f"{call.raw!r} was read as no arguments" if call.raw else "empty text was read as no arguments"
    return replace(call, arguments={}, problem="", coerced=(*call.coerced, note))


def unfenced(text: str) -> tuple[str, bool]:
    """Return a text without the code fence or the backticks around it, and whether there was a fence.

    A closing fence whose opening one came before the text is removed, too.
    """
    text = text.strip()
    if text.startswith("```"):
        _, _, rest = text.partition("\n")
        if not rest:
            return text.strip("`").strip().removeprefix("json ").strip(), True
        inside, _, _ = rest.partition("\n```")
        return inside.removesuffix("```").strip(), True
    text = without_stray_fence(text)
    if len(text) > 1 and text[0] == text[-1] == "`":
        text = text.strip("`").strip()
    return text, False


def without_stray_fence(text: str) -> str:
    """Return a text without a closing fence at its end that was not opened in it."""
    text = text.strip()
    if text.endswith("```") and len(_FENCE.findall(text)) % 2:
        before = text[:-3]
        if not before.strip() or before.endswith(("\n", "\r")) or "\n" not in text:
            return before.strip()
    return text


def unquoted(text: str) -> str:
    """Return a text without the quotes around it, even if only the first of them is there."""
    if text[:1] not in ('"', "'"):
        return text
    quote, parsed = text[0], loose_json.strict(text)
    if isinstance(parsed.value, str):
        rest = text[parsed.end :]
        if not rest or rest.lstrip(" \t\r").startswith("\n"):
            return parsed.value
    if text.count(quote) == 1:
        return text[1:].strip()
    return text[1:-1] if text[-1] == quote and text.count(quote) == 2 else text


def takes_no_arguments(tool: OfferedTool) -> bool:
    """Return whether a tool has no arguments."""
    return not tool.parameters.get("properties")


def _unusable(reason: str) -> str:
    return f"The arguments were not used: they are {reason}. Give one JSON object."
