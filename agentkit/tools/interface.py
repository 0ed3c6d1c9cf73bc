"""What a tool takes and returns: JSON schemas, and the validator of its arguments, made from the function's signature.

pydantic is loaded when a schema is first needed, not when a tool is made.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, NotRequired

from agentkit.core.text import error_text
from agentkit.errors import UsageError
from agentkit.tools.signature import Signature

Validate = Callable[..., dict[str, Any]]
"""Called with the arguments, and with `strict=True` or `strict=False`; returns keyword arguments."""

_SCALARS = {"string", "integer", "number", "boolean", "null"}
_JSON_TYPES: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


@dataclass(slots=True)
class Interface:
    """What a tool takes and returns, as JSON schemas.

    `validate(arguments, strict=…)` returns keyword arguments or raises pydantic's `ValidationError`. `model_parameter`
    is the only parameter of a function that takes one pydantic model or dataclass: its fields are the arguments.
    `can_nest` tells whether arguments may contain lists or objects.
    """

    parameters: dict[str, Any]
    returns: dict[str, Any]
    validate: Validate
    model_parameter: str = ""
    can_nest: bool = True


def interface_of_function(signature: Signature) -> Interface:
    """Return the interface of a Python function. Raises `UsageError` if an annotation has no meaning in JSON."""
    signature.resolve()
    for parameter in signature.parameters:
        if reason := signature.unresolved.get(parameter.name):
            raise UsageError(
                f"the annotation of parameter {parameter.name!r} of tool {signature.tool!r} cannot be resolved "
                f"({reason}); define its type before the tool"
            )
    returns = _returns(signature.hints.get("return", Any))
    parameters = signature.parameters
    if len(parameters) == 1 and not signature.accepts_extra and parameters[0].default is inspect.Parameter.empty:
        only = signature.hints.get(parameters[0].name)
        if isinstance(only, type) and (hasattr(only, "model_fields") or is_dataclass(only)):
            interface = _of_model(signature.tool, parameters[0].name, only, returns)
            if interface is not None:
                return interface
    return _of_fields(signature, returns)


def _of_fields(signature: Signature, returns: dict[str, Any]) -> Interface:
    """Each parameter is a field; an argument that is left out is left to the function's own default."""
    from pydantic import ConfigDict
    from pydantic.fields import FieldInfo
    from typing_extensions import TypedDict  # pydantic refuses typing's before Python 3.12

    factories: dict[str, Callable[[], Any]] = {}
    for parameter in signature.parameters:
        default = parameter.default
        if isinstance(default, FieldInfo) and not default.is_required():
            factories[parameter.name] = functools.partial(default.get_default, call_default_factory=True)
    try:
        fields = {parameter.name: _field(parameter, signature) for parameter in signature.parameters}
    except Exception as error:  # anything can stand in an annotation, also what is not a type
        raise _no_meaning_in_json(signature.tool, error) from error
    arguments = TypedDict("Arguments", fields)  # type: ignore[misc]
    arguments.__pydantic_config__ = ConfigDict(  # type: ignore[attr-defined]
        extra="allow" if signature.accepts_extra else "forbid", allow_inf_nan=False, coerce_numbers_to_str=True
    )
    adapter = _adapter(arguments, signature.tool)
    parameters = _json_schema(adapter, signature.tool)
    parameters.setdefault("properties", {})
    can_nest = signature.accepts_extra or not all(map(_is_scalar, parameters["properties"].values()))
    validate = adapter.validator.validate_python
    return Interface(parameters, returns, _with_defaults(validate, factories) if factories else validate, "", can_nest)


def _field(parameter: inspect.Parameter, signature: Signature) -> Any:
    """Return the annotation of a parameter with its default and its description."""
    from pydantic.fields import FieldInfo

    hint, default = signature.hints.get(parameter.name, Any), parameter.default
    is_required = default is parameter.empty
    if isinstance(default, FieldInfo):
        hint, is_required = Annotated[hint, default], default.is_required()
    elif not is_required:
        hint = Annotated[hint, _default_in_schema(default)]
    hint = _with_description(hint, signature.parameter_descriptions.get(parameter.name, ""))
    return hint if is_required else NotRequired[hint]


