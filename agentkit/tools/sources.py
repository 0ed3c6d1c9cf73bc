"""Where tools come from: functions, toolboxes of any make, and pairs of callables; and how a name finds its tool."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentkit.core.messages import canonical, digest
from agentkit.errors import UsageError
from agentkit.tools import names
from agentkit.tools.tool import Tool, ToolBox, tool

Wait = Callable[[Any], Any]
"""Runs a coroutine to its end and gives its result."""
Lookup = Callable[[str], Any]
"""Asks a toolbox for a tool; None, or an error, means that it has none of that name now."""

_NAME_WORDS = {"name", "tool_name", "function_name", "tool"}


@dataclass(slots=True)
class Source:
    """A provider of tool schemas and an executor of tool calls, either of which may be async."""

    get_tool_schemas: Callable[[], Any]
    execute_tool: Callable[..., Any]


def source(get_tool_schemas: Callable[[], Any], execute_tool: Callable[..., Any]) -> Source:
    """Make a source of tools out of two callables.

    `execute_tool` takes `(name, arguments)`, or one tool call as a dict: `id`, `type`, `name`, `arguments` (an object),
    and `function` with `name` and `arguments` (as JSON text).
    """
    return Source(get_tool_schemas, execute_tool)


@dataclass(slots=True)
class _Owner:
    """A tool of one source; `lookup` asks a foreign toolbox whether it has it, at the time of the call."""

    tool: Tool
    lookup: Lookup | None = None

    def has(self) -> bool:
        if self.lookup is None:
            return True
        try:
            return self.lookup(self.tool.name) is not None
        except Exception:
            return False


class ToolSet:
    """The tools of a run, in the order of registration; of two with one name the first is offered."""

    __slots__ = ("_keys", "_owners", "_sure", "tools")

    def __init__(self, owners: Iterable[_Owner]) -> None:
        self._owners: dict[str, list[_Owner]] = {}
        for owner in owners:
            self._owners.setdefault(owner.tool.name, []).append(owner)
        self.tools: tuple[Tool, ...] = tuple(owners[0].tool for owners in self._owners.values())
        self._sure = {name: owners[0].tool for name, owners in self._owners.items() if owners[0].lookup is None}
        self._keys: dict[str, list[str]] = {}
        for name in self._owners:
            self._keys.setdefault(names.key(name), []).append(name)

    @classmethod
    def of(cls, sources: Any, await_with: Wait | None = None) -> ToolSet:
        """Collect tools from functions, `Tool`s, toolboxes, `source(…)` pairs, and lists of these.

        `await_with` runs the coroutine of an async provider; without it a thread with a loop of its own does. A foreign
        source that fails is passed over with a warning. Raises `UsageError` for what is no source of tools.
        """
        return cls(_owners(sources, await_with or _await_in_thread))

    def find(self, name: str) -> Tool | None:
        """Give the tool that a name means, also when it is decorated or spelled a little differently; never a guess."""
        found = self._sure.get(name)
        if found is not None:
            return found
        known = name if name in self._owners else self._match(name)
        owners = self._owners[known] if known is not None else ()
        return next((owner.tool for owner in owners if owner.has()), None)

    def _match(self, name: str) -> str | None:
        plain = names.bare(name)
        if plain in self._owners:
            return plain
        found = self._keys.get(names.key(plain), ()) if plain else ()
        return found[0] if len(found) == 1 else None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in order."""
        return tuple(self._owners)

    def __iter__(self) -> Any:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __repr__(self) -> str:
        return f"<ToolSet {', '.join(self._owners) or 'empty'}>"


def _owners(given: Any, wait: Wait) -> list[_Owner]:
    if given is None:
        return []
    if isinstance(given, Tool):
        return [_Owner(given)]
    if isinstance(given, ToolSet):
        return [owner for owners in given._owners.values() for owner in owners]
    if isinstance(given, ToolBox):
        return [_Owner(each) for each in given]
    if isinstance(given, str | bytes | Mapping):
        raise UsageError(f"{given!r} is no tool: give a function, a Tool, a ToolBox or source(…)")
    if isinstance(given, Source):
        return _of_source(given, wait)
    if _holds_tools(given):
        kind = given if isinstance(given, type) else type(given)
        write = "" if issubclass(kind, ToolBox) else f"write class {kind.__name__}(ToolBox), and "
        raise UsageError(f"{kind.__name__} is a class with @tool methods: {write}give {kind.__name__}()")
    if isinstance(given, list | tuple | set | frozenset):
        return [owner for each in given for owner in _owners(each, wait)]
    if hasattr(given, "tool_json_list") and hasattr(given, "call_tool") and not isinstance(given, type):
        return _of_toolbox(given, wait)
    if callable(given):
        return [_Owner(tool(given))]
    if hasattr(given, "get_tool_schemas") and hasattr(given, "execute_tool"):
        return _of_source(Source(given.get_tool_schemas, given.execute_tool), wait)
    if isinstance(given, Iterable):
        return [owner for each in given for owner in _owners(each, wait)]
    raise UsageError(f"{given!r} is no tool: give a function, a Tool, a ToolBox or source(…)")


