"""What a word of `%agent` means: a model, an engine, tools, a run or a value, by the names of the user's variables."""

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
from agentkit.tools import builtin
from agentkit.tools.tool import Tool
from agentkit.tools.toolbox import ToolBox

Names = Mapping[str, Any]


def expand(text: str, names: Names) -> str:
    """Put values in the place of `{name}` and `{expression}`, as IPython does; what is no Python stays as it is.

    Raises `UsageError` where an expression fails: a model shall not be asked about a slip.
    """
    try:
        fields = list(Formatter().parse(text))
    except ValueError:  # a single brace: this is about braces, and none of them is ours
        return text
    parts = []
    for literal, field, form, conversion in fields:
        parts.append(literal)
        if field is not None:
            more = (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
            parts.append(_value(f"{{{field}{more}}}", names))
    return "".join(parts)


def _value(written: str, names: Names) -> str:
    try:
        return str(FullEvalFormatter().vformat(written, (), dict(names)))
    except (SyntaxError, ValueError):
        return written
    except Exception as error:
        raise UsageError(
            f"in {written}: {type(error).__name__}: {error}; braces that shall stay are doubled: {{{{…}}}}"
        ) from None


def model_of(word: Any, names: Names) -> Any:
    """Give the model that a word means: a known name, or a variable; anything but a word is a model by itself."""
    if not isinstance(word, str) or word in resolve.KNOWN or word not in names:
        return word or None
    return names[word]


def is_model(name: str, held: Any) -> bool:
    """Say whether one of the user's variables holds a model."""
    return not name.startswith("_") and callable(held) and not isinstance(held, type) and hasattr(held, "abilities")


def engine_of(word: Any, names: Names) -> Any:
    """Give the engine that a word means: a known name, a variable that holds a generator function, or `module:function`."""
    is_known = not isinstance(word, str) or word in registry.ENGINES or word not in names
    return word if is_known else names[word]


def tools_of(spelled: str, names: Names) -> list[Any]:
    """Give the tools that comma-separated words mean. A variable with a tool or toolbox goes before a built-in box."""
    return [_tool(word.strip(), names) for word in spelled.split(",") if word.strip() not in ("", "none")]


def _tool(word: str, names: Names) -> Any:
    held = names.get(word)
    if isinstance(held, Tool | ToolBox):
        return held
    if word in builtin.BOXES:
        return builtin.box(word)
    if word not in names:
        raise Unknown("tool", word, [*builtin.BOXES, *tools_in(names)])
    is_function = inspect.isroutine(held) or hasattr(held, "call_tool") or hasattr(held, "execute_tool")
    if not (is_function or isinstance(held, list | tuple)):
        raise UsageError(f"{word} is a {type(held).__name__}; a tool is a function, a Tool or a ToolBox")
    return held


def tools_in(names: Names) -> dict[str, Tool | ToolBox]:
    """Give the user's variables that hold a tool or a toolbox."""
    return {name: held for name, held in names.items() if isinstance(held, Tool | ToolBox) and not name.startswith("_")}


def tools_called(wanted: Iterable[str], names: Names) -> list[Any]:
    """Give the tools of these names, as a recorded run knows them, from the user's variables or the built-in boxes."""
    found = []
    for name in wanted:
        held = names.get(name)
        own = [each for each in _each(tools_in(names).values()) if each.name == name]
        boxed = [each for each in _each(map(builtin.box, builtin.BOXES)) if each.name == name]
        plain = [held] if inspect.isroutine(held) else []
        found += [*own, *plain, *boxed][:1]
    return found


def _each(held: Iterable[Any]) -> Iterable[Tool]:
    for value in held:
        yield from [value] if isinstance(value, Tool) else value


def check_variable(name: str) -> str:
    """Give a name that a variable can have, or refuse it."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise UsageError(f"{name!r} is no name for a variable")
    return name
