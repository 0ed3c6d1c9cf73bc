"""Make calls of what a model wrote: find the tool, read the arguments, and say what keeps them from being used."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentkit.core.messages import Call, canonical, digest
from agentkit.models.dialects import loose_json
from agentkit.models.dialects.base import MOST_REFUSED, ONE_ACTION
from agentkit.tools import names

if TYPE_CHECKING:
    from agentkit.tools.tool import Tool

_NOTHING = {"", "{}", "none", "null", "nil", "n/a", "na", "no input", "empty", "-", "()", '""', "''"}
_FENCE = re.compile(r"^[ \t]*+```", re.MULTILINE)
NAME_KEYS = ("tool_name", "name", "tool", "action", "function")
ARGUMENT_KEYS = ("tool_args", "arguments", "args", "action_input", "parameters", "input")


def find(name: str, tools: tuple[Tool, ...]) -> tuple[str, Tool | None]:
    """Give a tool's registered name and the tool; an unknown name comes back without decoration."""
    for tool in tools:
        if tool.name == name:
            return name, tool
    known = {tool.name: tool for tool in tools}
    found = names.match(name, known)
    return (found, known[found]) if found is not None else (names.bare(name) or name.strip(), None)


def identity(name: str, arguments: Any, position: int) -> str:
    """Name a call by what it is, so that the same reply always gives the same id."""
    return f"call_{digest(canonical([name, arguments, position]))[:16]}"


def make(name: str, arguments: dict[str, Any], position: int = 0, **more: Any) -> Call:
    """Make a call with an id of its own."""
    return Call(name, arguments, identity(name, arguments or more.get("raw"), position), **more)


def refused(calls: list[Call] | tuple[Call, ...]) -> tuple[Call, ...]:
    """Mark calls that came after the first, where one is taken per turn: they are answered, and not run."""
    kept = enumerate(calls[:MOST_REFUSED], 1)
    return tuple(
        replace(call, id=identity(call.name, call.raw or call.arguments, n), problem=ONE_ACTION) for n, call in kept
    )


def from_text(name: str, written: str, tools: tuple[Tool, ...], *, cut_off: bool = False) -> Call:
    """Make a call of a tool's name and the text of its input. `cut_off` says that the text may lack its end."""
    name, tool = find(name, tools)
    body, fenced = unfenced(written)
    if body.startswith('"') and not (tool and tool.sole_text) and (inner := unquoted(body)).lstrip().startswith("{"):
        body = inner.strip()
    raw: dict[str, Any] = {"raw": written.strip()}
    if body.startswith("{") and not (tool and takes_nothing(tool) and body == "{}"):
        found = loose_json.object_at(body)
        if found.value is None:
            return make(name, {}, problem=_unusable(found.problem), **raw)
        notes = (found.mended,) if found.mended else ()
        rest = body[found.end :].strip().strip("`").strip()
        return make(name, found.value, coerced=(*notes, "text after the object was left out") if rest else notes, **raw)
    needs_none = tool and not (cut_off or tool.sole_text or tool.parameters.get("required"))
    if tool and body.casefold() in _NOTHING and (takes_nothing(tool) or needs_none):
        return make(
            name,
            {},
            coerced=() if body == "{}" else (f"{repr(body) if body else 'an empty input'} was read as no arguments",),
            **raw,
        )
    if cut_off:
        return make(name, {}, problem=_unusable(loose_json.CUT_OFF), **raw)
    if tool is None or not tool.sole_text:
        return make(name, {}, problem=_unusable(loose_json.NO_OBJECT), **raw)
    if not body:
        return make(name, {}, problem=f"The input is empty; {name!r} needs {tool.sole_text!r}.", **raw)
    text = body if fenced else unquoted(body)
    return make(name, {tool.sole_text: text}, coerced=(f"the bare text was taken as {tool.sole_text!r}",), **raw)


def from_object(data: dict[str, Any], tools: tuple[Tool, ...], *, position: int = 0, mended: str = "") -> Call | None:
    """Make a call of a JSON object that names a tool and its arguments under any of the usual keys; None when it names none."""
    data = next((data[key] for key in NAME_KEYS if isinstance(data.get(key), dict)), data)
    named = next((data[key] for key in NAME_KEYS if isinstance(data.get(key), str) and data[key].strip()), None)
    if named is None:
        return None
    arguments = next((data[key] for key in ARGUMENT_KEYS if key in data), None)
    notes = (mended,) if mended else ()
    name, _ = find(named, tools)
    if isinstance(arguments, str):
        call = from_text(name, arguments, tools)
        return replace(call, coerced=notes + call.coerced, id=identity(name, call.arguments or call.raw, position))
    if isinstance(arguments, dict) or arguments is None:
        return make(name, arguments or {}, position, coerced=notes)
    return make(name, {}, position, raw=json.dumps(arguments), problem=_unusable(loose_json.NO_OBJECT), coerced=notes)


def from_wire(name: str, arguments: Any, id: str = "") -> Call:
    """Make a call of what an API sent: the arguments are a JSON object, as text or as data, and nothing else will do."""
    if isinstance(arguments, dict):
        return Call(name, arguments, id)
    if not isinstance(arguments, str):
        return Call(name, {}, id, repr(arguments)[:1000], _unusable(loose_json.NO_OBJECT))
    start = len(arguments) - len(arguments.lstrip())
    found = loose_json.strict(arguments, start)
    if isinstance(found.value, dict) and not arguments[found.end :].strip():
        return Call(name, found.value, id, arguments)
    if not arguments.strip():
        return Call(name, {}, id, arguments, _unusable("empty"))
    cut_off = arguments[start] == "{" and found.value is None and loose_json.is_cut_off(arguments, start)
    return Call(
        name, {}, id, arguments, _unusable(loose_json.CUT_OFF if cut_off else found.problem or loose_json.NO_OBJECT)
    )


def unfenced(text: str) -> tuple[str, bool]:
    """Take off a code fence or backticks around a text, and a fence that is closed in it but was opened before it."""
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
    """Take off a closing fence at the end of a text that did not open it."""
    text = text.strip()
    if text.endswith("```") and len(_FENCE.findall(text)) % 2:
        before = text[:-3]
        if not before.strip() or before.endswith(("\n", "\r")) or "\n" not in text:
            return before.strip()
    return text


def unquoted(text: str) -> str:
    """Take off quotes around a text, also when only the first of them is there."""
    if text[:1] not in ('"', "'"):
        return text
    quote, found = text[0], loose_json.strict(text)
    if isinstance(found.value, str) and (found.end == len(text) or text[found.end :].lstrip(" \t\r").startswith("\n")):
        return found.value
    if text.count(quote) == 1:
        return text[1:].strip()
    return text[1:-1] if text[-1] == quote and text.count(quote) == 2 else text


def takes_nothing(tool: Tool) -> bool:
    """Say whether a tool has no arguments."""
    return not tool.parameters.get("properties")


def _unusable(reason: str) -> str:
    return f"The arguments were not used, they are {reason}. Give one JSON object."
