"""Read the JSON schemas that tools bring with them: describe them in words, and make a validator of them.

A schema comes from somebody else and may be malformed: everything here accepts any JSON data. What pydantic cannot
check (patterns, conditions) is left to the owner of the tool.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from agentkit.tools.interface import Interface

_ANY_OBJECT: dict[str, Any] = {"type": "object", "properties": {}}
_BOUNDS = {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"}
_LENGTHS = {"minLength": "min_length", "maxLength": "max_length", "minItems": "min_length", "maxItems": "max_length"}
_MAX_DEPTH = 100
_MAX_CHOICES = 12
_MAX_VALUE = 60

Json = dict[str, Any]


# -- in words ----------------------------------------------------------------------------------------------------------


def describe_parameters(parameters: Json) -> str:
    """Return the parameters of a tool in one line: `query (string), limit (integer, optional)`."""
    required = required_names(parameters)
    return ", ".join(
        f"{name} ({describe_type(field)}{'' if name in required else ', optional'})"
        for name, field in properties(parameters).items()
    )


def describe_type(schema: Any) -> str:
    """Return the type of a field in a word or two."""
    if not isinstance(schema, dict):
        return "anything"
    if isinstance(schema.get("enum"), list):
        return "one of " + ", ".join(short_json(choice) for choice in schema["enum"][:_MAX_CHOICES])
    if isinstance(schema.get("anyOf"), list):
        return " or ".join(dict.fromkeys(map(describe_type, schema["anyOf"])))
    kind = schema.get("type", "object" if "$ref" in schema else "anything")
    return " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)


def accepts_text(schema: Any) -> bool:
    """Return whether a field accepts a text; a field without a type does."""
    if not isinstance(schema, dict):
        return False
    if isinstance(schema.get("anyOf"), list):
        return any(accepts_text(part) for part in schema["anyOf"] if part)
    kind = schema.get("type")
    if kind:
        return "string" in kind if isinstance(kind, str | list) else False
    return not {"$ref", "enum", "const", "allOf", "oneOf"} & schema.keys()


def properties(parameters: Json) -> Json:
    """Return the fields of an object by name."""
    fields = parameters.get("properties")
    return fields if isinstance(fields, dict) else {}


def required_names(parameters: Json) -> list[str]:
    """Return the names of the fields that an object must have."""
    required = parameters.get("required")
    return [name for name in required if isinstance(name, str)] if isinstance(required, list) else []


def short_json(value: Any) -> str:
    """Return a JSON value in a few characters; texts in single quotes, lists and objects as their size."""
    if isinstance(value, str):
        return repr(shorten(value, _MAX_VALUE))
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    try:
        return shorten(json.dumps(value), _MAX_VALUE)
    except (TypeError, ValueError):
        return type(value).__name__


def shorten(text: str, limit: int) -> str:
    """Return a text, cut to `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


# -- a validator -------------------------------------------------------------------------------------------------------


def interface_of_json_schema(parameters: Json, returns: Json) -> Interface:
    """Return the interface of a tool that is described by JSON schemas.

    If the schema of the parameters cannot be read, every object is valid.
    """
    from pydantic_core import CoreConfig, SchemaValidator, core_schema

    if not isinstance(parameters.get("properties", {}), dict) or not isinstance(parameters.get("required", []), list):
        parameters = _ANY_OBJECT
    config = CoreConfig(allow_inf_nan=False, coerce_numbers_to_str=True)
    try:
        definitions = {**parameters.get("definitions", {}), **parameters.get("$defs", {})}
        schema = _core_schema({**parameters, "type": "object"}, definitions)
        if definitions:
            named: list[Any] = [
                {**_core_schema(definition, definitions), "ref": name} for name, definition in definitions.items()
            ]
            schema = core_schema.definitions_schema(schema, named)
        validator = SchemaValidator(schema, config)
    except Exception:
        validator = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()), config)
    return Interface(parameters or _ANY_OBJECT, returns, validator.validate_python)


def _core_schema(schema: Any, definitions: Json, depth: int = 0) -> Any:
    """Return the pydantic schema of a JSON schema; below 100 levels everything is valid, since pydantic would crash."""
    from pydantic_core import core_schema

    if not isinstance(schema, dict) or not schema or depth > _MAX_DEPTH:
        return core_schema.any_schema()
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return core_schema.definition_reference_schema(name) if name in definitions else core_schema.any_schema()
    if "const" in schema or "enum" in schema:
        return core_schema.literal_schema(schema["enum"] if "enum" in schema else [schema["const"]])
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return core_schema.union_schema([_core_schema(part, definitions, depth + 1) for part in schema[keyword]])
    kind = schema.get("type")
    if isinstance(kind, list):
        return core_schema.union_schema([_core_schema({**schema, "type": k}, definitions, depth + 1) for k in kind])
    make = _MAKERS.get(kind)  # type: ignore[arg-type]
    return make(schema, definitions, depth) if make else core_schema.any_schema()


def _string(schema: Json, definitions: Json, depth: int) -> Any:
    from pydantic_core import core_schema

    return core_schema.str_schema(**_constraints(schema, _LENGTHS))


def _integer(schema: Json, definitions: Json, depth: int) -> Any:
    from pydantic_core import core_schema

    return core_schema.int_schema(**_constraints(schema, _BOUNDS))


def _number(schema: Json, definitions: Json, depth: int) -> Any:
    """Integers stay integers."""
    from pydantic_core import core_schema

    bounds = _constraints(schema, _BOUNDS)
    number = core_schema.float_schema(**bounds)
    if any(isinstance(bound, float) for bound in bounds.values()):
        return number
    return core_schema.union_schema([core_schema.int_schema(**bounds), number])


def _boolean(schema: Json, definitions: Json, depth: int) -> Any:
    from pydantic_core import core_schema

    return core_schema.bool_schema()


def _null(schema: Json, definitions: Json, depth: int) -> Any:
    from pydantic_core import core_schema

    return core_schema.none_schema()


def _array(schema: Json, definitions: Json, depth: int) -> Any:
    from pydantic_core import core_schema

    items = _core_schema(schema.get("items"), definitions, depth + 1)
    return core_schema.list_schema(items, **_constraints(schema, _LENGTHS))


def _object(schema: Json, definitions: Json, depth: int) -> Any:
    from pydantic_core import core_schema

    fields, extra = schema.get("properties"), schema.get("additionalProperties")
    if not fields and extra is not False:
        return core_schema.dict_schema(core_schema.str_schema(), _core_schema(extra, definitions, depth + 1))
    required = set(schema.get("required", ()))
    typed = {
        name: core_schema.typed_dict_field(_core_schema(field, definitions, depth + 1), required=name in required)
        for name, field in (fields or {}).items()
    }
    return core_schema.typed_dict_schema(typed, extra_behavior="forbid" if extra is False else "allow")


def _constraints(schema: Json, names: dict[str, str]) -> Json:
    """Return the constraints of a schema under the names that pydantic has for them."""
    return {name: schema[key] for key, name in names.items() if isinstance(schema.get(key), int | float)}


_MAKERS: dict[str, Callable[[Json, Json, int], Any]] = {
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "null": _null,
    "array": _array,
    "object": _object,
}
