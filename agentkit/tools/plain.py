"""Turn any Python value into text and JSON data that can be stored: finite, without cycles, valid UTF-8, bounded."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

MOST_CHARACTERS = 5_000_000
_MOST_VALUES = 300_000
_DEEPEST = 60
_LONGEST_INT_BITS = 12_000
_ARRAY_SIZE = 10_000
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ISO = ("date", "time", "datetime")


def clean(text: str) -> str:
    """Keep a text as it is, unless it is longer than can be stored or no valid Unicode; then say so in it."""
    more = len(text) - MOST_CHARACTERS
    if more > 0:
        text = text[:MOST_CHARACTERS]
    if not text.isascii():
        text = _valid(text)
    return f"{text}\n[{more:,} more characters were not stored]" if more > 0 else text


def _valid(text: str) -> str:
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        paired = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
        whole, lost = _SURROGATE.subn("\ufffd", paired)
        return f"{whole}\n[invalid characters that were replaced by \ufffd: {lost:,}]" if lost else whole


def words(value: Any) -> str:
    """Give what `str` says of an object, without its address, whatever its `__repr__` does."""
    kind: Any = type(value)
    if isinstance(value, BaseException):
        return clean(f"{kind.__name__}: {_said(value)}")
    if kind.__repr__ is object.__repr__ and kind.__str__ is object.__str__:
        return f"<{kind.__qualname__} object>"
    return _ADDRESS.sub("", clean(_said(value)))


def _said(value: Any) -> str:
    try:
        return str(str(value))
    except Exception as error:
        return f"<{type(value).__qualname__} object that cannot be shown: its text raised {type(error).__name__}>"


def data_of(value: Any) -> Any:
    """Copy a value as JSON data; what JSON does not know becomes a text, what is too much is counted."""
    try:
        return _Copy().copy(value, 0)
    except Exception:
        return words(value)


class _Copy:
    """One copy in the making: how much room is left, and which containers are open (to see a cycle)."""

    def __init__(self) -> None:
        self.values = _MOST_VALUES
        self.characters = MOST_CHARACTERS
        self.open: set[int] = set()

    def copy(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            return self.text(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if value.bit_length() <= _LONGEST_INT_BITS else number(value)
        if kind is float:
            return value if math.isfinite(value) else number(value)
        if id(value) in self.open:
            return f"[a cycle: this {kind.__name__} again]"
        if depth > _DEEPEST:
            return f"[nested too deeply: {kind.__name__}]"
        self.open.add(id(value))
        try:
            return self.container(value, depth + 1)
        finally:
            self.open.discard(id(value))

    def text(self, value: str) -> str:
        if len(value) > self.characters:
            value = f"{value[: self.characters]}[{len(value) - self.characters:,} more characters were not stored]"
        self.characters = max(0, self.characters - len(value))
        return value if value.isascii() else _valid(value)

    @property
    def is_full(self) -> bool:
        return self.values <= 0 or self.characters <= 0

    def container(self, value: Any, depth: int) -> Any:
        if isinstance(value, Mapping):
            return self.mapping(value.items(), len(value), depth)
        if isinstance(value, list | tuple | AbstractSet) and not hasattr(value, "_asdict"):
            return self.sequence(_ordered(value) if isinstance(value, AbstractSet) else value, len(value), depth)
        inner = opened(value)
        if inner is value or isinstance(inner, str):
            return self.text(words(value) if inner is value else inner)
        return self.copy(inner, depth)

    def mapping(self, items: Iterable[tuple[Any, Any]], size: int, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name, item in items:
            if self.is_full:
                result["[not stored]"] = f"{size - len(result):,} more entries"
                break
            self.values -= 1
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
            self.values -= 1
            result.append(self.copy(item, depth))
        return result


def _ordered(values: AbstractSet[Any]) -> Iterable[Any]:
    """Give a set the same order in every process, where its values have one."""
    try:
        return sorted(values) if len(values) <= _MOST_VALUES else values
    except TypeError:
        return values


def number(value: int | float) -> str:
    """Write a number that JSON cannot hold."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return f"[an integer of {value.bit_length():,} bits, too long to write out]"


def opened(value: Any) -> Any:
    """Give the plain value inside a model, a dataclass, an enum, an array …; the value itself where there is none."""
    kind = type(value)
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
    if hasattr(kind, "model_dump"):
        return _dumped(value)
    if is_dataclass(kind):
        return {field.name: getattr(value, field.name, None) for field in fields(value)}
    if hasattr(kind, "_asdict"):
        return value._asdict()
    if hasattr(kind, "__attrs_attrs__"):
        return {field.name: getattr(value, field.name, None) for field in kind.__attrs_attrs__}
    if hasattr(kind, "dtype") and hasattr(kind, "tolist") and not hasattr(kind, "to_dict"):
        return value.tolist() if value.size <= _ARRAY_SIZE else value
    if kind.__name__ in _ISO and kind.__module__ == "datetime":
        return value.isoformat()
    if kind.__name__ == "deque":
        return list(value)
    return value


def _dumped(value: Any) -> Any:
    """Dump a pydantic model as it wants to be seen; field by field where it cannot."""
    try:
        return value.model_dump(mode="json", by_alias=True)
    except Exception:
        return dict(vars(value))


def bytes_text(value: bytes) -> str:
    """Read bytes as a text where they are one; else say how many there are."""
    try:
        text = value[:MOST_CHARACTERS].decode() if b"\0" not in value[:1000] else None
    except UnicodeDecodeError:
        text = None
    more = f"\n[{len(value) - MOST_CHARACTERS:,} more bytes were not stored]" if len(value) > MOST_CHARACTERS else ""
    return f"[{len(value):,} bytes of binary data]" if text is None else text + more


_RICH = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_latex_": "text/latex",
}


def mime_of(value: Any) -> dict[str, Any]:
    """Ask an object how it wants to be shown in a notebook: data by MIME type, bytes as base64; empty if it has no wish."""
    kind = type(value)
    found: dict[str, Any] = {}
    if isinstance(value, type) or kind.__module__ == "builtins":
        return found
    for method, mime in _RICH.items():
        if hasattr(kind, method):
            found[mime] = _asked(value, method)
    bundle = _asked(value, "_repr_mimebundle_") if hasattr(kind, "_repr_mimebundle_") else None
    if isinstance(bundle, Mapping):
        found.update((str(mime), data) for mime, data in bundle.items())
    shown = {mime: _encoded(data) for mime, data in found.items() if data is not None}
    return {mime: data for mime, data in shown.items() if data}


def _asked(value: Any, method: str) -> Any:
    try:
        given = getattr(value, method)()
    except Exception:
        return None
    return given[0] if isinstance(given, tuple) and given else given


def _encoded(data: Any) -> Any:
    if isinstance(data, bytes):
        return base64.b64encode(data).decode() if len(data) <= MOST_CHARACTERS else ""
    return data_of(data) if isinstance(data, str | Mapping | list) else None
