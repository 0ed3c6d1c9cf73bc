"""A tool: a function that a model may call, with the schemas of what goes in and what comes out."""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, get_args, overload

from agentkit.core.display import Displayed
from agentkit.core.messages import Call, canonical, digest
from agentkit.errors import ArgumentsError, Unknown, UsageError
from agentkit.tools.schema import Form, form_of_signature
from agentkit.tools.signature import Signature, by_name, called, signature_of

Effect = Literal["pure", "idempotent", "irreversible"]
TIMEOUT = 120.0
_LONGEST_WIRE_NAME = 64


def as_native(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Describe a tool as APIs with native tool calls want it; a name that they would refuse is written with underscores."""
    wire = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:_LONGEST_WIRE_NAME]
    return {"type": "function", "function": {"name": wire, "description": description, "parameters": parameters}}


class Tool(Displayed):
    """A function that a model may call; calling the tool calls the function.

    `effect` says what may happen when it runs twice; unknown is taken for the worst. `timeout` is in seconds, None for
    no limit. A tool that `ends_turn` leaves the loop. Without `parameters` (a JSON schema) they are read from the
    function's signature, when they are first needed. Raises `UsageError` for a function that no model can call.
    """

    __slots__ = (
        "_digest",
        "_form",
        "_native",
        "_schema",
        "_signature",
        "_sole_text",
        "_stated",
        "description",
        "effect",
        "ends_turn",
        "function",
        "is_async",
        "name",
        "timeout",
    )

    def __init__(
        self,
        name: str,
        description: str | None = None,
        parameters: dict[str, Any] | None = None,
        function: Callable[..., Any] | None = None,
        returns: dict[str, Any] | None = None,
        effect: Effect = "irreversible",
        timeout: float | None = TIMEOUT,
        ends_turn: bool = False,
        is_async: bool | None = None,
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise UsageError(f"a tool needs a name, not {name!r}")
        if not callable(function):
            raise UsageError(f"tool {name!r} needs a function to call, not {function!r}")
        if effect not in get_args(Effect):
            raise UsageError(f"effect of tool {name!r} is one of {', '.join(get_args(Effect))}, not {effect!r}")
        if timeout is not None and not (isinstance(timeout, int | float) and timeout > 0):
            raise UsageError(f"timeout of tool {name!r} is a number of seconds above 0, or None, not {timeout!r}")
        self.name = name
        self.effect: Effect = effect
        self.timeout = timeout
        self.ends_turn = ends_turn
        self.is_async = inspect.iscoroutinefunction(called(function)) if is_async is None else is_async
        self._signature: Signature | None = None if parameters is not None else signature_of(function, name)
        self._stated = (parameters or {}, returns or {})
        self.function = function if self._signature is None else by_name(function, self._signature)
        self.description = (self._signature.about if self._signature else "") if description is None else description
        self._form: Form | None = None
        self._schema: dict[str, Any] | None = None
        self._native: dict[str, Any] | None = None
        self._digest: str | None = None
        self._sole_text: str | Literal[False] | None = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Tool:
        """Bind a tool that was written as a method."""
        if instance is None or self._signature is None or not self._signature.is_method:
            return self
        bound = object.__new__(Tool)
        for slot in Tool.__slots__:
            setattr(bound, slot, getattr(self, slot))
        bound.function = types.MethodType(self.function, instance)
        return bound

    @property
    def form(self) -> Form:
        """The schemas and the validator, made on first use."""
        if self._form is None:
            if self._signature is not None:
                self._form = form_of_signature(self._signature)
            else:
                from agentkit.tools.json_schema import form_of_json

                self._form = form_of_json(*self._stated)
        return self._form

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return self.form.parameters

    @property
    def returns(self) -> dict[str, Any]:
        """The JSON schema of the output, or nothing."""
        return self._stated[1] or self.form.returns

    @property
    def schema(self) -> dict[str, Any]:
        """The four keys with which a toolbox describes a tool."""
        if self._schema is None:
            self._schema = {
                "name": self.name,
                "description": self.description,
                "argument_schema": self.parameters,
                "output_schema": self.returns,
            }
        return self._schema

    @property
    def native(self) -> dict[str, Any]:
        """The tool as APIs with native tool calls want it."""
        if self._native is None:
            self._native = as_native(self.name, self.description, self.parameters)
        return self._native

    @property
    def digest(self) -> str:
        """Name the schema by its content, to see whether a tool is still the recorded one."""
        if self._digest is None:
            self._digest = digest(canonical(self.schema))
        return self._digest

    @property
    def sole_text(self) -> str | None:
        """The argument that a bare text goes to: the only required one, or the only text, if all are optional."""
        if self._sole_text is False:
            fields, required = self.parameters.get("properties", {}), self.parameters.get("required", [])
            names = required or [name for name in fields if _takes_text(fields[name])]
            fits = len(names) == 1 and _takes_text(fields.get(names[0], False))
            self._sole_text = names[0] if fits else None
        return self._sole_text

    def bind(self, call: Call) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Give the keyword arguments for a call, and what was read differently than written, in words.

        Raises `ArgumentsError` with a text for the model. NaN and infinities are refused; a parameter of its own may
        allow them (`Annotated[float, AllowInfNan()]`).
        """
        if call.problem:
            raise ArgumentsError(call.problem)
        form = self._form or self.form
        arguments = call.arguments
        if form.nested:
            arguments = _copied(arguments, self.name)
        try:
            return form.validate(arguments, strict=True), ()
        except Exception:
            from agentkit.tools.arguments import fit

            return fit(self.name, form, arguments)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self.function

    def __repr__(self) -> str:
        from agentkit.tools.arguments import outline

        parts = [f"{self.name}: {outline(self.parameters) or 'no arguments'}", self.effect]
        parts += [] if self.timeout == TIMEOUT else [f"timeout {self.timeout}"]
        parts += ["ends the turn"] if self.ends_turn else []
        return f"<Tool {', '.join(parts)}>"


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect = "irreversible",
    timeout: float | None = TIMEOUT,
    ends_turn: bool = False,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(function: Callable[..., Any] | None = None, /, *, name: str | None = None, **options: Any) -> Any:
    """Make a tool of a function: `@tool`, or `@tool(effect="pure", …)`. Arguments, output and texts are read from it."""
    if function is None:
        return functools.partial(tool, name=name, **options)
    if isinstance(function, Tool):
        if name is None and not options:
            return function
        function = function.function
    if isinstance(function, staticmethod):
        function = function.__func__
    if not callable(function):
        raise UsageError(f"a tool is made of a function, not of {function!r}")
    named = name or getattr(called(function), "__name__", None) or type(function).__name__
    if named == "<lambda>":
        raise UsageError("a lambda has no name for the model; write tool(lambda …, name=…), or a function")
    return Tool(named, function=function, **options)


class ToolBox:
    """A named group of tools: of functions that are given, or of the `@tool` methods of a subclass."""

    name: str = ""
    _given: tuple[Tool, ...] = ()

    def __init__(self, tools: Iterable[Callable[..., Any]] = (), *, name: str = "") -> None:
        self._given = tuple(tool(each) for each in tools)
        self.name = name or self.name or type(self).__name__

    def discover_tools(self) -> list[Tool]:
        """List the tools, in the order in which they were written."""
        names = dict.fromkeys(name for kind in reversed(type(self).__mro__) for name in vars(kind))
        found = (inspect.getattr_static(self, name, None) for name in names)
        methods = [name for name, value in zip(names, found, strict=True) if isinstance(value, Tool | staticmethod)]
        bound = [getattr(self, name) for name in methods]
        return [*(each for each in bound if isinstance(each, Tool)), *self._given]

    @property
    def _tools(self) -> dict[str, Tool]:
        if "_known" not in self.__dict__:
            self.__dict__["_known"] = {each.name: each for each in reversed(self.discover_tools())}
        return self.__dict__["_known"]

    def __iter__(self) -> Iterator[Tool]:
        return reversed(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def tool_json_list(self) -> list[dict[str, Any]]:
        """Describe each tool with four keys: name, description, argument_schema, output_schema."""
        return [each.schema for each in self]

    def get_tool(self, name: str) -> Tool | None:
        """Give the tool of that exact name, if there is one."""
        return self._tools.get(name)

    def call_tool(self, name: str, args: dict[str, Any]) -> Any:
        """Check the arguments and run a tool; an async one gives a coroutine. Raises `Unknown`, `ArgumentsError`."""
        found = self.get_tool(name)
        if found is None:
            raise Unknown("tool", name, self._tools)
        return found(**found.bind(Call(name, args))[0])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name or type(self).__name__}: {', '.join(each.name for each in self) or 'empty'}>"


def _copied(arguments: dict[str, Any], name: str) -> Any:
    from agentkit.tools.arguments import copied

    try:
        return copied(arguments)
    except RecursionError:
        raise ArgumentsError(f"The arguments of {name!r} are nested too deeply.") from None


def _takes_text(schema: Any) -> bool:
    """Whether a field takes a text; one without any type does."""
    if not isinstance(schema, dict):
        return False
    if "anyOf" in schema:
        return any(_takes_text(part) for part in schema["anyOf"] if part)
    kinds = schema.get("type")
    return "string" in kinds if kinds else not {"$ref", "enum", "const", "allOf", "oneOf"} & schema.keys()
