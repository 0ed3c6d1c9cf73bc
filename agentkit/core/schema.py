"""What data is to look like: a name and a JSON schema; and how the text of it becomes a Python object."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from agentkit.errors import OptionError, UsageError

Level = Literal["native", "json", "text"]
"""How data is asked for: as the arguments of a function that must be called, in JSON mode, or in plain text."""

LEVELS: tuple[Level, ...] = ("native", "json", "text")

_VALUES = ("default", "const", "enum", "examples")  # what they hold is data, not a schema
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]+")


@dataclass(slots=True)
class Shape:
    """What data is to look like.

    `at_most` is the best level that is left to ask at; what a model cannot do is passed over. With `strict` the data is
    held to the schema where it is read; without, whoever asked for it does that.
    """

    name: str
    schema: dict[str, Any]
    at_most: Level = "native"
    strict: bool = True

    @property
    def is_object(self) -> bool:
        """Whether the data is an object as it stands; other data travels as the `value` of one."""
        return self.schema.get("type") == "object"

    @property
    def parameters(self) -> dict[str, Any]:
        """The schema of an object that holds the data, as functions and JSON modes want it."""
        if self.is_object:
            return self.schema
        shared: dict[str, Any] = {name: self.schema[name] for name in ("$defs", "definitions") if name in self.schema}
        value = {name: part for name, part in self.schema.items() if name not in shared}
        return {"type": "object", "properties": {"value": value}, "required": ["value"], **shared}

    def unwrapped(self, value: Any) -> tuple[Any, ...]:
        """Give what a value may stand for: what it carries, where it is an object that carries other data, and itself."""
        carries = not self.is_object and isinstance(value, dict) and value.keys() == {"value"}
        return (value["value"], value) if carries else (value,)


Parse = Callable[[str], Any]
"""Makes a Python object of JSON text; raises anything where it does not fit."""


def shape_of(schema: Any, name: str = "") -> tuple[Shape, Parse]:
    """Give the shape of a pydantic model, a pydantic `TypeAdapter` or a JSON schema, and what makes an object of its text.

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
        f"a schema is a pydantic model, a pydantic TypeAdapter or a JSON schema as a dict, not {schema!r:.200}"
    )


def in_words(error: Exception, longest: int = 1_000) -> str:
    """Say what is wrong with data: the fields that a validation error names, else the error's own words."""
    errors = getattr(error, "errors", None)
    if not callable(errors):
        return (str(error) or type(error).__name__)[:longest]
    faults = [f"{'.'.join(map(str, fault['loc'])) or 'the data'}: {fault['msg']}" for fault in errors()[:8]]
    return "; ".join(faults)[:longest]


def _untitled(schema: Any) -> Any:
    """Take out the titles that pydantic gives each field: they repeat its name."""
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
    """Give a name with the letters that APIs accept for a function."""
    return _REFUSED.sub("_", name).strip("_")[:64] or "data"


class KeysOf:
    """Marks a mapping that may only have some keys: `Annotated[Mapping[str, str], KeysOf(PROMPTS)]`."""

    def __init__(self, known: Iterable[str]) -> None:
        self.known = tuple(known)

    def check(self, name: str, value: Any) -> None:
        """Check a value. Raises `OptionError` for a key that is not known."""
        for key in value or ():
            if key not in self.known:
                raise OptionError(f"{name} should only have the keys {', '.join(map(repr, self.known))}, not {key!r}")
