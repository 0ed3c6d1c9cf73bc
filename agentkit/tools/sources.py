"""Tools of other libraries: toolboxes that are not a `ToolBox`, and pairs of callables that list tools
and call them.
"""

from __future__ import annotations

import functools
import inspect
import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from agentkit.core import background, interrupts
from agentkit.core.checked_arguments import checked
from agentkit.core.messages import canonical, digest
from agentkit.core.text import error_line
from agentkit.errors import UsageError
from agentkit.inert import for_terminal
from agentkit.tools.tool import DEFAULT_TIMEOUT, Tool

_MAX_TOOLS = 10_000
_NAME_PARAMETERS = {"name", "tool_name", "function_name", "tool"}


@dataclass(slots=True)
class Source:
    """A pair of callables, either of which may be async: one returns the schemas of tools, the other calls a tool.

    `tools` are those of a run; None if the schemas have not been read. A source may make the tools of its schemas
    itself (`tool_of`), with their effects, and may `check` that it can be reached, when a recorded run is to go on.
    """

    get_tool_schemas: Callable[[], Any]
    execute_tool: Callable[..., Any]
    tools: tuple[Tool, ...] | None = None
    tool_of: Callable[[Any], Tool] | None = None
    check: Callable[[], None] | None = None

    @classmethod
    def of(cls, value: Any) -> Source:
        """Return the source of an object that has `get_tool_schemas` and `execute_tool`."""
        optional = {name: getattr(value, name, None) for name in ("tool_of", "check")}
        return cls(value.get_tool_schemas, value.execute_tool, **optional)


@checked
def source(get_tool_schemas: Callable[[], Any], execute_tool: Callable[..., Any]) -> Source:
    """Return a source of tools made of two callables. `get_tool_schemas` is called at the start of each run.

    `execute_tool` takes `(name, arguments)` if it needs two positional arguments, or takes two of which the first is
    called `name`, `tool_name`, `function_name` or `tool`. Otherwise it takes one tool call as a dict: `id`, `type`,
    `name`, `arguments` (an object), and `function` with `name` and `arguments` (as JSON text).
    """
    return Source(get_tool_schemas, execute_tool)


def is_unread(part: Any) -> bool:
    """Return whether this is a source whose schemas have not been read."""
    return isinstance(part, Source) and part.tools is None


class ForeignTool(Tool):
    """A tool of a foreign toolbox, which is asked at the time of each call whether it still has the tool."""

    __slots__ = ("_lookup",)

    def __init__(self, *args: Any, lookup: Callable[[str], Any] | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self._lookup = lookup

    def __reduce__(self) -> tuple[Any, ...]:
        made, _ = super().__reduce__()
        return functools.partial(made, lookup=self._lookup), ()

    @property
    def is_available(self) -> bool:
        """Whether the toolbox finds the tool; not if its lookup returns None or raises."""
        if self._lookup is None:
            return True
        try:
            return self._lookup(self.name) is not None
        except Exception:
            return False


def tools_of_toolbox(box: Any) -> list[Tool]:
    """Return the tools of a toolbox of another library: an object with `tool_json_list`, `call_tool` and maybe
    `get_tool`.

    A toolbox that fails gives a warning and is left out.
    """

    def caller(name: str) -> Callable[..., Any]:
        return lambda **arguments: box.call_tool(name, arguments)

    lookup = getattr(box, "get_tool", None)
    lookup = None if _is_async(lookup) else lookup
    try:
        listed = box.tool_json_list
        schemas = list((listed() if callable(listed) else listed) or ())
    except Exception as error:
        _warn(f"a source of tools failed and is left out: {type(error).__name__}: {error}")
        return []
    return _tools_of(schemas, caller, _is_async(box.call_tool), lookup)


def read(source: Source, timeout: float | None = DEFAULT_TIMEOUT) -> Source:
    """Return a source with the tools that it has now.

    Its schemas are read in a thread, and awaited on the loop on which tools are awaited. Raises `UsageError` if that
    fails or takes longer than `timeout` seconds. A schema that cannot be read gives a warning and is left out.
    """
    timeout = DEFAULT_TIMEOUT if timeout is None else min(timeout, DEFAULT_TIMEOUT)
    is_on_loop = background.on_loop()  # then that loop waits here, and cannot await
    future = background.in_thread(lambda: _schemas(source, timeout, is_on_loop))
    try:
        schemas = background.wait(future, timeout)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and interrupts.pressed(error):
            raise
        if isinstance(error, UsageError):  # it says what is wrong and what to do
            raise
        how = error_line(error) if future.done() else f"it did not return within {timeout:g} s"
        raise UsageError(f"the schemas of a source of tools could not be read: {how}") from error
    return with_schemas(source, schemas)


def with_schemas(source: Source, schemas: Iterable[Any]) -> Source:
    """Return a source with the tools of these schemas, without asking it."""
    if source.tool_of is not None:
        return replace(source, tools=tuple(_made(schemas, source.tool_of)))
    execute = source.execute_tool
    takes_name = _takes_name(execute)

    def caller(name: str) -> Callable[..., Any]:
        if takes_name:
            return lambda **arguments: execute(name, arguments)
        return lambda **arguments: execute(_tool_call(name, arguments))

    return replace(source, tools=tuple(_tools_of(schemas, caller, _is_async(execute))))


def _schemas(source: Source, timeout: float, is_on_loop: bool) -> list[Any]:
    """Return the schemas of a source."""
    import asyncio

    schemas = source.get_tool_schemas()
    if inspect.isawaitable(schemas):
        waiting = _awaited(schemas, timeout)
        schemas = asyncio.run(waiting) if is_on_loop else background.submit(waiting).result()
    if isinstance(schemas, str | bytes | Mapping):
        raise TypeError(f"it must return a list of schemas, not a {type(schemas).__name__}")
    return list(islice(schemas or (), _MAX_TOOLS))


async def _awaited(awaitable: Any, timeout: float) -> Any:
    import asyncio

    async with asyncio.timeout(timeout):
        return await awaitable


def _tools_of(
    schemas: Iterable[Any],
    caller: Callable[[str], Callable[..., Any]],
    is_async: bool,
    lookup: Callable[[str], Any] | None = None,
) -> list[Tool]:
    """Return a tool for each schema; one that cannot be read gives a warning and is left out."""
    return _made(schemas, lambda schema: tool_of_schema(schema, caller, is_async, lookup))


def _made(schemas: Iterable[Any], make: Callable[[Any], Tool]) -> list[Tool]:
    tools = []
    for schema in schemas:
        try:
            tools.append(make(schema))
        except Exception as error:
            _warn(f"a tool schema cannot be read and is left out: {error}")
    return tools


def _warn(text: str) -> None:
    warnings.warn(for_terminal(text), RuntimeWarning, stacklevel=3)


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
