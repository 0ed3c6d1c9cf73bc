"""The tools of a run: collected from functions, toolboxes and sources, and found by the names that a model writes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentkit.errors import UsageError
from agentkit.inert import for_terminal, inert
from agentkit.tools.name_matching import match_name
from agentkit.tools.sources import Source, read, tools_of_toolbox
from agentkit.tools.tool import Tool, tool
from agentkit.tools.toolbox import ToolBox


class ToolSet:
    """The tools of a run, in the order of registration.

    If several have the same name, the first that is available is used.
    """

    __slots__ = ("_by_name", "tools")

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._by_name: dict[str, list[Tool]] = {}
        for found in tools:
            self._by_name.setdefault(found.name, []).append(found)
        self.tools: tuple[Tool, ...] = tuple(same[0] for same in self._by_name.values())

    @classmethod
    def of(cls, sources: Any) -> ToolSet:
        """Collect tools from functions, `Tool`s, toolboxes, `source(…)` pairs, and lists of these.

        The schemas of a source are read unless it has `tools`. A tool that could not be called as it was meant gives a
        warning. Raises `UsageError` for anything that is not a source of tools, or if a source fails.
        """
        tools = list[Tool]()
        for part in parts_of(sources):
            tools += [part] if isinstance(part, Tool) else (part if part.tools is not None else read(part)).tools or ()
        for problem in _problems(tools):
            warnings.warn(for_terminal(problem), RuntimeWarning, stacklevel=3)
        return cls(tools)

    def find(self, name: str) -> Tool | None:
        """Return the tool that a name means, even if the name is decorated or spelled a little differently; never a
        guess.
        """
        same = self._by_name.get(name)
        if same is None:
            known = match_name(name, self._by_name)
            same = self._by_name[known] if known is not None else []
        for found in same:
            if found.is_available:
                return found
        return None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in order."""
        return tuple(self._by_name)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    @inert
    def __repr__(self) -> str:
        return f"<ToolSet {', '.join(self._by_name) or 'empty'}>"


def parts_of(source: Any) -> Iterator[Tool | Source]:
    """Yield the tools and the sources, one by one, of whatever is given as tools.

    Raises `UsageError` for anything that is not a source of tools.
    """
    if source is None:
        return
    if isinstance(source, Tool):
        if source.is_unbound:
            raise UsageError(f"tool {source.name!r} is a method without its object; pass the method of an object")
        yield source
    elif isinstance(source, ToolSet):
        for same in source._by_name.values():
            yield from same
    elif isinstance(source, ToolBox):
        yield from source
    elif isinstance(source, str | bytes | Mapping):
        raise UsageError(_not_a_tool(source))
    elif isinstance(source, Source):
        yield source
    elif _has_tool_methods(source):
        cls = source if isinstance(source, type) else type(source)
        subclass = "" if issubclass(cls, ToolBox) else f"write class {cls.__name__}(ToolBox), and "
        raise UsageError(f"{cls.__name__} is a class with @tool methods: {subclass}pass {cls.__name__}()")
    elif isinstance(source, list | tuple | set | frozenset):
        for part in source:
            yield from parts_of(part)
    elif not isinstance(source, type) and _has(source, "tool_json_list") and _has(source, "call_tool"):
        yield from tools_of_toolbox(source)
    elif isinstance(source, type):
        raise UsageError(f"{source.__name__} is a class, not a tool; pass a function, or an object of the class")
    elif callable(source):
        yield from parts_of(tool(source))
    elif _has(source, "get_tool_schemas") and _has(source, "execute_tool"):
        yield Source.of(source)
    elif isinstance(source, Iterable):
        for part in source:
            yield from parts_of(part)
    else:
        raise UsageError(_not_a_tool(source))


def _has(value: Any, attribute: str) -> bool:
    """Return whether an object has an attribute, even if reading it raises."""
    try:
        return hasattr(value, attribute)
    except Exception:
        return True


def _problems(tools: Iterable[Tool]) -> Iterator[str]:
    """Yield what is wrong with tools although they can be called."""
    named: dict[str, Tool] = {}
    for found in tools:
        if untyped := found.untyped:
            names = ", ".join(untyped)
            yield f"tool {found.name!r} takes anything as {names}, also a text instead of a number; annotate {names}"
        other = named.setdefault(found.name, found)
        if other.function != found.function and type(other) is type(found) is Tool:
            yield f"two tools are named {found.name!r}, and only the first is used; rename one with @tool(name=…)"


def _not_a_tool(value: Any) -> str:
    return f"{value!r:.200} is not a tool; pass a function, a Tool, a ToolBox or source(…)"


def _has_tool_methods(value: Any) -> bool:
    """Return whether a class, or the class of an object, has `@tool` methods although it is not a toolbox."""
    cls = value if isinstance(value, type) else type(value)
    return any(isinstance(attribute, Tool) for base in cls.__mro__ for attribute in vars(base).values())
