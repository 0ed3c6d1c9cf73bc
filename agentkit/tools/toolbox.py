"""A toolbox: a named group of tools."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agentkit.core.checked_arguments import checked
from agentkit.core.messages import Call
from agentkit.errors import Unknown, UsageError
from agentkit.inert import inert
from agentkit.tools.tool import Tool, tool


class ToolBox:
    """A named group of tools: of functions that are passed in, or of the `@tool` methods of a subclass.

    A subclass need not call `super().__init__()`.
    """

    name: str = ""
    _functions: tuple[Tool, ...] = ()

    @checked
    def __init__(self, tools: Iterable[Callable[..., Any]] = (), *, name: str = "") -> None:
        self._functions = tuple(tool(function) for function in tools)
        self.name = name or self.name or type(self).__name__

    def discover_tools(self) -> list[Tool]:
        """Return the tools in the order in which they were written.

        Raises `UsageError` for a tool that is a class method.
        """
        names = dict.fromkeys(name for cls in reversed(type(self).__mro__) for name in vars(cls))
        attributes = {name: inspect.getattr_static(self, name, None) for name in names}
        for name, value in attributes.items():
            if isinstance(value, classmethod) and isinstance(value.__func__, Tool):
                raise UsageError(
                    f"tool {name!r} is a class method, which no tool can be: use a method or @staticmethod"
                )
        methods = [name for name, value in attributes.items() if isinstance(value, Tool | staticmethod)]
        bound = [getattr(self, name) for name in methods]
        return [*(value for value in bound if isinstance(value, Tool)), *self._functions]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_tools"}  # found again where it arrives

    @functools.cached_property
    def _tools(self) -> dict[str, Tool]:
        tools: dict[str, Tool] = {}
        for found in self.discover_tools():
            tools.setdefault(found.name, found)
        return tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def tool_json_list(self) -> list[dict[str, Any]]:
        """The description of each tool, with four keys: name, description, argument_schema, output_schema."""
        return [found.schema for found in self]

    def get_tool(self, name: str) -> Tool | None:
        """Return the tool of exactly this name, or None."""
        return self._tools.get(name)

    def call_tool(self, name: str, args: dict[str, Any]) -> Any:
        """Check the arguments, call a tool, and return its result; of an async tool, a coroutine.

        Raises `Unknown` for a name that no tool has, and `ArgumentsError` for arguments that do not fit.
        """
        found = self.get_tool(name)
        if found is None:
            raise Unknown("tool", name, self._tools)
        arguments, _ = found.bind(Call(name, args))
        return found(**arguments)

    @inert
    def __repr__(self) -> str:
        tools = ", ".join(found.name for found in self)
        return f"<{type(self).__name__} {self.name or type(self).__name__}: {tools or 'empty'}>"
