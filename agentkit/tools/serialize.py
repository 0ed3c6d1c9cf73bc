"""Turn any Python value into text and JSON data that can be stored: finite, without cycles, valid Unicode, bounded."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections import deque
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from enum import Enum
from types import WrapperDescriptorType
from typing import Any

from agentkit.core.secrets import mask_start

MAX_CHARACTERS = 5_000_000
_MAX_VALUES = 300_000
_MAX_DEPTH = 60
_MAX_INT_BITS = 12_000
_MAX_ARRAY = 10_000
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def storable_text(text: str) -> str:
    """Return a text as it is, unless it is too long to store or not valid Unicode; a note at its end says what was
    changed.
    """
    excess = len(text) - MAX_CHARACTERS
    if excess > 0:
        text = mask_start(text, MAX_CHARACTERS)
    if not text.isascii():
        text = _valid_unicode(text)
    return f"{text}\n[{excess:,} more characters were not stored]" if excess > 0 else text


def _valid_unicode(text: str) -> str:
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        paired = _SURROGATE_PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
        valid, count = _SURROGATE.subn("\ufffd", paired)
        return f"{valid}\n[invalid characters that were replaced by \ufffd: {count:,}]" if count else valid


def has_text(value: Any) -> bool:
    """Return whether a value is data, or an object whose text says more than its type and its address in memory.

    Python's own texts for objects, functions, generators and the like do not.
    """
    cls: Any = type(value)
    if not isinstance(cls.__repr__, WrapperDescriptorType) or cls.__str__ is not object.__str__:
        return True
    if isinstance(value, Mapping | list | tuple | AbstractSet) or _unwrap(value) is not value:
        return True
    return cls.__repr__ is not object.__repr__ and not _ADDRESS.search(_str(value))


def object_text(value: Any) -> str:
    """Return the `str` of an object without its address, whatever its `__repr__` does; of an error also its type."""
    cls: Any = type(value)
    if isinstance(value, BaseException):
        return storable_text(f"{cls.__name__}: {_str(value)}")
    if not has_text(value):
        return f"[an object of type {cls.__qualname__}, which has no text of its own]"
    return _ADDRESS.sub("", storable_text(_str(value)))


def _str(value: Any) -> str:
    try:
        return str(str(value))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return f"<{type(value).__qualname__} object that cannot be shown: its text raised {type(error).__name__}>"


def to_json(value: Any) -> Any:
    """Return a copy of a value as JSON data. What JSON cannot express becomes text; what is too much is counted."""
    try:
        return _Copy().copy(value, 0)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return object_text(value)


class _Copy:
    """A copy in the making: how many values and characters it may still take, and which containers are open."""

    def __init__(self) -> None:
        self.values_left = _MAX_VALUES
        self.characters_left = MAX_CHARACTERS
        self.open: set[int] = set()

    def copy(self, value: Any, depth: int) -> Any:
        cls = type(value)
        if cls is str:
            return self.text(value)
        if value is None or cls is bool:
            return value
        if cls is int:
            return value if value.bit_length() <= _MAX_INT_BITS else _number_text(value)
        if cls is float:
            return value if math.isfinite(value) else _number_text(value)
        if id(value) in self.open:
            return f"[a cycle: this {cls.__name__} again]"
        if depth > _MAX_DEPTH:
            return f"[nested too deeply: {cls.__name__}]"
        self.open.add(id(value))
        try:
            return self.object(value, depth + 1)
        finally:
            self.open.discard(id(value))

    def text(self, value: str) -> str:
        if len(value) > self.characters_left:
            excess = len(value) - self.characters_left
            value = f"{mask_start(value, self.characters_left)}[{excess:,} more characters were not stored]"
        self.characters_left = max(0, self.characters_left - len(value))
        return value if value.isascii() else _valid_unicode(value)

    @property
    def is_full(self) -> bool:
        return self.values_left <= 0 or self.characters_left <= 0

    def object(self, value: Any, depth: int) -> Any:
        if isinstance(value, Mapping):
            return self.mapping(value.items(), len(value), depth)
        if isinstance(value, list | tuple | AbstractSet) and not hasattr(value, "_asdict"):
            return self.sequence(_ordered(value) if isinstance(value, AbstractSet) else value, len(value), depth)
        inner = _unwrap(value)
        if inner is value or isinstance(inner, str):
            return self.text(object_text(value) if inner is value else inner)
        return self.copy(inner, depth)

    def mapping(self, items: Iterable[tuple[Any, Any]], size: int, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name, item in items:
            if self.is_full:
                result["[not stored]"] = f"{size - len(result):,} more entries"
                break
            self.values_left -= 1
            key = name if type(name) is str else str(name) if type(name) is int else self.copy(name, depth)
            key = self.text(key if isinstance(key, str) else json.dumps(key))
            result[key] = self.copy(item, depth)
        return result

    def sequence(self, items: Iterable[Any], size: int, depth: int) -> list[Any]:
        result: list[Any] = []
        for item in items:
            if self.is_full:
                result.append(f"[{size - len(result):,} more values were not stored]")
                break
            self.values_left -= 1
            result.append(self.copy(item, depth))
        return result


def _ordered(values: AbstractSet[Any]) -> Iterable[Any]:
    """Return the values of a set in the same order in every process, if they can be ordered."""
    try:
        return sorted(values) if len(values) <= _MAX_VALUES else values
    except TypeError:
        return values


def _number_text(value: int | float) -> str:
    """Return a text for a number that JSON cannot express."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return f"[an integer of {value.bit_length():,} bits, too long to write out]"


def _unwrap(value: Any) -> Any:
    """Return the plain value inside a model, a dataclass, an enum, an array …; the value itself if there is none."""
    cls = type(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes_text(bytes(value))
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, deque):
        return list(value)
    if hasattr(cls, "model_dump"):
        return _model_fields(value)
    if is_dataclass(cls):
        return {field.name: getattr(value, field.name, None) for field in fields(value)}
    if hasattr(cls, "_asdict"):
        return value._asdict()
    if hasattr(cls, "__attrs_attrs__"):
        return {field.name: getattr(value, field.name, None) for field in cls.__attrs_attrs__}
    if hasattr(cls, "dtype") and hasattr(cls, "tolist") and not hasattr(cls, "to_dict"):
        return value.tolist() if value.size <= _MAX_ARRAY else value
    return value


def _model_fields(value: Any) -> Any:
    """Return the fields of a pydantic model as it serializes itself, or one by one if it cannot."""
    try:
        return value.model_dump(mode="json", by_alias=True)
    except Exception:
        return dict(vars(value))


def bytes_text(value: bytes) -> str:
    """Return bytes as text if they are UTF-8, else how many there are."""
    try:
        text = value[:MAX_CHARACTERS].decode() if b"\0" not in value[:1000] else None
    except UnicodeDecodeError:
        text = None
    excess = f"\n[{len(value) - MAX_CHARACTERS:,} more bytes were not stored]" if len(value) > MAX_CHARACTERS else ""
    if text is None:
        return f"[{len(value):,} bytes of binary data]"
    return mask_start(text, len(text) - 1) + excess if excess else text