def _holds_tools(given: Any) -> bool:
    """Say whether this is a class, or an object of one, whose methods are tools though it is no box of tools."""
    kind = given if isinstance(given, type) else type(given)
    return any(isinstance(value, Tool) for each in kind.__mro__ for value in vars(each).values())


def _of_toolbox(box: Any, wait: Wait) -> list[_Owner]:
    """A toolbox of another make, known by its methods."""

    def described() -> Any:
        listed = box.tool_json_list
        return listed() if callable(listed) else listed

    def runs(name: str) -> Callable[..., Any]:
        return lambda **arguments: box.call_tool(name, arguments)

    lookup = getattr(box, "get_tool", None)
    lookup = None if _is_async(lookup) else lookup
    return [_Owner(each, lookup) for each in _described(described, runs, _is_async(box.call_tool), wait)]


def _of_source(given: Source, wait: Wait) -> list[_Owner]:
    execute = given.execute_tool
    by_name = _takes_name(execute)

    def runs(name: str) -> Callable[..., Any]:
        if by_name:
            return lambda **arguments: execute(name, arguments)
        return lambda **arguments: execute(_tool_call(name, arguments))

    return [_Owner(each) for each in _described(given.get_tool_schemas, runs, _is_async(execute), wait)]


def _described(provider: Callable[[], Any], runs: Callable[[str], Any], is_async: bool, wait: Wait) -> list[Tool]:
    """Make a tool of each schema that a provider gives; warn of what cannot be read."""
    try:
        schemas = provider()
        if inspect.isawaitable(schemas):
            schemas = wait(schemas)
        entries = list(schemas or ())
    except Exception as error:
        warnings.warn(
            f"a source of tools failed and is left out: {type(error).__name__}: {error}", RuntimeWarning, stacklevel=2
        )
        return []
    tools = []
    for entry in entries:
        try:
            tools.append(tool_of_schema(entry, runs, is_async))
        except (UsageError, TypeError, AttributeError, KeyError) as error:
            warnings.warn(f"a tool schema cannot be read and is left out: {error}", RuntimeWarning, stacklevel=2)
    return tools


def tool_of_schema(entry: Any, runs: Callable[[str], Callable[..., Any]], is_async: bool = False) -> Tool:
    """Make a tool of a schema as toolboxes, OpenAI, Anthropic or MCP write it; `runs(name)` gives what it calls."""
    if isinstance(entry, Tool):
        return entry
    about = entry.get("function", entry)
    words = ("argument_schema", "parameters", "input_schema", "inputSchema")
    parameters: Mapping[str, Any] = next((about[word] for word in words if isinstance(about.get(word), Mapping)), {})
    returns: Mapping[str, Any] = next(
        (about[word] for word in ("output_schema", "outputSchema") if isinstance(about.get(word), Mapping)), {}
    )
    name = about["name"]
    return Tool(
        name, str(about.get("description") or ""), dict(parameters), runs(name), dict(returns), is_async=is_async
    )


def _takes_name(execute: Callable[..., Any]) -> bool:
    """Whether an executor takes `(name, arguments)`; otherwise it takes one tool call."""
    try:
        parameters = list(inspect.signature(execute).parameters.values())
    except (TypeError, ValueError):
        return False
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in places if p.default is p.empty]
    return len(needed) == 2 or (len(places) >= 2 and places[0].name in _NAME_WORDS)


def _tool_call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    ident = "call_" + digest(canonical([name, arguments]))[:16]
    function = {"name": name, "arguments": json.dumps(arguments, default=str)}
    return {"id": ident, "type": "function", "function": function, "name": name, "arguments": arguments}


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _await_in_thread(waiting: Any) -> Any:
    """Run a coroutine in a thread with a loop of its own, so that it works inside a running loop too."""
    import asyncio
    import threading

    outcome: dict[str, Any] = {}

    async def run() -> Any:
        return await waiting

    def work() -> None:
        try:
            outcome["value"] = asyncio.run(run())
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=work, daemon=True, name="agentkit-tools")
    thread.start()
    thread.join()
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]