def _with_defaults(validate: Validate, factories: dict[str, Callable[[], Any]]) -> Validate:
    """Return a validator that adds the defaults of `Field(…)`, which the function itself would take for values."""

    def validate_and_fill(arguments: Any, *, strict: bool) -> dict[str, Any]:
        validated = validate(arguments, strict=strict)
        return {**{name: factory() for name, factory in factories.items() if name not in validated}, **validated}

    return validate_and_fill


def _default_in_schema(default: Any) -> Any:
    """Return the field that puts a default into the schema, if it can be written as JSON."""
    from pydantic import Field
    from pydantic_core import to_jsonable_python

    try:
        data = to_jsonable_python(default)
        json.dumps(data, allow_nan=False)
    except Exception:
        return Field()
    return Field(json_schema_extra={"default": data})


def _with_description(hint: Any, from_docstring: str) -> Any:
    """Return the annotation with a description: from `Field`, else from a text in `Annotated`, else
    from the docstring.
    """
    from pydantic import Field
    from pydantic.fields import FieldInfo

    extras = getattr(hint, "__metadata__", ())
    if any(isinstance(extra, FieldInfo) and extra.description for extra in extras):
        return hint
    description = next((extra for extra in extras if isinstance(extra, str)), from_docstring)
    return Annotated[hint, Field(description=description)] if description else hint


def _of_model(tool: str, parameter: str, model: Any, returns: dict[str, Any]) -> Interface | None:
    """The fields of a model are the arguments; None if the model is not an object in JSON."""
    from pydantic_core import ValidationError

    adapter = _adapter(model, tool)
    parameters = _inlined(_json_schema(adapter, tool))
    if parameters.get("type") != "object" or not isinstance(parameters.get("properties"), dict):
        return None
    known = {*parameters["properties"], *getattr(model, "model_fields", ())}
    extra = (getattr(model, "model_config", None) or {}).get("extra")
    validator = adapter.validator.validate_python

    def validate(arguments: Any, *, strict: bool) -> dict[str, Any]:
        if extra is None and isinstance(arguments, Mapping) and (unknown := arguments.keys() - known):
            faults = [{"type": "extra_forbidden", "loc": (name,), "input": arguments[name]} for name in sorted(unknown)]
            raise ValidationError.from_exception_data("Arguments", faults)  # type: ignore[arg-type]
        return {parameter: validator(arguments, strict=strict)}

    return Interface(parameters, returns, validate, parameter)


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a model that refers to itself with its properties on top, where APIs look for them."""
    definitions = schema.get("$defs", {})
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    return {**definitions[name], "$defs": definitions} if name in definitions else schema


def _returns(hint: Any) -> dict[str, Any]:
    """Return the schema of the return value; empty if it has no type, or one that JSON does not know."""
    if hint is None or hint is Any or hint is type(None):
        return {}
    try:
        if hint in _JSON_TYPES:
            return {"type": _JSON_TYPES[hint]}
        return _json_schema(_adapter(hint, "returns"), "returns", mode="serialization")
    except Exception:
        return {}


def _adapter(hint: Any, tool: str) -> Any:
    from pydantic import TypeAdapter

    try:
        return TypeAdapter(hint)
    except Exception as error:  # types are foreign code: pydantic calls their hooks
        raise _no_meaning_in_json(tool, error) from error


def _json_schema(adapter: Any, tool: str, mode: str = "validation") -> dict[str, Any]:
    from pydantic.json_schema import GenerateJsonSchema

    class WithoutTitles(GenerateJsonSchema):
        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    try:
        schema: dict[str, Any] = adapter.json_schema(schema_generator=WithoutTitles, mode=mode)
        json.dumps(schema, allow_nan=False)
    except Exception as error:
        raise _no_meaning_in_json(tool, error) from error
    schema.pop("title", None)
    return schema


def _no_meaning_in_json(tool: str, error: Exception) -> UsageError:
    reason = error_text(error).partition("\n")[0].partition(". ")[0] or type(error).__name__
    return UsageError(
        f"tool {tool!r} has a parameter that a model cannot write as JSON ({reason}); annotate it with another type, "
        "or leave it out, and let the function use a variable of the code around it"
    )


def _is_scalar(schema: Any) -> bool:
    if "anyOf" in schema:
        return all(map(_is_scalar, schema["anyOf"]))
    return "enum" in schema or "const" in schema or schema.get("type") in _SCALARS
