"""What a word of `%agent` refers to: a model, an engine, tools, or a value of one of the user's variables."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Iterable, Mapping
from string import Formatter
from typing import Any

from IPython.core.error import UsageError
from IPython.utils.text import FullEvalFormatter

from agentkit.engines import registry
from agentkit.errors import Unknown
from agentkit.models import resolve
from agentkit.models.base import name_of
from agentkit.tools import builtin
from agentkit.tools.tool import Tool
from agentkit.tools.toolbox import ToolBox

Names = Mapping[str, Any]


def expand(text: str, names: Names) -> str:
    """Replace `{name}` and `{expression}` by their values, as IPython does; anything that isn't Python is left as it
    is.

    Raises `UsageError` if an expression fails, so that a mistake is not sent to the model.
    """
    try:
        fields = list(Formatter().parse(text))
    except ValueError:  # a text with a single brace contains no fields
        return text
    parts = []
    for literal, field, form, conversion in fields:
        parts.append(literal)
        if field is not None:
            suffix = (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
            parts.append(_value(f"{{{field}{suffix}}}", names))
    return "".join(parts)


def _value(field: str, names: Names) -> str:
    try:
        return str(FullEvalFormatter().vformat(field, (), dict(names)))
    except (SyntaxError, ValueError):
        return field
    except Exception as error:
        raise UsageError(
            f"in {field}: {type(error).__name__}: {error}; to write braces that are text, double them: {{{{…}}}}"
        ) from None


def model_of(word: Any, names: Names) -> Any:
    """Return the model that a word names: a known name, or a variable; anything but a word is a model itself."""
    if not isinstance(word, str) or word in resolve.KNOWN or word not in names:
        return word or None
    return names[word]


def is_model(name: str, value: Any) -> bool:
    """Return whether one of the user's variables holds a model."""
    is_callable = callable(value) and not isinstance(value, type)
    return not name.startswith("_") and is_callable and hasattr(value, "abilities")


def engine_of(word: Any, names: Names) -> Any:
    """Return the engine that a word names: a known name, a variable that holds an engine, or `module:function`."""
    is_known = not isinstance(word, str) or word in registry.ENGINES or word not in names
    return word if is_known else names[word]


def engines_in(names: Names) -> dict[str, Any]:
    """Return the user's variables that hold an engine, by the import path under which a run records it."""
    functions = [value for name, value in names.items() if inspect.isgeneratorfunction(value) and name[0] != "_"]
    return {f"{function.__module__}:{function.__qualname__}": function for function in functions}


def model_named(name: str, names: Names) -> Any:
    """Return the user's model with this name, as a recorded run knows it; None if no variable holds one."""
    return next((value for key, value in names.items() if is_model(key, value) and name_of(value) == name), None)


def tools_of(text: str, names: Names) -> list[Any]:
    """Return the tools that words with commas between them name.

    A variable takes precedence over a built-in toolbox.
    """
    return [_tool(word.strip(), names) for word in text.split(",") if word.strip() not in ("", builtin.NO_TOOLS)]


def _tool(word: str, names: Names) -> Any:
    value = names.get(word)
    if isinstance(value, Tool | ToolBox):
        return value
    if word in builtin.NAMES:
        return builtin.box(word)
    if word not in names:
        raise Unknown("tool", word, [*builtin.NAMES, *tools_in(names)])
    is_function = inspect.isroutine(value) or hasattr(value, "call_tool") or hasattr(value, "execute_tool")
    if not (is_function or isinstance(value, list | tuple)):
        raise UsageError(f"{word} is a {type(value).__name__}, not a tool; a tool is a function, a Tool or a ToolBox")
    return value


def tools_in(names: Names) -> dict[str, Tool | ToolBox]:
    """Return the user's variables that hold a tool or a toolbox."""
    return {
        name: value for name, value in names.items() if isinstance(value, Tool | ToolBox) and not name.startswith("_")
    }


def find_tools(tool_names: Iterable[str], names: Names) -> list[Any]:
    """Return the tools with these names, as a recorded run knows them, from the user's variables or
    built-in toolboxes.
    """
    tools = []
    for tool_name in tool_names:
        value = names.get(tool_name)
        candidates: list[Any] = [tool for tool in _flat(tools_in(names).values()) if tool.name == tool_name]
        candidates += [value] if inspect.isroutine(value) else []
        candidates += [tool for tool in _flat(map(builtin.box, builtin.BOXES)) if tool.name == tool_name]
        tools += candidates[:1]
    return tools


def _flat(values: Iterable[Any]) -> Iterable[Tool]:
    for value in values:
        yield from [value] if isinstance(value, Tool) else value


def check_variable(name: str) -> str:
    """Return the name of a variable. Raises `UsageError` if it is not a valid one."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise UsageError(f"{name!r} is not a valid name for a variable")
    return name
