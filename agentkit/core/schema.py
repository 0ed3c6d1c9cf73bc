"""The shape that data should have: a name and a JSON schema; and the function that parses its text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from agentkit.errors import OptionError, UsageError

Level = Literal["native", "json", "text"]
"""How data is requested: as the arguments of a function that must be called, in JSON mode, or in plain text."""

LEVELS: tuple[Level, ...] = ("native", "json", "text")

_VALUES = ("default", "const", "enum", "examples")  # their values are data, not schemas
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]+")


@dataclass(slots=True)
class Shape:
    """The shape that data should have.

    `at_most` is the best level that may still be tried; levels that a model does not support are skipped. With
    `strict`, the reader of the reply checks the data against the schema; otherwise the caller does.
    """

    name: str
    schema: dict[str, Any]
    at_most: Level = "native"
    strict: bool = True

    @property
    def is_object(self) -> bool:
        """Whether the data itself is an object; other data is sent as the field `value` of one."""
        return self.schema.get("type") == "object"

    @property
    def parameters(self) -> dict[str, Any]:
        """The schema of an object that holds the data, as functions and JSON modes require it."""
        if self.is_object:
            return self.schema
        shared: dict[str, Any] = {name: self.schema[name] for name in ("$defs", "definitions") if name in self.schema}
        value = {name: part for name, part in self.schema.items() if name not in shared}
        return {"type": "object", "properties": {"value": value}, "required": ["value"], **shared}

    def unwrapped(self, value: Any) -> tuple[Any, ...]:
        """Return the possible meanings of a value, the likeliest first: the data that it wraps, if any, and itself."""
        is_wrapped = not self.is_object and isinstance(value, dict) and value.keys() == {"value"}
        return (value["value"], value) if is_wrapped else (value,)


Parse = Callable[[str], Any]
"""Returns the Python object for a JSON text; raises any exception if the text does not fit."""


def shape_of(schema: Any, name: str = "") -> tuple[Shape, Parse]:
    """Return the shape of a pydantic model, a pydantic `TypeAdapter` or a JSON schema, and the parser of its text.

    Raises `UsageError` for anything else.
    """
    if isinstance(schema, dict):
        return Shape(_named(name or str(schema.get("title", ""))), schema), json.loads
    if hasattr(schema, "model_json_schema") and hasattr(schema, "model_validate_json"):
        return Shape(
            _named(name or schema.__name__), _untitled(schema.model_json_schema()), strict=False
        ), schema.model_validate_json
    if hasattr(schema, "json_schema") and hasattr(schema, "validate_json"):
        described = schema.json_schema()
        return Shape(
            _named(name or described.get("title", "")), _untitled(described), strict=False
        ), schema.validate_json
    raise UsageError(
        f"a schema must be a pydantic model, a pydantic TypeAdapter or a JSON schema as a dict, not {schema!r:.200}"
    )


def json_of(value: Any) -> str:
    """Return a value, such as a dict, a dataclass or a pydantic model, as JSON text."""
    from pydantic_core import to_json

    return to_json(value).decode()


def in_words(error: Exception, longest: int = 1_000) -> str:
    """Return what is wrong with data: the fields that a validation error names, or the error's own text."""
    errors = getattr(error, "errors", None)
    if not callable(errors):
        return (str(error) or type(error).__name__)[:longest]
    problems = [f"{'.'.join(map(str, item['loc'])) or 'the data'}: {item['msg']}" for item in errors()[:8]]
    return "; ".join(problems)[:longest]


def _untitled(schema: Any) -> Any:
    """Return a schema without the titles that pydantic adds to each field: they only repeat its name."""
    if isinstance(schema, list):
        return [_untitled(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: part if name in _VALUES else _untitled(part)
        for name, part in schema.items()
        if not (name == "title" and isinstance(part, str))
    }


def _named(name: str) -> str:
    """Return a name with only the characters that APIs accept in the name of a function."""
    return _REFUSED.sub("_", name).strip("_")[:64] or "data"


class Checked:
    """An annotation for a value that a function checks: `Annotated[str, Checked(problem_of)]`.

    The function returns what is wrong with a value, or "".
    """

    def __init__(self, problem: Callable[[Any], str]) -> None:
        self.problem = problem

    def check(self, name: str, value: Any) -> None:
        """Check a value. Raises `OptionError` if something is wrong with it."""
        if problem := self.problem(value):
            raise OptionError(f"{name} cannot be used: {problem}")


class KeysOf:
    """An annotation for a mapping with only these keys: `Annotated[Mapping[str, str], KeysOf(PROMPTS)]`."""

    def __init__(self, known: Iterable[str]) -> None:
        self.known = tuple(known)

    def check(self, name: str, value: Any) -> None:
        """Check the keys of a mapping. Raises `OptionError` if one is not among the known keys."""
        for key in value or ():
            if key not in self.known:
                raise OptionError(f"{name} should only have the keys {', '.join(map(repr, self.known))}, not {key!r}")
