"""Make a validator out of a JSON schema, for tools that bring their schema with them.

What the schema says and pydantic cannot check (patterns, conditions) is left to the owner of the tool.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentkit.tools.schema import Form

_UNTYPED: dict[str, Any] = {"type": "object", "properties": {}}
_BOUNDS = {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"}
_LENGTHS = {"minLength": "min_length", "maxLength": "max_length", "minItems": "min_length", "maxItems": "max_length"}


def form_of_json(parameters: dict[str, Any], returns: dict[str, Any]) -> Form:
    """Make the form of a tool that is described by JSON schemas; one that cannot be read lets every object through."""
    from pydantic_core import CoreConfig, SchemaError, SchemaValidator, core_schema

    if not isinstance(parameters.get("properties", {}), dict) or not isinstance(parameters.get("required", []), list):
        parameters = _UNTYPED
    config = CoreConfig(allow_inf_nan=False, coerce_numbers_to_str=True)
    try:
        shapes = {**parameters.get("definitions", {}), **parameters.get("$defs", {})}
        schema = _core({"type": "object", **parameters}, shapes)
        if shapes:
            named = [{**_core(shape, shapes), "ref": name} for name, shape in shapes.items()]
            schema = core_schema.definitions_schema(schema, named)  # type: ignore[arg-type]
        validator = SchemaValidator(schema, config)
    except (SchemaError, RecursionError, TypeError, AttributeError, KeyError, ValueError):
        validator = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()), config)
    return Form(parameters or _UNTYPED, returns, validator.validate_python)


def _core(schema: Any, shapes: dict[str, Any]) -> Any:
    from pydantic_core import core_schema

    if not isinstance(schema, dict) or not schema:
        return core_schema.any_schema()
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return core_schema.definition_reference_schema(name) if name in shapes else core_schema.any_schema()
    if "const" in schema or "enum" in schema:
        return core_schema.literal_schema(schema["enum"] if "enum" in schema else [schema["const"]])
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return core_schema.union_schema([_core(part, shapes) for part in schema[word]])
    kind = schema.get("type")
    if isinstance(kind, list):
        return core_schema.union_schema([_core({**schema, "type": one}, shapes) for one in kind])
    make = _KINDS.get(kind)  # type: ignore[arg-type]
    return make(schema, shapes) if make else core_schema.any_schema()


def _string(schema: dict[str, Any], shapes: dict[str, Any]) -> Any:
    from pydantic_core import core_schema

    return core_schema.str_schema(**_picked(schema, _LENGTHS))


def _integer(schema: dict[str, Any], shapes: dict[str, Any]) -> Any:
    from pydantic_core import core_schema

    return core_schema.int_schema(**_picked(schema, _BOUNDS))


def _number(schema: dict[str, Any], shapes: dict[str, Any]) -> Any:
    """Integers stay integers."""
    from pydantic_core import core_schema

    bounds = _picked(schema, _BOUNDS)
    real = core_schema.float_schema(**bounds)
    if any(isinstance(bound, float) for bound in bounds.values()):
        return real
    return core_schema.union_schema([core_schema.int_schema(**bounds), real])


def _plain(name: str) -> Callable[[dict[str, Any], dict[str, Any]], Any]:
    def make(schema: dict[str, Any], shapes: dict[str, Any]) -> Any:
        from pydantic_core import core_schema

        return getattr(core_schema, name)()

    return make


def _array(schema: dict[str, Any], shapes: dict[str, Any]) -> Any:
    from pydantic_core import core_schema

    return core_schema.list_schema(_core(schema.get("items"), shapes), **_picked(schema, _LENGTHS))


def _object(schema: dict[str, Any], shapes: dict[str, Any]) -> Any:
    from pydantic_core import core_schema

    properties, more = schema.get("properties"), schema.get("additionalProperties")
    if not properties and more is not False:
        return core_schema.dict_schema(core_schema.str_schema(), _core(more, shapes))
    required = set(schema.get("required", ()))
    fields = {
        name: core_schema.typed_dict_field(_core(field, shapes), required=name in required)
        for name, field in (properties or {}).items()
    }
    return core_schema.typed_dict_schema(fields, extra_behavior="forbid" if more is False else "allow")


def _picked(schema: dict[str, Any], words: dict[str, str]) -> dict[str, Any]:
    return {own: schema[word] for word, own in words.items() if isinstance(schema.get(word), int | float)}


_KINDS: dict[str, Callable[[dict[str, Any], dict[str, Any]], Any]] = {
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _plain("bool_schema"),
    "null": _plain("none_schema"),
    "array": _array,
    "object": _object,
}
