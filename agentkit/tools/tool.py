"""A tool: a function that a model may call, with the schemas of its arguments and of its return value."""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import re
import sys
import types
from collections.abc import Callable
from typing import Any, Literal, get_args, overload

from agentkit.core.display import Displayed
from agentkit.core.messages import Call, canonical, digest
from agentkit.errors import ArgumentsError, Unknown, UsageError
from agentkit.inert import inert
from agentkit.tools.interface import Interface, interface_of_function
from agentkit.tools.signature import Signature, accept_names, read_signature, underlying

Effect = Literal["pure", "idempotent", "irreversible"]
UNDECLARED = "undeclared"
Repeat = Literal["ask", "reuse", "allow"]
DEFAULT_TIMEOUT = 120.0
_MAX_API_NAME = 64

_OPTIONS = ("description", "effect", "repeat", "timeout", "ends_turn", "artifact", "approve", "preview")
_OTHER_NAMES = {
    **dict.fromkeys(("readonly", "read_only"), 'use effect="pure"'),
    "destructive": 'use effect="irreversible"',
    "return_direct": "use ends_turn=True",
}
"""The names that options have in other libraries, and what to write here instead."""


def as_native(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a tool for APIs with native tool calls.

    Characters that these APIs refuse in a name are replaced by underscores.
    """
    api_name = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:_MAX_API_NAME]
    return {"type": "function", "function": {"name": api_name, "description": description, "parameters": parameters}}


class Tool(Displayed):
    """A function that a model may call. Calling the tool calls the function.

    `effect` tells what happens if the tool runs twice: nothing ("pure"), the same again ("idempotent"), or something
    that cannot be undone ("irreversible"); without it, it is "undeclared". `repeat` tells what happens if a run calls
    the tool again after going back: "ask" a person, "reuse" the recorded result, or "allow" it; by default, the agent
    decides, and it is allowed if the effect is pure or idempotent. `timeout` is in seconds, None for no limit. A tool
    that `ends_turn` ends the loop with its result. An `artifact` is for the person, and the model reads a short text
    about it: the result of a tool with True; by default HTML, pictures and objects that display themselves; with False
    none. With `approve=True`, a person has to approve each call, whatever the agent says. A `preview` is a function of
    the same arguments that returns a text about what a call would do, such as a diff, for the person who decides about
    it; it does nothing itself. Without `parameters` (a JSON schema) they are read from the signature of the function
    when they are first needed. Raises `UsageError` for a function that a model cannot call.
    """

    __slots__ = (
        "_declared",
        "_digest",
        "_interface",
        "_native",
        "_schema",
        "_signature",
        "_sole_text",
        "approve",
        "artifact",
        "description",
        "effect",
        "ends_turn",
        "function",
        "is_async",
        "name",
        "preview",
        "repeat",
        "timeout",
    )

    def __init__(
        self,
        name: str,
        description: str | None = None,
        parameters: dict[str, Any] | None = None,
        function: Callable[..., Any] | None = None,
        returns: dict[str, Any] | None = None,
        effect: Effect | None = None,
        repeat: Repeat | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
        ends_turn: bool = False,
        is_async: bool | None = None,
        artifact: bool | None = None,
        approve: bool = False,
        preview: Callable[..., str] | None = None,
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise UsageError(f"a tool needs a name, not {name!r}")
        if not callable(function):
            raise UsageError(f"tool {name!r} needs a function to call, not {function!r}")
        for option, value, known in (("effect", effect, get_args(Effect)), ("repeat", repeat, get_args(Repeat))):
            if value is not None and value not in known:
                raise UsageError(f"{option} of tool {name!r} must be one of {', '.join(known)}, not {value!r}")
        if timeout is not None and not _is_duration(timeout):
            raise UsageError(
                f"timeout of tool {name!r} must be a number of seconds greater than 0, or None, not {timeout!r}"
            )
        for option, content, kind in (
            ("description", description, str),
            ("parameters", parameters, dict),
            ("returns", returns, dict),
        ):
            if content is not None and not isinstance(content, kind):
                raise UsageError(f"{option} of tool {name!r} must be a {kind.__name__}, not {content!r:.200}")
        self.name = name
        self.effect: str = effect or UNDECLARED
        self.repeat = repeat
        self.timeout = timeout
        self.ends_turn = ends_turn
        self.approve = approve
        self.preview = preview
        self.artifact = False if artifact is None and ends_turn else artifact
        self.is_async = inspect.iscoroutinefunction(underlying(function)) if is_async is None else is_async
        self._signature: Signature | None = None if parameters is not None else read_signature(function, name)
        self._declared = (parameters or {}, returns or {})
        self.function = function if self._signature is None else accept_names(function, self._signature)
        from_docstring = self._signature.description if self._signature else ""
        self.description = from_docstring if description is None else description
        self._interface: Interface | None = None
        self._schema: dict[str, Any] | None = None
        self._native: dict[str, Any] | None = None
        self._digest: str | None = None
        self._sole_text: str | Literal[False] | None = False

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Tool:
        """Return the tool bound to an object, if it is a method of its class."""
        if instance is None or self._signature is None or not self._signature.is_method:
            return self
        bound = object.__new__(Tool)
        for slot in Tool.__slots__:
            setattr(bound, slot, getattr(self, slot))
        bound.function = types.MethodType(self.function, instance)
        bound.preview = None if self.preview is None else types.MethodType(self.preview, instance)
        bound._signature = self._signature.without_self()
        bound._interface = bound._schema = bound._native = bound._digest = None
        bound._sole_text = False
        return bound

    @property
    def is_available(self) -> bool:
        """Whether the tool can be called now; a tool of a foreign toolbox may come and go."""
        return True

    @property
    def is_unbound(self) -> bool:
        """Whether the tool is a method of a class whose object is missing."""
        signature = self._signature
        return signature is not None and signature.is_method and "self" not in signature.hints

    @property
    def untyped(self) -> tuple[str, ...]:
        """The names of the required parameters without a type, which take anything."""
        if self._signature is None:
            return ()
        known = {*self._signature.hints, *self._signature.unresolved}
        required = [p.name for p in self._signature.parameters if p.default is p.empty]
        return tuple(name for name in required if name not in known)

    @property
    def interface(self) -> Interface:
        """The schemas and the validator of the arguments, made when they are first needed."""
        if self._interface is None:
            if self._signature is not None:
                self._interface = interface_of_function(self._signature)
            else:
                from agentkit.tools.json_schema import interface_of_json_schema

                self._interface = interface_of_json_schema(*self._declared)
        return self._interface

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return self.interface.parameters

    @property
    def returns(self) -> dict[str, Any]:
        """The JSON schema of the return value; empty if it is not known."""
        return self._declared[1] or self.interface.returns

    @property
    def schema(self) -> dict[str, Any]:
        """The description of the tool with the four keys of a toolbox: name, description, argument_schema,
        output_schema.
        """
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
        """The description of the tool for APIs with native tool calls."""
        if self._native is None:
            self._native = as_native(self.name, self.description, self.parameters)
        return self._native

    @property
    def digest(self) -> str:
        """The hash of the schema, by which a run sees whether a tool is still the recorded one."""
        if self._digest is None:
            self._digest = digest(canonical(self.schema))
        return self._digest

    @property
    def sole_text(self) -> str | None:
        """The argument that a bare text goes to: the only required one, or the only text if all are optional."""
        if self._sole_text is False:
            from agentkit.tools.json_schema import accepts_text, properties, required_names

            fields = properties(self.parameters)
            names = required_names(self.parameters) or [name for name in fields if accepts_text(fields[name])]
            fits = len(names) == 1 and accepts_text(fields.get(names[0], False))
            self._sole_text = names[0] if fits else None
        return self._sole_text

    def bind(self, call: Call) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return the keyword arguments for a call, and a note for each value that was corrected.

        Raises `ArgumentsError` with a text for the model. NaN and infinities are refused, unless the parameter itself
        allows them (`Annotated[float, AllowInfNan()]`).
        """
        if call.problem:
            raise ArgumentsError(call.problem)
        interface = self._interface or self.interface
        arguments = call.arguments
        if interface.can_nest:
            arguments = _copy(arguments, self.name)
        try:
            return interface.validate(arguments, strict=True), ()
        except Exception:
            from agentkit.tools.arguments import fit_arguments

            return fit_arguments(self.name, interface, arguments)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self.function

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel by name if the module or the object of the function has this tool, else as its function and options.

        What was made from the signature is made again where it arrives.
        """
        owner, name = _owner(self.function)
        if owner is not None and (found := getattr(owner, name, None)) is not None and _is_same(found, self):
            return (_tool_of_module, (owner.__name__, name)) if inspect.ismodule(owner) else (getattr, (owner, name))
        parameters, returns = self._declared
        given = {option: getattr(self, option) for option in ("repeat", "timeout", "ends_turn", "is_async", "approve")}
        given |= {"artifact": self.artifact, "preview": self.preview, "description": self.description}
        given |= {"effect": None if self.effect == UNDECLARED else self.effect}
        if self._signature is None:
            given |= {"parameters": parameters, "returns": returns}
        return functools.partial(type(self), self.name, function=self.function, **given), ()

    @inert
    def __repr__(self) -> str:
        from agentkit.tools.json_schema import describe_parameters

        parts = [f"{self.name}: {describe_parameters(self.parameters) or 'no arguments'}", self.effect]
        parts += [] if self.timeout == DEFAULT_TIMEOUT else [f"timeout {self.timeout}"]
        parts += ["ends the turn"] if self.ends_turn else []
        return f"<Tool {', '.join(parts)}>"


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect | None = None,
    repeat: Repeat | None = None,
    timeout: float | None = DEFAULT_TIMEOUT,
    ends_turn: bool = False,
    artifact: bool | None = None,
    approve: bool = False,
    preview: Callable[..., str] | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(function: Callable[..., Any] | None = None, /, *, name: str | None = None, **options: Any) -> Any:
    """Make a tool of a function: `@tool`, or `@tool(effect="pure", …)`.

    The schemas and the descriptions are read from the function.
    """
    for option in options:
        if option not in _OPTIONS:
            raise Unknown("option", option, ("name", *_OPTIONS), _OTHER_NAMES.get(option, ""), of="@tool")
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
    own_name = name or getattr(underlying(function), "__name__", None) or type(function).__name__
    if own_name == "<lambda>":
        raise UsageError("a lambda has no name for the model; write tool(name=…)(lambda …), or a function with def")
    return Tool(own_name, function=function, **options)


def _owner(function: Any) -> tuple[Any, str]:
    """Return the module or the object that may have the tool of a function, and the name it would have there."""
    name = getattr(function, "__name__", "")
    if isinstance(function, types.MethodType):
        return function.__self__, name
    module = getattr(function, "__module__", None) or ""
    return (sys.modules.get(module) if module != "__main__" else None), name


def _is_same(found: Any, tool: Tool) -> bool:
    """Return whether an attribute is a tool: itself, or for a method another object that is bound to the same."""
    return found is tool or (
        type(found) is type(tool)
        and isinstance(tool.function, types.MethodType)
        and found.function == tool.function
        and found.name == tool.name
    )


def _tool_of_module(module: str, name: str) -> Tool:
    """Return a tool that a module has. Raises `UsageError` if this process does not have it."""
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"this process has no tool {name!r} of the module {module!r} ({error}); install the package of the tool "
            "where the work is done, or define the tool in the notebook"
        ) from error
    return found


def _is_duration(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def _copy(arguments: dict[str, Any], tool: str) -> Any:
    from agentkit.tools.arguments import copy_json

    try:
        return copy_json(arguments)
    except RecursionError:
        raise ArgumentsError(f"The arguments of {tool!r} are nested too deeply.") from None
