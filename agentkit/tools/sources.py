"""Tools of other libraries: toolboxes that are not a `ToolBox`, and pairs of callables that list tools
and call them.
"""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentkit.core.messages import canonical, digest
from agentkit.inert import for_terminal
from agentkit.tools.tool import Tool

Await = Callable[[Any], Any]
"""Runs a coroutine to its end and returns its result."""

_NAME_PARAMETERS = {"name", "tool_name", "function_name", "tool"}


@dataclass(slots=True)
class Source:
    """A pair of callables, either of which may be async: one returns the schemas of tools, the other calls a tool."""

    get_tool_schemas: Callable[[], Any]
    execute_tool: Callable[..., Any]


def source(get_tool_schemas: Callable[[], Any], execute_tool: Callable[..., Any]) -> Source:
    """Return a source of tools made of two callables.

    `execute_tool` takes `(name, arguments)` if it needs two positional arguments, or takes two of which the first is
    called
    `name`, `tool_name`, `function_name` or `tool`. Otherwise it takes one tool call as a dict: `id`, `type`, `name`,
    `arguments` (an object), and `function` with `name` and `arguments` (as JSON text).
    """
    return Source(get_tool_schemas, execute_tool)


class ForeignTool(Tool):
    """A tool of a foreign toolbox, which is asked at the time of each call whether it still has the tool."""

    __slots__ = ("_lookup",)

    def __init__(self, *args: Any, lookup: Callable[[str], Any] | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self._lookup = lookup

    @property
    def is_available(self) -> bool:
        """Whether the toolbox finds the tool; not if its lookup returns None or raises."""
        if self._lookup is None:
            return True
        try:
            return self._lookup(self.name) is not None
        except Exception:
            return False


def tools_of_toolbox(box: Any, wait: Await) -> list[Tool]:
    """Return the tools of a toolbox of another library: an object with `tool_json_list`, `call_tool` and maybe
    `get_tool`.
    """

    def schemas() -> Any:
        listed = box.tool_json_list
        return listed() if callable(listed) else listed

    def caller(name: str) -> Callable[..., Any]:
        return lambda **arguments: box.call_tool(name, arguments)

    lookup = getattr(box, "get_tool", None)
    lookup = None if _is_async(lookup) else lookup
    return _read_tools(schemas, caller, _is_async(box.call_tool), wait, lookup)


def tools_of_source(source: Source, wait: Await) -> list[Tool]:
    """Return the tools of a pair of callables."""
    execute = source.execute_tool
    takes_name = _takes_name(execute)

    def caller(name: str) -> Callable[..., Any]:
        if takes_name:
            return lambda **arguments: execute(name, arguments)
        return lambda **arguments: execute(_tool_call(name, arguments))

    return _read_tools(source.get_tool_schemas, caller, _is_async(execute), wait)


def _read_tools(
    get_schemas: Callable[[], Any],
    caller: Callable[[str], Callable[..., Any]],
    is_async: bool,
    wait: Await,
    lookup: Callable[[str], Any] | None = None,
) -> list[Tool]:
    """Return a tool for each schema.

    A source that fails, or a schema that cannot be read, gives a warning and is left out.
    """
    try:
        schemas = get_schemas()
        if inspect.isawaitable(schemas):
            schemas = wait(schemas)
        schemas = list(schemas or ())
    except Exception as error:
        warnings.warn(
            for_terminal(f"a source of tools failed and is left out: {type(error).__name__}: {error}"),
            RuntimeWarning,
            stacklevel=2,
        )
        return []
    tools = []
    for schema in schemas:
        try:
            tools.append(tool_of_schema(schema, caller, is_async, lookup))
        except Exception as error:
            warnings.warn(
                for_terminal(f"a tool schema cannot be read and is left out: {error}"), RuntimeWarning, stacklevel=2
            )
    return tools


def tool_of_schema(
    schema: Any,
    caller: Callable[[str], Callable[..., Any]],
    is_async: bool = False,
    lookup: Callable[[str], Any] | None = None,
) -> Tool:
    """Return the tool of a schema as toolboxes, OpenAI, Anthropic or MCP write it; `caller(name)` is what it calls."""
    if isinstance(schema, Tool):
        return schema
    about = schema.get("function", schema)
    name = about["name"]
    parameters = _first_mapping(about, "argument_schema", "parameters", "input_schema", "inputSchema")
    returns = _first_mapping(about, "output_schema", "outputSchema")
    description = str(about.get("description") or "")
    return ForeignTool(name, description, parameters, caller(name), returns, is_async=is_async, lookup=lookup)


def _first_mapping(about: Any, *keys: str) -> dict[str, Any]:
    return next((dict(about[key]) for key in keys if isinstance(about.get(key), Mapping)), {})


def _takes_name(execute: Callable[..., Any]) -> bool:
    """Return whether an executor takes `(name, arguments)`; otherwise it takes one tool call."""
    try:
        parameters = inspect.signature(execute).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    return len(required) == 2 or (len(positional) >= 2 and positional[0].name in _NAME_PARAMETERS)


def _tool_call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    call_id = "call_" + digest(canonical([name, arguments]))[:16]
    function = {"name": name, "arguments": json.dumps(arguments, default=str)}
    return {"id": call_id, "type": "function", "function": function, "name": name, "arguments": arguments}


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
