"""Work out what a function takes and gives: JSON schemas, and the validator of its arguments.

pydantic is loaded here when a schema is first asked for, not when a tool is made.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, NotRequired

from agentkit.errors import UsageError
from agentkit.tools.signature import Signature, hints_of

Validate = Callable[..., dict[str, Any]]
"""Called with the arguments and `strict=True` or `strict=False`."""

_SCALARS = {"string", "integer", "number", "boolean", "null"}


@dataclass(slots=True)
class Form:
    """What a tool takes and gives.

    `validate(arguments, strict=…)` gives keyword arguments or raises pydantic's `ValidationError`. `whole` is the one
    parameter that takes all arguments as one object, if the function is of that kind. `nested` says whether arguments
    can hold lists or objects.
    """

    parameters: dict[str, Any]
    returns: dict[str, Any]
    validate: Validate
    whole: str = ""
    nested: bool = True


def form_of_signature(signature: Signature) -> Form:
    """Make the form of a Python function."""
    hints = signature.hints if signature.hints is not None else hints_of(signature.function)
    if hints is None:
        raise UsageError(f"an annotation of tool {signature.name!r} names a type that is not defined; define it before")
    returns = _returns(hints.get("return", Any))
    taken = signature.taken
    if len(taken) == 1 and not signature.open and taken[0].default is inspect.Parameter.empty:
        only = hints.get(taken[0].name)
        if isinstance(only, type) and (hasattr(only, "model_fields") or is_dataclass(only)):
            return _whole(taken[0].name, only, returns)
    return _fields(signature, hints, returns)


def _fields(signature: Signature, hints: dict[str, Any], returns: dict[str, Any]) -> Form:
    """Each parameter is a field; an argument that is left out is left to the function's own default."""
    from pydantic import ConfigDict
    from pydantic.fields import FieldInfo
    from typing_extensions import TypedDict  # pydantic refuses typing's before Python 3.12

    fields: dict[str, Any] = {}
    factories: dict[str, Callable[[], Any]] = {}
    for parameter in signature.taken:
        hint, default = hints.get(parameter.name, Any), parameter.default
        required = default is parameter.empty
        if isinstance(default, FieldInfo):
            hint, required = Annotated[hint, default], default.is_required()
            if not required:
                factories[parameter.name] = functools.partial(default.get_default, call_default_factory=True)
        elif not required:
            hint = Annotated[hint, _default_note(default)]
        hint = _described(hint, signature.said.get(parameter.name, ""))
        fields[parameter.name] = hint if required else NotRequired[hint]
    shape = TypedDict("Arguments", fields)  # type: ignore[misc]
    config = ConfigDict(extra="allow" if signature.open else "forbid", allow_inf_nan=False, coerce_numbers_to_str=True)
    shape.__pydantic_config__ = config  # type: ignore[attr-defined]
    adapter = _adapter(shape, signature.name)
    parameters = _json_schema(adapter, signature.name)
    parameters.setdefault("properties", {})
    nested = signature.open or not all(_is_scalar(field) for field in parameters["properties"].values())
    validate = adapter.validator.validate_python
    return Form(parameters, returns, _with_factories(validate, factories) if factories else validate, nested=nested)


def _with_factories(validate: Validate, factories: dict[str, Callable[[], Any]]) -> Validate:
    """Fill in the defaults that `Field(…)` states in place of the function's own."""

    def filled(arguments: Any, *, strict: bool) -> dict[str, Any]:
        given = validate(arguments, strict=strict)
        return {**{name: factory() for name, factory in factories.items() if name not in given}, **given}

    return filled


def _default_note(default: Any) -> Any:
    """Tell the schema of a default, where it can be written as JSON."""
    from pydantic import Field
    from pydantic_core import to_jsonable_python

    try:
        data = to_jsonable_python(default)
        json.dumps(data, allow_nan=False)
    except Exception:
        return Field()
    return Field(json_schema_extra={"default": data})


def _described(hint: Any, said: str) -> Any:
    """Add a description: from `Field`, else from a plain text in `Annotated`, else from the docstring."""
    from pydantic import Field
    from pydantic.fields import FieldInfo

    extras = getattr(hint, "__metadata__", ())
    if any(isinstance(extra, FieldInfo) and extra.description for extra in extras):
        return hint
    words = next((extra for extra in extras if isinstance(extra, str)), said)
    return Annotated[hint, Field(description=words)] if words else hint


def _whole(name: str, model: Any, returns: dict[str, Any]) -> Form:
    """The one parameter is a model: its fields are the arguments."""
    from pydantic_core import ValidationError

    adapter = _adapter(model, name)
    parameters = _json_schema(adapter, name)
    known = set(parameters.get("properties", ())) | set(getattr(model, "model_fields", ()))
    decided = (getattr(model, "model_config", None) or {}).get("extra")
    validator = adapter.validator.validate_python

    def validate(arguments: Any, *, strict: bool) -> dict[str, Any]:
        if decided is None and isinstance(arguments, Mapping) and (unknown := arguments.keys() - known):
            faults = [
                {"type": "extra_forbidden", "loc": (field,), "input": arguments[field]} for field in sorted(unknown)
            ]
            raise ValidationError.from_exception_data("Arguments", faults)  # type: ignore[arg-type]
        return {name: validator(arguments, strict=strict)}

    return Form(parameters, returns, validate, whole=name)


def _returns(hint: Any) -> dict[str, Any]:
    """Describe the output; empty where it has no type, or one that JSON does not know."""
    if hint in (Any, None, type(None), inspect.Parameter.empty):
        return {}
    if hint in (str, int, float, bool):
        return {"type": {str: "string", int: "integer", float: "number", bool: "boolean"}[hint]}
    try:
        return _json_schema(_adapter(hint, "output"), "output", mode="serialization")
    except UsageError:
        return {}


def _adapter(hint: Any, name: str) -> Any:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        return TypeAdapter(hint)
    except (PydanticUserError, NameError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"tool {name!r} has a parameter that a model cannot fill in: {reason}") from error


def _json_schema(adapter: Any, name: str, mode: str = "validation") -> dict[str, Any]:
    from pydantic.errors import PydanticUserError
    from pydantic.json_schema import GenerateJsonSchema

    class Untitled(GenerateJsonSchema):
        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    try:
        schema: dict[str, Any] = adapter.json_schema(schema_generator=Untitled, mode=mode)
    except PydanticUserError as error:
        raise UsageError(
            f"tool {name!r} has a parameter that JSON cannot express: {str(error).splitlines()[0]}"
        ) from error
    schema.pop("title", None)
    return schema


def _is_scalar(schema: Any) -> bool:
    if "anyOf" in schema:
        return all(_is_scalar(part) for part in schema["anyOf"])
    return "enum" in schema or "const" in schema or schema.get("type") in _SCALARS
